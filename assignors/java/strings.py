"""The order of `String.compareTo`: by UTF-16 code units, where surrogates sort before U+E000 to U+FFFF."""

from __future__ import annotations

from collections.abc import Sequence


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
