"""The iteration orders of Java's hash collections, on which assignments of Kafka depend.

Source: `java.util.HashMap` and `String.hashCode` of OpenJDK 17; `TaskId.hashCode`, `ProcessId.hashCode`;
`org.apache.kafka.timeline.BaseHashTable`, `SnapshottableHashTable.CurrentIterator`, Kafka 4.0 to 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from assignors.compilation import Vector
from assignors.model.ids import ProcessId, TaskId


def string_ranks(texts: Sequence[str]) -> list[int]:
    """Return the position of each text in the order of Java; equal texts are ranked in the given order."""
    if all(map(str.isascii, texts)):
        order = sorted(range(len(texts)), key=texts.__getitem__)
    else:
        order = sorted(range(len(texts)), key=[text.encode("utf-16-be", "surrogatepass") for text in texts].__getitem__)
    ranks = [0] * len(texts)
    for rank, position in enumerate(order):
        ranks[position] = rank
    return ranks


_MASK_32 = 0xFFFFFFFF
_MASK_64 = 0xFFFFFFFFFFFFFFFF
DEFAULT_CAPACITY = 16
TREEIFY_THRESHOLD = 8
MIN_TREEIFY_CAPACITY = 64


class CollectionOrder(StrEnum):
    """The order in which Kafka's group leader passes tasks and clients to an assignor.

    The assignments of the sticky assignors depend on it. In production, a HashMap and HashSets are filled in the order
    in which the leader learns of tasks and clients. In Kafka's unit tests, clients are often sorted.
    """

    PRODUCTION = "production"
    SORTED = "sorted"


def task_hash(task: TaskId) -> int:
    """Return `TaskId.hashCode()` as an unsigned 32-bit number."""
    return (29791 + 961 * task.subtopology + 31 * task.partition) & _MASK_32


def process_hash(process: ProcessId) -> int:
    """Return `ProcessId.hashCode()` as an unsigned 32-bit number."""
    folded = (process.most_significant_bits ^ process.least_significant_bits) & _MASK_64
    return (folded >> 32) ^ (folded & _MASK_32)


@lru_cache(100_000)
def string_hash(text: str) -> int:
    """Return `String.hashCode()` as an unsigned 32-bit number; Java computes it from UTF-16 code units."""
    value = 0
    for unit in np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2").tolist():
        value = (31 * value + unit) & _MASK_32
    return value


def hash_order(hashes: Sequence[int], capacity: int = DEFAULT_CAPACITY) -> list[int]:
    """Return the iteration order of a HashMap or HashSet that is filled in the given order.

    `hashes`: 32-bit hashes of distinct keys, in insertion order. `capacity`: initial capacity of the table. Returns
    positions in `hashes` in iteration order. Removing keys later does not change the order of the others.

    In a table of 64 or more bins, a bin with more than 8 keys becomes a tree with another order, which is not
    reproduced. This takes more than 8 keys with equal low hash bits: for task ids, more than 8 subtopologies with more
    than 250 partitions each.
    """
    listed = list(hashes)
    return _bucket_order(listed, table_capacity(listed, len(listed), capacity, [0] * MIN_TREEIFY_CAPACITY))


def computed_hash_order(hashes: Sequence[int], capacity: int, *, is_called_again: bool) -> list[int]:
    """Return the iteration order of a HashMap that is filled by `computeIfAbsent` instead of `put`.

    It inserts at the head of a bin instead of the end, and a full table doubles at the next call, not at once.
    `hashes`: 32-bit hashes of distinct keys, in insertion order. `capacity`: initial capacity of the table.
    `is_called_again` says whether a call with a key that is already in the map follows the last insertion. Returns the
    positions in `hashes` in iteration order; `hash_order` names the exception.
    """
    for size, hash_code in enumerate(hashes):
        capacity = grown_capacity(size, capacity)
        if capacity < MIN_TREEIFY_CAPACITY:
            bin_of_key = bucket(hash_code, capacity)
            in_bin = sum(bucket(other, capacity) == bin_of_key for other in hashes[:size])
            if in_bin >= TREEIFY_THRESHOLD - 1:
                capacity *= 2
    if is_called_again:
        capacity = grown_capacity(len(hashes), capacity)
    buckets = [bucket(hash_code, capacity) for hash_code in hashes]
    return sorted(range(len(hashes)), key=lambda position: (buckets[position], -position))


def _bucket_order(hashes: Sequence[int], capacity: int) -> list[int]:
    mask = capacity - 1
    buckets = [(h ^ (h >> 16)) & mask for h in hashes]
    return sorted(range(len(hashes)), key=buckets.__getitem__)


def in_hash_order(keys: Sequence[int], hashes: Sequence[int], capacity: int = DEFAULT_CAPACITY) -> list[int]:
    """Return keys (rows) in the order of a HashSet that is filled with them.

    `keys`: the keys in insertion order; `capacity`: initial capacity of the table.
    """
    return [keys[position] for position in hash_order([hashes[key] for key in keys], capacity)]


def in_copied_hash_order(keys: Sequence[int], hashes: Sequence[int]) -> list[int]:
    """Return keys (rows), given in the order of a set, in the order of `new HashSet(set)`."""
    return in_hash_order(keys, hashes, copied_capacity(len(keys)))


def copied_capacity(size: int) -> int:
    """Return the initial capacity of `new HashSet(collection)`."""
    wanted = max(int(size / 0.75) + 1, DEFAULT_CAPACITY)
    return 1 << (wanted - 1).bit_length()


def table_capacity(hashes: Vector, number: int, capacity: int, bins: Vector) -> int:
    """Return the capacity of a table after the first `number` keys were inserted (kernel).

    A table doubles when it is three quarters full; the 9th key of a bin doubles a table that is smaller than 64.
    `hashes`: hashes of the keys in insertion order; `bins`: scratch, [64].
    """
    count_bins(hashes, 0, capacity, bins)
    size = 0
    while size < number and capacity < MIN_TREEIFY_CAPACITY:
        slot = bucket(hashes[size], capacity)
        bins[slot] += 1
        size += 1
        if bins[slot] > TREEIFY_THRESHOLD:
            capacity *= 2
            count_bins(hashes, size, capacity, bins)
        if 4 * size > 3 * capacity:
            capacity *= 2
            count_bins(hashes, size, capacity, bins)
    return grown_capacity(number, capacity)


def count_bins(hashes: Vector, number: int, capacity: int, bins: Vector) -> None:
    """Count the first `number` keys in each bin, for tables in which the count matters (kernel)."""
    if capacity <= MIN_TREEIFY_CAPACITY:
        for slot in range(capacity):
            bins[slot] = 0
        for position in range(number):
            bins[bucket(hashes[position], capacity)] += 1


def grown_capacity(size: int, capacity: int) -> int:
    """Return `capacity`, doubled until `size` keys fill at most three quarters (kernel)."""
    while 4 * size > 3 * capacity:
        capacity *= 2
    return capacity


def bucket(hash_code: int, capacity: int) -> int:
    """Return the bin of a key (kernel)."""
    return (hash_code ^ (hash_code >> 16)) & (capacity - 1)


class SubsetOrder:
    """The iteration orders of HashSets that are filled from one list of keys (rows) with a few keys left out.

    Complexity: O(N) array operations for each set; each capacity is sorted once.
    """

    def __init__(self, keys: Sequence[int], hashes: Sequence[int]) -> None:
        self._keys = list(keys)
        self._hashes = hashes
        self._by_capacity: dict[int, npt.NDArray[np.intp]] = {}

    def without(self, excluded: Collection[int]) -> npt.NDArray[np.intp]:
        """Return the keys of the set without the excluded ones, in iteration order."""
        capacity = grown_capacity(len(self._keys) - len(excluded), DEFAULT_CAPACITY)
        if capacity < MIN_TREEIFY_CAPACITY:
            remaining = [key for key in self._keys if key not in excluded]
            return np.array(in_hash_order(remaining, self._hashes), dtype=np.intp)
        order = self._by_capacity.get(capacity)
        if order is None:
            positions = _bucket_order([self._hashes[key] for key in self._keys], capacity)
            order = self._by_capacity[capacity] = np.array(self._keys, dtype=np.intp)[positions]
        keep = np.ones(len(self._hashes), dtype=np.bool_)
        keep[list(excluded)] = False
        return order[keep[order]]


def table_size_for(capacity: int) -> int:
    """Return the number of bins of `new HashMap<>(capacity)`: the next power of two."""
    return 1 if capacity <= 1 else 1 << (capacity - 1).bit_length()


class JavaHashMap:
    """The keys of a HashMap or HashSet, which are small integers, in Java's iteration order.

    A bin with more than 8 keys in a table of 64 or more bins becomes a tree in Java, whose order is not reproduced.
    `capacity`: number of bins of the empty table, a power of two.
    """

    __slots__ = ("_bins", "_capacity", "_hashes")

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._bins: dict[int, list[int]] = {}
        self._hashes: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, key: int) -> bool:
        return key in self._hashes

    def __iter__(self) -> Iterator[int]:
        bins = self._bins
        for number in sorted(bins):
            yield from bins[number]

    def put(self, key: int, hash_code: int) -> None:
        """Add a key as `put` and `add` do: at the end of its bin."""
        if key in self._hashes:
            return
        keys = self._bins.setdefault(self._bin_of(hash_code), [])
        keys.append(key)
        self._hashes[key] = hash_code
        if len(keys) > TREEIFY_THRESHOLD and self._capacity < MIN_TREEIFY_CAPACITY:
            self._resize()
        if 4 * len(self._hashes) > 3 * self._capacity:
            self._resize()

    def compute_if_absent(self, key: int, hash_code: int) -> bool:
        """Add a key as `computeIfAbsent` does: at the head of its bin, and a full table grows before, not after.

        Returns whether the key was absent.
        """
        if 4 * len(self._hashes) > 3 * self._capacity:
            self._resize()
        if key in self._hashes:
            return False
        keys = self._bins.setdefault(self._bin_of(hash_code), [])
        keys.insert(0, key)
        self._hashes[key] = hash_code
        if len(keys) >= TREEIFY_THRESHOLD and self._capacity < MIN_TREEIFY_CAPACITY:
            self._resize()
        return True

    def remove(self, key: int) -> None:
        """Remove a key if it is present; the table does not shrink."""
        hash_code = self._hashes.pop(key, None)
        if hash_code is not None:
            number = self._bin_of(hash_code)
            self._bins[number].remove(key)
            if not self._bins[number]:
                del self._bins[number]

    def add_all(self, keys: Iterable[int]) -> None:
        """Add integers, which are their own hashes, as a HashSet does."""
        for key in keys:
            self.put(key, key)

    def _bin_of(self, hash_code: int) -> int:
        return (hash_code ^ (hash_code >> 16)) & (self._capacity - 1)

    def _resize(self) -> None:
        self._capacity *= 2
        bins: dict[int, list[int]] = {}
        for keys in self._bins.values():
            for key in keys:
                bins.setdefault(self._bin_of(self._hashes[key]), []).append(key)
        self._bins = bins


class StringHashMap:
    """The keys of a HashMap with strings, in Java's iteration order."""

    __slots__ = ("_keys", "_map", "_number_of")

    def __init__(self) -> None:
        self._map = JavaHashMap()
        self._keys: list[str] = []
        self._number_of: dict[str, int] = {}

    def __iter__(self) -> Iterator[str]:
        return map(self._keys.__getitem__, self._map)

    def add(self, key: str) -> None:
        """Add a key; nothing changes if it is present."""
        number = self._number_of.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
        self._map.put(number, string_hash(key))

    def remove(self, key: str) -> None:
        """Remove a key; nothing changes if it is absent."""
        number = self._number_of.get(key)
        if number is not None:
            self._map.remove(number)


_FIBONACCI: Final = -7046029254386353131
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
