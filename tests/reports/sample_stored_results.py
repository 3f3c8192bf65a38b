"""Small stored results for tests of changes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from reports.analysis.stored.results import ResultOrigin, StoredResults, StoredRun, stored_rounds
from reports.analysis.stored.verification import compare_results, parse_tolerances

ORIGIN = ResultOrigin("ab" * 32, {"topics.txt": "cd" * 32}, 3, {"numpy": "2.4.6", "python": "3.11.7"})
FIGURES: dict[str, Any] = {
    "verdict": "stable",
    "cause": None,
    "active_moves": 4,
    "downtime_ms": 9_000,
    "cross_rack_bytes": 1.5e9,
    "cross_rack_usd_per_day": None,
    "stateful_cost": 0,
}
Placements = Mapping[str, str]
"""Clients of each task: the active client, or `-` without one, then the clients of its standbys."""


def rounds(*placements: Placements, figures: Mapping[str, Any] | None = None) -> tuple[Mapping[str, Any], ...]:
    """Return stored rounds with these placements: {"0_1": "a b"} runs on a and has a standby on b."""
    rows = [
        {"round": number, "at_ms": 1000 * number, "reason": "follow-up", "active_moves": 0, "standby_moves": 0}
        | {"withheld_tasks": 0, **(figures or {})}
        for number in range(1, len(placements) + 1)
    ]
    copies = [
        {"round": number, "task": task, "client": client, "role": "standby" if position else "active"}
        for number, placement in enumerate(placements, 1)
        for task, clients in placement.items()
        for position, client in enumerate(clients.split())
        if client != "-"
    ]
    return tuple(stored_rounds(rows, copies))


def results(*placements: Placements, assignor: str = "ha", seed: int = 1, **figures: Any) -> StoredResults:
    """Return the stored results of one run."""
    return StoredResults("small", ORIGIN, {(assignor, seed): StoredRun({**FIGURES, **figures}, rounds(*placements))})


def with_changes(before: StoredResults, round_: int, **changes: list[str]) -> StoredResults:
    """Return a copy with other changes stored for a round, as if the file had been edited."""
    after = copy.deepcopy(before)
    for run in after.runs.values():
        run.rounds[round_ - 1]["changes"].update(changes)
    return after


def change_lines(before: StoredResults, now: StoredResults, *allowed: str, metrics_only: bool = False) -> list[str]:
    """Return the differences between stored and current results as text; `allowed` are tolerances."""
    return list(map(str, compare_results(before, now, parse_tolerances(allowed), metrics_only=metrics_only)))
