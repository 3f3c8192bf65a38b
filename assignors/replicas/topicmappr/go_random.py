"""The numbers that Go's `math/rand` draws, where a tool's answer hangs on them.

Go adds two of its last 607 numbers to get the next: y[n] = y[n - 607] + y[n - 273] modulo 2^64. Its seeds are mixed
with 607 numbers that the same recurrence gives after 7.8 * 10^12 steps; they are computed here, in some sixty
polynomial multiplications, instead of being listed.

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
    """`rand.New(rand.NewSource(seed))`, as far as shuffling needs it."""

    def __init__(self, seed: int) -> None:
        lows = _lehmer(seed)
        mixed = (lows[:, 0] << np.uint64(40)) ^ (lows[:, 1] << np.uint64(20)) ^ lows[:, 2] ^ _cooked()
        self._last = _as_history(mixed)
        self._drawn: list[int] = []

    def shuffle(self, items: list[Any]) -> None:
        """`Rand.Shuffle`, in place: Fisher and Yates' way, from the end."""
        for last in range(len(items) - 1, 0, -1):
            other = self._below(last + 1)
            items[last], items[other] = items[other], items[last]

    def _below(self, bound: int) -> int:
        """`Rand.int31n`: Lemire's multiplication, which draws again where a number would be too frequent."""
        product = self._draw() * bound
        if (product & 0xFFFF_FFFF) < bound:
            too_frequent = (2**32 - bound) % bound
            while (product & 0xFFFF_FFFF) < too_frequent:
                product = self._draw() * bound
        return product >> 32

    def _draw(self) -> int:
        """`Rand.Uint32`: the 32 bits below the highest of the next word."""
        if not self._drawn:
            words = _continued(self._last)
            self._last = np.concatenate((self._last[_SHORT:], words))
            self._drawn = ((words >> np.uint64(31)) & np.uint64(0xFFFF_FFFF))[::-1].tolist()
        return self._drawn.pop()


def _continued(words: WordArray) -> WordArray:
    """The next 273 words after these; further ones would need those."""
    following: WordArray = words[-_LONG : _SHORT - _LONG] + words[-_SHORT:]
    return following


@cache
def _lehmer_powers() -> WordArray:
    """Shape (607, 3); factor^n for the three steps of each word, after twenty that are thrown away."""
    powers = [pow(_LEHMER_FACTOR, 21 + n, _LEHMER_MODULUS) for n in range(3 * _LONG)]
    return np.array(powers, dtype=np.uint64).reshape(_LONG, 3)


def _lehmer(seed: int) -> WordArray:
    start = seed % _LEHMER_MODULUS or _SEED_OF_ZERO
    numbers: WordArray = _lehmer_powers() * np.uint64(start) % np.uint64(_LEHMER_MODULUS)
    return numbers


@cache
def _cooked() -> WordArray:
    """Shape (607,); `rngCooked`: Go's ring, seeded with 1, as it lies in memory after all those steps."""
    lows = _lehmer(1)
    first = _as_history((lows[:, 0] << np.uint64(20)) ^ (lows[:, 1] << np.uint64(10)) ^ lows[:, 2])
    words = first
    while len(words) < 2 * _LONG:
        words = np.concatenate((words, _continued(words)))
    leap = _power_of_x(_STEPS_BEFORE_COOKED)
    last = np.array([(leap * words[i : i + _LONG]).sum() for i in range(_LONG)], dtype=np.uint64)
    return np.roll(_as_history(last), -_STEPS_BEFORE_COOKED)


def _power_of_x(exponent: int) -> WordArray:
    """x^exponent modulo x^607 - x^334 - 1, coefficients modulo 2^64: how far-off words are sums of near ones."""
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
    """Go's ring of words in the order in which they were drawn, and back: it is its own inverse."""
    history: WordArray = vector[(_LONG - _SHORT - 1 - np.arange(_LONG)) % _LONG]
    return history
