"""Small stored results, so that changes can be planted in them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from reports.analysis.stored.results import ResultOrigin, StoredResults, StoredRun
from reports.analysis.stored.rounds import stored_rounds

ORIGIN = ResultOrigin("ab" * 32, {"topics.txt": "cd" * 32}, 3, {"numpy": "2.4.6", "python": "3.11.7"})
FIGURES: dict[str, Any] = {
    "verdict": "stable",
    "cause": None,
    "active_moves": 4,
    "downtime_ms": 9_000,
    "cross_rack_bytes": 1.5e9,
    "cross_rack_usd": None,
    "active_cost": 0,
}
Held = Mapping[str, str]
"""For each task who has it: who runs it, or `-`, and then who stands by."""


def rounds(*every: Held, figures: Mapping[str, Any] | None = None) -> tuple[Mapping[str, Any], ...]:
    """Stored rounds in which clients hold tasks: {"0_1": "a b"} is run by a, with a standby on b."""
    rows = [
        {"round": number, "at_ms": 1000 * number, "reason": "follow-up", "active_moves": 0, "standby_moves": 0}
        | {"withheld_tasks": 0, **(figures or {})}
        for number in range(1, len(every) + 1)
    ]
    copies = [
        {"round": number, "task": task, "client": client, "role": "standby" if place else "active"}
        for number, held in enumerate(every, 1)
        for task, clients in held.items()
        for place, client in enumerate(clients.split())
        if client != "-"
    ]
    return tuple(stored_rounds(rows, copies))


def results(*every: Held, assignor: str = "ha", seed: int = 1, **figures: Any) -> StoredResults:
    """Stored results of one run."""
    return StoredResults("small", ORIGIN, {(assignor, seed): StoredRun({**FIGURES, **figures}, rounds(*every))})


def planted(before: StoredResults, round_: int, **changes: list[str]) -> StoredResults:
    """The same results with something else stored as the changes of a round, as an editor would do it."""
    after = copy.deepcopy(before)
    for run in after.runs.values():
        run.rounds[round_ - 1]["changes"].update(changes)
    return after
