"""The rounds of a run as they are stored: what called for each, what it moved, what it decided."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

MOST_CHANGES: Final = 1_000
"""A run whose assignments change more entries than that, the first round's included, is stored as digests alone."""

OF_ROUND = ("round", "at_ms", "reason", "active_moves", "standby_moves", "withheld_tasks")

TaskPlacements = Mapping[str, Sequence[str | None]]
"""For each task who runs it, None if nobody, and then who stands by, by name; tasks without copies are not there."""


def stored_rounds(rounds: Sequence[Mapping[str, Any]], copies: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What is stored of each round.

    Args:
        rounds: the run's rows of the table `rounds`.
        copies: its rows of the table `assignments`.
    """
    of_round: dict[int, list[Mapping[str, Any]]] = {}
    for copy in copies:
        of_round.setdefault(copy["round"], []).append(copy)
    decided = [of_round.get(each["round"], []) for each in rounds]
    changes = _changes([places(each) for each in decided])
    if sum(map(len, changes)) > MOST_CHANGES:
        changes = [None] * len(rounds)
    for each, own, changed in zip(rounds, decided, changes, strict=True):
        yield {**{name: each[name] for name in OF_ROUND}, "digest": _digest(own), "changes": changed}


def places(copies: Iterable[Mapping[str, Any]]) -> dict[str, list[str | None]]:
    """Where the tasks are in a round, from its rows of the table `assignments`."""
    actives: dict[str, str] = {}
    standbys: dict[str, list[str]] = {}
    for copy in copies:
        standbys.setdefault(copy["task"], [])
        if copy["role"] == "active":
            actives[copy["task"]] = copy["client"]
        else:
            standbys[copy["task"]].append(copy["client"])
    return {task: [actives.get(task), *sorted(others)] for task, others in standbys.items()}


def restored(rounds: Iterable[Mapping[str, Any]]) -> Iterator[TaskPlacements | None]:
    """Where the tasks were in each stored round; None where only digests are stored."""
    now: dict[str, Sequence[str | None]] = {}
    for each in rounds:
        if each["changes"] is None:
            yield None
            continue
        now = {task: held for task, held in {**now, **each["changes"]}.items() if held}
        yield now


def _changes(every: Sequence[TaskPlacements]) -> list[Any]:
    """For the first round all places, for each later one those that differ from the round before; empty if gone."""
    first: list[dict[str, Any]] = [dict(every[0])] if every else []
    return first + [
        {task: after.get(task, []) for task in dict.fromkeys((*before, *after)) if before.get(task) != after.get(task)}
        for before, after in pairwise(every)
    ]


def _digest(copies: Iterable[Mapping[str, Any]]) -> str:
    lines = sorted(f"{copy['task']} {copy['role']} {copy['client']}" for copy in copies)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
