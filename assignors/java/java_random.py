"""Java's random number generator, on which the plans of a Kafka tool depend.

Source: `java.util.Random` and `java.util.Collections.shuffle` of OpenJDK 17.
"""

from __future__ import annotations

from typing import TypeVar

_Item = TypeVar("_Item")

_MULTIPLIER = 0x5DEECE66D
_MASK_48 = (1 << 48) - 1
_TWO_31 = 1 << 31


class JavaRandom:
    """`java.util.Random`; subclasses with another source of bits override `next`, as in Java.

    `seed`: seed of `new Random(seed)`.
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK_48

    def next(self, bits: int) -> int:
        """Return a non-negative number of `bits` random bits, at most 31."""
        self._state = (self._state * _MULTIPLIER + 0xB) & _MASK_48
        return self._state >> (48 - bits)

    def next_int(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1, as `nextInt(bound)`; `bound` is at least 1."""
        number = self.next(31)
        if bound & (bound - 1) == 0:
            return (bound * number) >> 31
        while number - number % bound + bound > _TWO_31:
            number = self.next(31)
        return number % bound

    def shuffle(self, items: list[_Item]) -> None:
        """Shuffle a list in place, as `Collections.shuffle(items, random)`."""
        for size in range(len(items), 1, -1):
            position = self.next_int(size)
            items[size - 1], items[position] = items[position], items[size - 1]
