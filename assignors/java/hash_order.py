"""The orders in which Java's collections hand out what they hold, where Kafka's answers hang on them.

Source: `java.util.HashMap` and `String.hashCode` of OpenJDK 17; `TaskId.hashCode`, `ProcessId.hashCode`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from assignors.compilation import Vector
from assignors.model.ids import ProcessId, TaskId

_MASK_32 = 0xFFFFFFFF
_MASK_64 = 0xFFFFFFFFFFFFFFFF
DEFAULT_CAPACITY = 16
TREEIFY_THRESHOLD = 8
MIN_TREEIFY_CAPACITY = 64


class CollectionOrder(StrEnum):
    """In which collections Kafka's group leader is taken to hand tasks and clients to an assignor.

    The answer of the sticky assignors hangs on it. In production these are a HashMap and HashSets, filled in the order
    in which the leader comes across things; in Kafka's unit tests clients often come sorted.
    """

    PRODUCTION = "production"
    SORTED = "sorted"


def task_hash(task: TaskId) -> int:
    """`TaskId.hashCode()`, as an unsigned 32-bit number."""
    return (29791 + 961 * task.subtopology + 31 * task.partition) & _MASK_32


def process_hash(process: ProcessId) -> int:
    """`ProcessId.hashCode()`, as an unsigned 32-bit number."""
    folded = (process.most_significant_bits ^ process.least_significant_bits) & _MASK_64
    return (folded >> 32) ^ (folded & _MASK_32)


def string_hash(text: str) -> int:
    """`String.hashCode()`, as an unsigned 32-bit number; Java reckons it from UTF-16."""
    value = 0
    for unit in np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2").tolist():
        value = (31 * value + unit) & _MASK_32
    return value


def hash_order(hashes: Sequence[int], capacity: int = DEFAULT_CAPACITY) -> list[int]:
    """The iteration order of a HashMap or HashSet that was filled in the order listed.

    Args:
        hashes: the 32-bit hash of each key, in the order of insertion; every key once.
        capacity: the table's capacity before the first key.

    Returns:
        Positions in `hashes`, in the order of iteration. Keys that are removed later leave the order of the rest alone.

    A bin of more than 8 keys in a table of 64 or more becomes a tree, whose root comes first; that order is not
    reproduced. It takes more than 8 keys with equal low hash bits: task ids reach it only with more than 8
    subtopologies of more than 250 partitions each.
    """
    listed = list(hashes)
    return _bucket_order(listed, table_capacity(listed, len(listed), capacity, [0] * MIN_TREEIFY_CAPACITY))


def _bucket_order(hashes: Sequence[int], capacity: int) -> list[int]:
    mask = capacity - 1
    buckets = [(h ^ (h >> 16)) & mask for h in hashes]
    return sorted(range(len(hashes)), key=buckets.__getitem__)


def in_hash_order(keys: Sequence[int], hashes: Sequence[int], capacity: int = DEFAULT_CAPACITY) -> list[int]:
    """The keys (rows) in the order of a hash set that was filled with them as listed; `hashes` holds one hash a row."""
    return [keys[position] for position in hash_order([hashes[key] for key in keys], capacity)]


def in_copied_hash_order(keys: Sequence[int], hashes: Sequence[int]) -> list[int]:
    """The keys (rows), given in the order of any set, in the order of `new HashSet(set)`."""
    return in_hash_order(keys, hashes, copied_capacity(len(keys)))


def copied_capacity(size: int) -> int:
    """The capacity that `new HashSet(collection)` starts with."""
    wanted = max(int(size / 0.75) + 1, DEFAULT_CAPACITY)
    return 1 << (wanted - 1).bit_length()


def table_capacity(hashes: Vector, number: int, capacity: int, bins: Vector) -> int:
    """A kernel: the capacity of a table of `capacity` after the first `number` keys were put in, one by one.

    A table doubles when it is three quarters full, and a bin's 9th key doubles one that is still smaller than 64.
    Scratch: bins [64].
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
    """A kernel: how many of the first `number` keys are in each bin, of a table small enough for that to matter."""
    if capacity <= MIN_TREEIFY_CAPACITY:
        for slot in range(capacity):
            bins[slot] = 0
        for position in range(number):
            bins[bucket(hashes[position], capacity)] += 1


def grown_capacity(size: int, capacity: int) -> int:
    """A kernel: `capacity`, doubled until so many keys fill no more than three quarters."""
    while 4 * size > 3 * capacity:
        capacity *= 2
    return capacity


def bucket(hash_code: int, capacity: int) -> int:
    """A kernel: where a table keeps a key."""
    return (hash_code ^ (hash_code >> 16)) & (capacity - 1)


class SubsetOrder:
    """The orders of hash sets that are filled from one list of keys (rows), each time with a few keys left out.

    Complexity: O(N) array operations a set; each capacity is sorted once.
    """

    def __init__(self, keys: Sequence[int], hashes: Sequence[int]) -> None:
        self._keys = list(keys)
        self._hashes = hashes
        self._by_capacity: dict[int, npt.NDArray[np.intp]] = {}

    def without(self, excluded: Collection[int]) -> npt.NDArray[np.intp]:
        """The keys of the set that lacks the excluded ones, in its order of iteration."""
        capacity = grown_capacity(len(self._keys) - len(excluded), DEFAULT_CAPACITY)
        if capacity < MIN_TREEIFY_CAPACITY:
            left = [key for key in self._keys if key not in excluded]
            return np.array(in_hash_order(left, self._hashes), dtype=np.intp)
        order = self._by_capacity.get(capacity)
        if order is None:
            positions = _bucket_order([self._hashes[key] for key in self._keys], capacity)
            order = self._by_capacity[capacity] = np.array(self._keys, dtype=np.intp)[positions]
        keep = np.ones(len(self._hashes), dtype=np.bool_)
        keep[list(excluded)] = False
        return order[keep[order]]
