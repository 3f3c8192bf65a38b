"""A `java.util.HashMap` that is filled step by step: only its keys and their iteration order.

`assignors.java.hash_order` has closed forms for maps that are filled at once.

Source: `java.util.HashMap` of OpenJDK 17.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assignors.java.hash_order import DEFAULT_CAPACITY, MIN_TREEIFY_CAPACITY, TREEIFY_THRESHOLD, string_hash


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
