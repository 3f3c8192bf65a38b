"""`java.util.PriorityQueue`, with keys that are looked at whenever two elements are compared.

Elements whose keys change while they are inside stay where they are, and equal keys come out in the order that Java's
heap gives: both reach Kafka's answers. The functions from `is_less` on are kernels (`assignors.compilation`);
`PriorityQueue` is for plain Python.

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
    """as they lie in Java's array; behind `size` of them, anything"""
    size: Vector
    """[1] how many are inside"""
    major: Reals
    """[element] what elements are compared by"""
    minor: Vector
    """[element] what they are compared by if `major` is equal"""


def new_heap(kernels: Kernels, major: list[float], minor: list[int]) -> Heap:
    """An empty heap for elements with these keys."""
    size = kernels.zeros(1)
    return Heap(kernels.zeros(len(major)), size, kernels.reals(major), kernels.vector(minor))


def is_less(heap: Heap, one: int, other: int) -> bool:
    """Whether the key of one element is less than that of another."""
    major = heap.major
    return major[one] < major[other] or (major[one] == major[other] and heap.minor[one] < heap.minor[other])


def offer(heap: Heap, element: int) -> None:
    """Insert an element."""
    index = heap.size[0]
    heap.size[0] = index + 1
    sift_up(heap, index, element)


def poll(heap: Heap) -> int:
    """Remove and return the head of a heap that is not empty."""
    elements = heap.elements
    head: int = elements[0]
    last = heap.size[0] - 1
    heap.size[0] = last
    if last > 0:
        sift_down(heap, 0, elements[last])
    return head


def remove(heap: Heap, element: int) -> None:
    """Remove an element that is inside, wherever it stands."""
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
    """Put an element where an empty place is, or as far above as its key takes it."""
    # Comparisons are written out: compiled, a call with a tuple of arrays costs more than what it does.
    elements, major, minor = heap.elements, heap.major, heap.minor
    own = major[element]
    while index > 0:
        parent = (index - 1) >> 1
        above = elements[parent]
        if own > major[above] or (own == major[above] and minor[element] >= minor[above]):
            break
        elements[index] = above
        index = parent
    elements[index] = element


def sift_down(heap: Heap, index: int, element: int) -> None:
    """Put an element where an empty place is, or as far below as its key takes it."""
    elements, major, minor = heap.elements, heap.major, heap.minor
    own = major[element]
    size = heap.size[0]
    child = 2 * index + 1
    while child < size:
        below = elements[child]
        if child + 1 < size:
            right = elements[child + 1]
            if major[right] < major[below] or (major[right] == major[below] and minor[right] < minor[below]):
                child += 1
                below = right
        if own < major[below] or (own == major[below] and minor[element] <= minor[below]):
            break
        elements[index] = below
        index = child
        child = 2 * index + 1
    elements[index] = element


class PriorityQueue:
    """A queue of the elements 0, 1, … with the keys given, empty at first."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._heap = new_heap(PLAIN, [major for major, _ in keys], [minor for _, minor in keys])

    def __len__(self) -> int:
        return int(self._heap.size[0])

    def set_key(self, element: int, key: Key) -> None:
        """Change a key; an element that is inside stays where it is."""
        self._heap.major[element], self._heap.minor[element] = key

    def offer(self, element: int) -> None:
        """Insert an element that is not inside."""
        offer(self._heap, element)

    def poll(self) -> int:
        """Remove and return the head.

        Raises:
            IndexError: the queue is empty.
        """
        if not len(self):
            raise IndexError("the queue is empty")
        return poll(self._heap)

    def remove(self, element: int) -> None:
        """Remove an element that is inside, wherever it stands."""
        remove(self._heap, element)
