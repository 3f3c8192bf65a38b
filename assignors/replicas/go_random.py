"""The part of Go's `math/rand` that `Rand.Shuffle` needs.

topicmappr shuffles brokers of the same rank with fixed seeds, so the expected plans of its own tests depend on Go's
generator. It adds two of its last 607 numbers: y[n] = y[n - 607] + y[n - 273] modulo 2^64. Seeds are combined with 607
numbers that the same recurrence gives after 7.8 * 10^12 steps; about sixty polynomial multiplications compute them here
instead of a table.

Source: Go, `math/rand`: `rng.go`, `gen_cooked.go`, `Rand.Shuffle` (Go 1.10 and later).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

WordArray = npt.NDArray[np.uint64]

_LONG, _SHORT = 607, 273
_LEHMER_FACTOR, _LEHMER_MODULUS = 48_271, 2**31 - 1
_SEED_OF_ZERO = 89_482_311
_STEPS_BEFORE_COOKED = 7_800_000_000_000


class GoRandom:
    """The shuffles of `rand.New(rand.NewSource(seed))`."""

    def __init__(self, seed: int) -> None:
        lows = _lehmer(seed)
        mixed = (lows[:, 0] << np.uint64(40)) ^ (lows[:, 1] << np.uint64(20)) ^ lows[:, 2] ^ _cooked()
        self._last = _as_history(mixed)
        self._unused_draws: list[int] = []

    def shuffle(self, items: list[Any]) -> None:
        """Shuffle in place, like `Rand.Shuffle`: Fisher-Yates from the end."""
        for last in range(len(items) - 1, 0, -1):
            other = self._below(last + 1)
            items[last], items[other] = items[other], items[last]

    def _below(self, bound: int) -> int:
        """Return a number below the bound, like `Rand.int31n`: Lemire's multiplication with rejection."""
        product = self._draw() * bound
        if (product & 0xFFFF_FFFF) < bound:
            rejected = (2**32 - bound) % bound
            while (product & 0xFFFF_FFFF) < rejected:
                product = self._draw() * bound
        return product >> 32

    def _draw(self) -> int:
        """Return the next 32-bit number, like `Rand.Uint32`."""
        if not self._unused_draws:
            words = _next_words(self._last)
            self._last = np.concatenate((self._last[_SHORT:], words))
            self._unused_draws = ((words >> np.uint64(31)) & np.uint64(0xFFFF_FFFF))[::-1].tolist()
        return self._unused_draws.pop()


def _next_words(words: WordArray) -> WordArray:
    """Return the next 273 words of the recurrence."""
    following: WordArray = words[-_LONG : _SHORT - _LONG] + words[-_SHORT:]
    return following


@cache
def _lehmer_powers() -> WordArray:
    """Return factor^n for the three steps of each word, after 20 discarded steps, shape (607, 3)."""
    powers = [pow(_LEHMER_FACTOR, 21 + n, _LEHMER_MODULUS) for n in range(3 * _LONG)]
    return np.array(powers, dtype=np.uint64).reshape(_LONG, 3)


def _lehmer(seed: int) -> WordArray:
    start = seed % _LEHMER_MODULUS or _SEED_OF_ZERO
    numbers: WordArray = _lehmer_powers() * np.uint64(start) % np.uint64(_LEHMER_MODULUS)
    return numbers


@cache
def _cooked() -> WordArray:
    """Return Go's `rngCooked`, shape (607,): the state of the generator with seed 1 after all these steps."""
    lows = _lehmer(1)
    first = _as_history((lows[:, 0] << np.uint64(20)) ^ (lows[:, 1] << np.uint64(10)) ^ lows[:, 2])
    words = first
    while len(words) < 2 * _LONG:
        words = np.concatenate((words, _next_words(words)))
    leap = _power_of_x(_STEPS_BEFORE_COOKED)
    last = np.array([(leap * words[i : i + _LONG]).sum() for i in range(_LONG)], dtype=np.uint64)
    return np.roll(_as_history(last), -_STEPS_BEFORE_COOKED)


def _power_of_x(exponent: int) -> WordArray:
    """Return x^exponent modulo x^607 - x^334 - 1, coefficients modulo 2^64: a distant word as sum of near ones."""
    x = np.zeros(_LONG, dtype=np.uint64)
    x[1] = 1
    power = np.zeros(_LONG, dtype=np.uint64)
    power[0] = 1
    for bit in bin(exponent)[2:]:
        power = _reduced(np.convolve(power, power))
        if bit == "1":
            power = _reduced(np.convolve(power, x))
    return power


def _reduced(polynomial: WordArray) -> WordArray:
    while len(polynomial) > _LONG:
        high, polynomial = polynomial[_LONG:], polynomial[: max(_LONG, len(polynomial) - _SHORT)].copy()
        polynomial[_LONG:] = 0
        polynomial[: len(high)] += high
        polynomial[_LONG - _SHORT : _LONG - _SHORT + len(high)] += high
    return polynomial


def _as_history(vector: WordArray) -> WordArray:
    """Reorder the state between Go's memory order and the order of generation; the mapping is its own inverse."""
    history: WordArray = vector[(_LONG - _SHORT - 1 - np.arange(_LONG)) % _LONG]
    return history
