"""Iteration order of the hash map in which a group coordinator keeps members.

Source: `org.apache.kafka.timeline.BaseHashTable`, `SnapshottableHashTable.CurrentIterator`, Kafka 4.0 to 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from assignors.java.hash_order import string_hash

_FIBONACCI: Final = -7046029254386353131
_MASK_64: Final = 2**64 - 1
_MIN_CAPACITY: Final = 2
_MAX_LOAD_FACTOR: Final = 0.75


class TimelineOrder:
    """The keys of a `TimelineHashMap` with strings, in the order in which it iterates over them.

    The table grows and never shrinks, so the order depends on the keys that it has had, and not only on its keys.

    Examples:
        >>> order = TimelineOrder()
        >>> for member in ("a", "b", "c"):
        ...     order.add(member)
        >>> list(order)
        ['b', 'c', 'a']
    """

    def __init__(self) -> None:
        self._slots: list[list[str]] = [[] for _ in range(_MIN_CAPACITY)]
        self._size = 0

    def add(self, key: str) -> None:
        """Add a key; nothing changes if it is present."""
        if (self._size + 1) * _MAX_LOAD_FACTOR > len(self._slots):
            keys = [key for slot in self._slots for key in slot]
            self._slots = [[] for _ in range(2 * len(self._slots))]
            for present in keys:
                self._slot(present).append(present)
        slot = self._slot(key)
        if key not in slot:
            slot.append(key)
            self._size += 1

    def remove(self, key: str) -> None:
        """Remove a key; nothing changes if it is absent."""
        slot = self._slot(key)
        if key in slot:
            slot.remove(key)
            self._size -= 1

    def __iter__(self) -> Iterator[str]:
        """Yield the keys slot by slot, in each slot the last one first."""
        for slot in self._slots:
            yield from reversed(slot)

    def _slot(self, key: str) -> list[str]:
        hashed = string_hash(key)
        signed = hashed - 2**32 if hashed >= 2**31 else hashed
        bits = len(self._slots).bit_length() - 1
        return self._slots[(signed * _FIBONACCI & _MASK_64) >> (64 - bits)]
