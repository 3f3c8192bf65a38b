"""`java.util.PriorityQueue` with keys that can change.

Keys are read at each comparison. An element whose key changes stays at its position, and elements with equal keys come
out in the order of Java's heap; Kafka's assignments depend on both. The functions from `is_less` on are kernels
(`assignors.compilation`); `PriorityQueue` is for plain Python.

Source: `java.util.PriorityQueue` of OpenJDK 17.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assignors.compilation import PLAIN, Kernels, Reals, Vector

Key = tuple[float, int]


class Heap(NamedTuple):
    """A queue of small integers; `offer`, `poll` and `remove` change it in place."""

    elements: Vector
    """Java's array; entries from `size` on are undefined"""
    size: Vector
    """[1] number of elements"""
    major: Reals
    """[element] first part of the key"""
    minor: Vector
    """[element] second part of the key"""


def new_heap(kernels: Kernels, major: list[float], minor: list[int]) -> Heap:
    """Return an empty heap for elements with the given keys."""
    size = kernels.zeros(1)
    return Heap(kernels.zeros(len(major)), size, kernels.reals(major), kernels.vector(minor))


def is_less(heap: Heap, first: int, second: int) -> bool:
    """Return whether the key of the first element is less than that of the second."""
    major = heap.major
    return major[first] < major[second] or (major[first] == major[second] and heap.minor[first] < heap.minor[second])


def offer(heap: Heap, element: int) -> None:
    """Insert an element."""
    index = heap.size[0]
    heap.size[0] = index + 1
    sift_up(heap, index, element)


def poll(heap: Heap) -> int:
    """Remove the head of a non-empty heap, and return it."""
    elements = heap.elements
    head: int = elements[0]
    last = heap.size[0] - 1
    heap.size[0] = last
    if last > 0:
        sift_down(heap, 0, elements[last])
    return head


def remove(heap: Heap, element: int) -> None:
    """Remove an element from any position."""
    elements = heap.elements
    index = 0
    while elements[index] != element:
        index += 1
    last = heap.size[0] - 1
    heap.size[0] = last
    if index == last:
        return
    moved = elements[last]
    sift_down(heap, index, moved)
    if elements[index] == moved:
        sift_up(heap, index, moved)


def sift_up(heap: Heap, index: int, element: int) -> None:
    """Insert an element at an empty position, or above it as its key requires."""
    # Comparisons are inlined: in compiled code, a call with a tuple of arrays costs more than the comparison.
    elements, major, minor = heap.elements, heap.major, heap.minor
    key = major[element]
    while index > 0:
        parent = (index - 1) >> 1
        above = elements[parent]
        if key > major[above] or (key == major[above] and minor[element] >= minor[above]):
            break
        elements[index] = above
        index = parent
    elements[index] = element


def sift_down(heap: Heap, index: int, element: int) -> None:
    """Insert an element at an empty position, or below it as its key requires."""
    elements, major, minor = heap.elements, heap.major, heap.minor
    key = major[element]
    size = heap.size[0]
    child = 2 * index + 1
    while child < size:
        below = elements[child]
        if child + 1 < size:
            right = elements[child + 1]
            if major[right] < major[below] or (major[right] == major[below] and minor[right] < minor[below]):
                child += 1
                below = right
        if key < major[below] or (key == major[below] and minor[element] <= minor[below]):
            break
        elements[index] = below
        index = child
        child = 2 * index + 1
    elements[index] = element


class PriorityQueue:
    """A queue of the elements 0, 1, … with the given keys, initially empty."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._heap = new_heap(PLAIN, [major for major, _ in keys], [minor for _, minor in keys])

    def __len__(self) -> int:
        return int(self._heap.size[0])

    def set_key(self, element: int, key: Key) -> None:
        """Change a key; an element of the queue stays at its position."""
        self._heap.major[element], self._heap.minor[element] = key

    def offer(self, element: int) -> None:
        """Insert an element that is not in the queue."""
        offer(self._heap, element)

    def poll(self) -> int:
        """Remove the head, and return it; raise IndexError if the queue is empty."""
        if not len(self):
            raise IndexError("the queue is empty")
        return poll(self._heap)

    def remove(self, element: int) -> None:
        """Remove an element from any position."""
        remove(self._heap, element)
