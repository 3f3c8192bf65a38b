"""What is wrong with a scenario, and where.

```
ScenarioError      a scenario that cannot be run; has every Mistake that was found
```
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MAX_VALUE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong.

    Attributes:
        source: the file (or `--set path=value`) that it stands in.
        line: the line in that file, from 1; None if the mistake is not in a line.
        path: where in the scenario, such as `clients[2].rack`; empty for the whole.
        message: the bad value and what would be right.
    """

    source: str
    line: int | None
    path: str
    message: str

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return printable(": ".join(part for part in (place, self.path, self.message) if part))


class ScenarioError(ValueError):
    """A scenario that cannot be run; `mistakes` are all that were found, and printing it gives one a line."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(map(str, self.mistakes)))


class Mistakes:
    """Collects mistakes, so that one look at a scenario finds them all."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._found: dict[Mistake, None] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def __iter__(self) -> Iterator[Mistake]:
        return iter(self._sorted())

    def add(self, mistake: Mistake) -> None:
        """Take note of a mistake; the same one twice counts once."""
        self._found[mistake] = None

    def raise_any(self) -> None:
        """Raise what was found, if anything was.

        Raises:
            ScenarioError: there are mistakes; those of the scenario's own file come first, by line.
        """
        if self._found:
            raise ScenarioError(self._sorted())

    def _sorted(self) -> list[Mistake]:
        return sorted(self._found, key=lambda found: (found.source != self._source, found.source, found.line or 0))


def format_value(value: object) -> str:
    """Write a bad value as it may stand in a message: short, on one line, texts in quotes."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case str():
            text = printable(value)
            return f"'{text}'" if len(text) <= MAX_VALUE_LENGTH else f"'{text[:MAX_VALUE_LENGTH]}…'"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case int():
            return str(value) if value.bit_length() < 200 else "a number of very many digits"
        case _:
            return str(value)


def printable(text: str) -> str:
    """Write a text on one line, with escapes for what a terminal would not print but obey."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def did_you_mean(name: str, known: Sequence[str], what: str = "known") -> str:
    """Say which of the known names was meant, or which there are, as a remark in brackets."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6) if len(name) <= MAX_VALUE_LENGTH else []
    if close:
        return f"did you mean '{close[0]}'?"
    return format_list(what, known)


def format_list(what: str, names: Iterable[object], most: int = 12) -> str:
    """List names after a word, such as `racks: az1, az2`; of very many, the first ones."""
    texts = [str(name) for name in names]
    if not texts:
        return f"{what}: none"
    rest = f", … ({len(texts)} in all)" if len(texts) > most else ""
    return f"{what}: {', '.join(texts[:most])}{rest}"
