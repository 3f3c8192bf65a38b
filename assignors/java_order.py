"""The orders in which Java's collections hand out what they hold, where Kafka's answers hang on them.

Source: `java.util.HashMap` and `java.util.PriorityQueue` of OpenJDK 17; `TaskId.hashCode`, `ProcessId.hashCode`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from assignors.ids import ProcessId, TaskId

_MASK_32 = 0xFFFFFFFF
_MASK_64 = 0xFFFFFFFFFFFFFFFF
_DEFAULT_CAPACITY = 16
_TREEIFY_THRESHOLD = 8
_MIN_TREEIFY_CAPACITY = 64


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


def hash_order(hashes: Sequence[int], capacity: int = _DEFAULT_CAPACITY) -> list[int]:
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
    return _bucket_order(hashes, _final_capacity(hashes, capacity))


def _bucket_order(hashes: Sequence[int], capacity: int) -> list[int]:
    mask = capacity - 1
    buckets = [(h ^ (h >> 16)) & mask for h in hashes]
    return sorted(range(len(hashes)), key=buckets.__getitem__)


def hashed(keys: Sequence[int], hashes: Sequence[int], capacity: int = _DEFAULT_CAPACITY) -> list[int]:
    """The keys (rows) in the order of a hash set that was filled with them as listed; `hashes` holds one hash a row."""
    return [keys[position] for position in hash_order([hashes[key] for key in keys], capacity)]


def copied(keys: Sequence[int], hashes: Sequence[int]) -> list[int]:
    """The keys (rows), given in the order of any set, in the order of `new HashSet(set)`."""
    return hashed(keys, hashes, copied_capacity(len(keys)))


def copied_capacity(size: int) -> int:
    """The capacity that `new HashSet(collection)` starts with."""
    wanted = max(int(size / 0.75) + 1, _DEFAULT_CAPACITY)
    return 1 << (wanted - 1).bit_length()


def _grown_capacity(size: int, capacity: int) -> int:
    while size > 0.75 * capacity:
        capacity *= 2
    return capacity


def _final_capacity(hashes: Sequence[int], capacity: int) -> int:
    grown = _grown_capacity(len(hashes), capacity)
    if len(hashes) <= _TREEIFY_THRESHOLD or grown > _MIN_TREEIFY_CAPACITY:
        return grown
    # A bin is never longer than it would be if the table had never grown.
    lengths = Counter([(h ^ (h >> 16)) & (capacity - 1) for h in hashes])
    if max(lengths.values()) <= _TREEIFY_THRESHOLD:
        return grown
    return _capacity_with_long_bins(hashes, capacity)


def _capacity_with_long_bins(hashes: Sequence[int], capacity: int) -> int:
    """Fill the table key by key: a bin's 9th key doubles a table that is still smaller than 64."""
    bins: dict[int, list[int]] = {}

    def doubled() -> None:
        nonlocal capacity
        capacity *= 2
        keys = [key for entries in bins.values() for key in entries]
        bins.clear()
        for key in keys:
            bins.setdefault(key & (capacity - 1), []).append(key)

    for size, hash_code in enumerate(hashes, start=1):
        spread = hash_code ^ (hash_code >> 16)
        entries = bins.setdefault(spread & (capacity - 1), [])
        entries.append(spread)
        if len(entries) > _TREEIFY_THRESHOLD and capacity < _MIN_TREEIFY_CAPACITY:
            doubled()
        if size > 0.75 * capacity:
            doubled()
    return capacity


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
        capacity = _grown_capacity(len(self._keys) - len(excluded), _DEFAULT_CAPACITY)
        if capacity < _MIN_TREEIFY_CAPACITY:
            left = [key for key in self._keys if key not in excluded]
            return np.array(hashed(left, self._hashes), dtype=np.intp)
        order = self._by_capacity.get(capacity)
        if order is None:
            positions = _bucket_order([self._hashes[key] for key in self._keys], capacity)
            order = self._by_capacity[capacity] = np.array(self._keys, dtype=np.intp)[positions]
        keep = np.ones(len(self._hashes), dtype=np.bool_)
        keep[list(excluded)] = False
        return order[keep[order]]


Key = tuple[float, int]


class PriorityQueue:
    """`java.util.PriorityQueue` of small integers, with keys that are looked at whenever two elements are compared.

    Elements whose keys change while they are inside stay where they are, and equal keys come out in the order that
    Java's heap gives: both reach Kafka's answers.

    Attributes:
        keys: the key of each element; whoever changes one while the element is inside should know what he does.
    """

    def __init__(self, keys: Sequence[Key]) -> None:
        self.keys = list(keys)
        self._heap: list[int] = []

    def __len__(self) -> int:
        return len(self._heap)

    def elements(self) -> list[int]:
        """What is inside, as it lies in the heap."""
        return list(self._heap)

    def is_ordered(self) -> bool:
        """Whether the elements would come out in the order of their keys."""
        keys = [self.keys[element] for element in self._heap]
        return all(keys[(index - 1) >> 1] <= keys[index] for index in range(1, len(keys)))

    def clear(self) -> None:
        """Remove everything."""
        self._heap.clear()

    def offer(self, element: int) -> None:
        """Insert an element."""
        self.offer_all((element,))

    def offer_all(self, elements: Iterable[int]) -> None:
        """Insert elements one after the other."""
        # Written out, not a call of _sift_up for each: clients that are passed over come back here by the million.
        heap, keys = self._heap, self.keys
        for element in elements:
            heap.append(element)
            own, index = keys[element], len(heap) - 1
            while index > 0:
                parent = (index - 1) >> 1
                above = heap[parent]
                if own >= keys[above]:
                    break
                heap[index] = above
                index = parent
            heap[index] = element

    def poll(self) -> int:
        """Remove and return the head.

        Raises:
            IndexError: the queue is empty.
        """
        heap = self._heap
        head, last = heap[0], heap.pop()
        if heap:
            self._sift_down(0, last)
        return head

    def remove(self, element: int) -> None:
        """Remove an element that is inside, wherever it stands.

        Raises:
            ValueError: it is not inside.
        """
        heap = self._heap
        index = heap.index(element)
        moved = heap.pop()
        if index == len(heap):
            return
        self._sift_down(index, moved)
        if heap[index] == moved:
            self._sift_up(index, moved)

    def _sift_up(self, index: int, element: int) -> None:
        heap, keys = self._heap, self.keys
        own = keys[element]
        while index > 0:
            parent = (index - 1) >> 1
            above = heap[parent]
            if own >= keys[above]:
                break
            heap[index] = above
            index = parent
        heap[index] = element

    def _sift_down(self, index: int, element: int) -> None:
        heap, keys = self._heap, self.keys
        own = keys[element]
        last = len(heap) - 1
        child = 2 * index + 1
        while child <= last:
            below = heap[child]
            least = keys[below]
            if child < last:
                right = heap[child + 1]
                if least > keys[right]:
                    child, below, least = child + 1, right, keys[right]
            if own <= least:
                break
            heap[index] = below
            index, child = child, 2 * child + 1
        heap[index] = element
