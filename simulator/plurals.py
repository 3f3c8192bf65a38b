"""Numbers with their nouns, in every text of the project."""

from __future__ import annotations


def plural(number: float, noun: str, nouns: str = "") -> str:
    """Return the noun that a number requires: `task` for 1, otherwise `nouns`, by default `tasks`."""
    return noun if number == 1 else nouns or f"{noun}s"


def counted(number: float, noun: str, nouns: str = "") -> str:
    """Return a number with its noun: `1 task`, `1,200 tasks`; a median may end in a half: `12.5 tasks`.

    `nouns`: the plural if it does not end in s, or if a clause follows: `counted(2, "entry is", "entries are")`.
    """
    is_whole = isinstance(number, int) or number == int(number)
    return f"{int(number) if is_whole else round(number, 1):,} {plural(number, noun, nouns)}"
