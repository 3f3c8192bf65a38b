"""Reference answers: the assignments of Kafka's own classes for every instance, computed in Java."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tools.benchmark.entries import ENTRIES, Entry
from tools.benchmark.evaluation import answer

KAFKAS = tuple(entry for entry in ENTRIES if entry.java)
"""The entries that are Kafka's."""


class DifferentAnswerError(Exception):
    """An assignor of this project and Kafka's class give different answers."""


def reference_answers(
    problems: Sequence[Mapping[str, Any]],
    entries: Iterable[Entry] = KAFKAS,
    on_progress: Callable[[str], None] = lambda text: None,
) -> Iterator[dict[str, Any]]:
    """Yield the answers of Kafka's classes, each with the releases that give it.

    Raises DifferentAnswerError if the assignor of this project with the same name gives another answer.
    """
    for entry in entries:
        on_progress(entry.name)
        for problem in problems:
            yield from _answers(problem, entry)


def _answers(problem: Mapping[str, Any], entry: Entry) -> Iterator[dict[str, Any]]:
    own = comparable(answer(problem, entry))
    for release, java in entry.java.items():
        released = comparable(answer(problem, entry, java))
        if released != own:
            raise DifferentAnswerError(f"{problem['id']}, {entry.name}, Kafka {release}: {released} instead of {own}")
    yield {"id": problem["id"], "entry": entry.name, "kafka": list(entry.java), "answer": own}


def comparable(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer with the class of its error only, whose text differs between releases."""
    error = found["error"]
    return {**found, "error": error and str(error).partition(":")[0]}
