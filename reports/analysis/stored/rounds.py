"""The rounds of a run as stored results hold them: reason, moves and decided assignment of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

MAX_CHANGES: Final = 1_000
"""A run whose assignments change more entries than this, including the first round, is stored as digests only."""

ROUND_KEYS: Final = ("round", "at_ms", "reason", "active_moves", "standby_moves", "withheld_tasks")
"""Columns of the table `rounds` that are stored."""

TaskPlacements = Mapping[str, Sequence[str | None]]
"""Clients of each task with copies: that of the active task or None, then those of its standbys, sorted."""


def stored_rounds(rounds: Sequence[Mapping[str, Any]], copies: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what is stored of each round.

    `rounds`: rows of the table `rounds` of one run; `copies`: rows of the table `assignments` of the same run.
    """
    copies_by_round: dict[int, list[Mapping[str, Any]]] = {}
    for copy in copies:
        copies_by_round.setdefault(copy["round"], []).append(copy)
    decided = [copies_by_round.get(row["round"], []) for row in rounds]
    changes = _changes([placements(round_copies) for round_copies in decided])
    if sum(map(len, changes)) > MAX_CHANGES:
        changes = [None] * len(rounds)
    for row, round_copies, changed in zip(rounds, decided, changes, strict=True):
        yield {**{key: row[key] for key in ROUND_KEYS}, "digest": _digest(round_copies), "changes": changed}


def placements(copies: Iterable[Mapping[str, Any]]) -> dict[str, list[str | None]]:
    """Return the placement of each task in a round, from the rows of the table `assignments`."""
    actives: dict[str, str] = {}
    standbys: dict[str, list[str]] = {}
    for copy in copies:
        standbys.setdefault(copy["task"], [])
        if copy["role"] == "active":
            actives[copy["task"]] = copy["client"]
        else:
            standbys[copy["task"]].append(copy["client"])
    return {task: [actives.get(task), *sorted(clients)] for task, clients in standbys.items()}


def placements_by_round(rounds: Iterable[Mapping[str, Any]]) -> Iterator[TaskPlacements | None]:
    """Yield the placements of each stored round; None where only digests are stored."""
    current: dict[str, Sequence[str | None]] = {}
    for row in rounds:
        if row["changes"] is None:
            yield None
            continue
        current = {task: clients for task, clients in {**current, **row["changes"]}.items() if clients}
        yield current


def _changes(rounds: Sequence[TaskPlacements]) -> list[Any]:
    """Return all placements of the first round and the changed ones of each later round; empty for a removed task."""
    first: list[dict[str, Any]] = [dict(rounds[0])] if rounds else []
    return first + [
        {task: after.get(task, []) for task in dict.fromkeys((*before, *after)) if before.get(task) != after.get(task)}
        for before, after in pairwise(rounds)
    ]


def _digest(copies: Iterable[Mapping[str, Any]]) -> str:
    lines = sorted(f"{copy['task']} {copy['role']} {copy['client']}" for copy in copies)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
