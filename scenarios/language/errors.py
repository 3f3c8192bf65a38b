"""Errors of scenarios, with their locations, and of sweeps, and the formatting of values in messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MAX_VALUE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Mistake:
    """An error in a scenario.

    Attributes:
        source: the file, or the override (`--set path=value`).
        line: the line in that file, from 1; None if no line applies.
        path: the path in the scenario, such as `clients[2].rack`; empty for the whole scenario.
        message: the invalid value and the valid alternatives.
    """

    source: str
    line: int | None
    path: str
    message: str

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return printable(": ".join(part for part in (place, self.path, self.message) if part))


class ScenarioError(ValueError):
    """An invalid scenario; its text has one line per mistake. `mistakes`: all mistakes that were found."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(map(str, self.mistakes)))


class SweepError(Exception):
    """A sweep cannot run, or its output folder cannot be used."""


class Mistakes:
    """A collection of the mistakes in a scenario, without duplicates."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._mistakes: dict[Mistake, None] = {}

    def __bool__(self) -> bool:
        return bool(self._mistakes)

    def __iter__(self) -> Iterator[Mistake]:
        return iter(self._sorted())

    def add(self, mistake: Mistake) -> None:
        """Add a mistake unless it is already included."""
        self._mistakes[mistake] = None

    def raise_any(self) -> None:
        """Raise ScenarioError if there are mistakes; those of the scenario's own file come first, sorted by line."""
        if self._mistakes:
            raise ScenarioError(self._sorted())

    def _sorted(self) -> list[Mistake]:
        return sorted(
            self._mistakes, key=lambda mistake: (mistake.source != self._source, mistake.source, mistake.line or 0)
        )


def format_value(value: object) -> str:
    """Format a value for a message: short, on one line, strings in quotes."""
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
    """Return a text on one line, with control characters escaped."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def did_you_mean(name: str, known: Sequence[str], label: str = "known") -> str:
    """Return a hint: the known name closest to this one, or else all known names."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6) if len(name) <= MAX_VALUE_LENGTH else []
    if close:
        return f"did you mean '{close[0]}'?"
    return format_list(label, known)


def format_list(label: str, names: Iterable[object], max_names: int = 12) -> str:
    """Format names after a label, such as `racks: az1, az2`; truncate after `max_names` names."""
    texts = [str(name) for name in names]
    if not texts:
        return f"{label}: none"
    rest = f", … ({len(texts)} in total)" if len(texts) > max_names else ""
    return f"{label}: {', '.join(texts[:max_names])}{rest}"
