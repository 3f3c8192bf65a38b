"""Strings are compared by UTF-16 code units, as in Java."""

from __future__ import annotations

from assignors.java.hash_order import string_ranks


def test_ascii_strings_are_ranked_by_character() -> None:
    assert string_ranks(["b", "a", "B", ""]) == [3, 2, 1, 0]


def test_surrogates_sort_before_the_last_characters_of_the_first_plane() -> None:
    # jshell> "\uD83D\uDE00".compareTo("\uFFEE") < 0
    assert string_ranks(["\N{HALFWIDTH WHITE CIRCLE}", "\N{GRINNING FACE}", "z"]) == [2, 1, 0]


def test_equal_strings_keep_their_order() -> None:
    assert string_ranks(["x", "x", "a"]) == [1, 2, 0]
