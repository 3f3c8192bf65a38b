"""Differences between two rounds of a run, or between two assignors in one round, by task and by client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reports.analysis.comparison import Tables
from reports.analysis.explanation import step_text
from reports.analysis.runs.breakdowns import MOVE_REASONS
from reports.analysis.runs.run_rows import RunRows
from reports.analysis.stored.results import TaskPlacements
from reports.analysis.text import natural_key

TaskHolders = tuple[str | None, ...]
"""Client of the active task, None if it is not running, then the clients of its standbys; empty without copies."""


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A task with different clients on the two sides.

    Attributes:
        task: task id.
        before: its clients on the first side.
        after: its clients on the second side.
        reason: why it moved, as in the table `moves`; None for standbys and between assignors.
        steps: the assignor's decisions as text; empty if they were not recorded.
    """

    task: str
    before: TaskHolders
    after: TaskHolders
    reason: str | None
    steps: tuple[str, ...] = ()

    @property
    def is_move(self) -> bool:
        """Whether the active task moved, not only standbys."""
        return self.before[:1] != self.after[:1]


@dataclass(frozen=True, slots=True)
class ClientChange:
    """The tasks of a client on both sides.

    Attributes:
        client: name of the client.
        runs: number of active tasks on each side.
        stands_by: number of standbys and warm-ups on each side.
        lost: active tasks on the first side only.
        gained: active tasks on the second side only.
    """

    client: str
    runs: tuple[int, int]
    stands_by: tuple[int, int]
    lost: tuple[str, ...]
    gained: tuple[str, ...]

    @property
    def is_change(self) -> bool:
        """Whether the two sides differ."""
        return bool(self.lost or self.gained) or self.stands_by[0] != self.stands_by[1]


@dataclass(frozen=True, slots=True)
class RoundDiff:
    """The differences between two sides.

    Attributes:
        scenario: name of the scenario.
        assignors: one label for two rounds of a run, two labels for two assignors.
        seed: seed of the runs.
        round: number of the round, or of the later round.
        at_ms: time of the round, for each assignor.
        reasons: reason of the rebalance, for each assignor.
        sides: titles of the two sides.
        num_tasks: number of tasks on either side.
        tasks: tasks that differ, by id.
        clients: all clients, by name.
    """

    scenario: str
    assignors: tuple[str, ...]
    seed: int
    round: int
    at_ms: tuple[int, ...]
    reasons: tuple[str, ...]
    sides: tuple[str, str]
    num_tasks: int
    tasks: tuple[TaskChange, ...]
    clients: tuple[ClientChange, ...]


def diff_rounds(tables: Tables, assignor: str, round_: int, seed: int | None = None) -> RoundDiff:
    """Return the changes of a round and their reasons; all assigned tasks for the first round.

    `tables`: must hold `runs`, `rounds`, `assignments`, `moves` and `reasons`. `seed`: seed of the run; by default, the
    first seed of the assignor.
    """
    run = RunRows(tables, assignor, round_, seed)
    before = run.placements_in(round_ - 1)
    after = run.placements_in(round_)
    reasons = {row["task"]: row["reason"] for row in run.active_rows("moves")}
    steps: dict[str, list[str]] = {}
    for row in run.active_rows("reasons"):
        steps.setdefault(row["task"], []).append(step_text(row).rstrip(":"))
    diff = _diff([run], (f"round {round_ - 1}", f"round {round_}"), before, after)
    tasks = (
        replace(change, reason=reasons.get(change.task), steps=tuple(steps.get(change.task, ())))
        for change in diff.tasks
    )
    return replace(diff, tasks=tuple(tasks))


def diff_assignors(tables: Tables, assignors: tuple[str, str], round_: int, seed: int | None = None) -> RoundDiff:
    """Return the differences between the assignments of two assignors in a round.

    `tables`: must hold `runs`, `rounds` and `assignments`. `seed`: seed of the runs; by default, the first seed of the
    first assignor.
    """
    first = RunRows(tables, assignors[0], round_, seed)
    second = RunRows(tables, assignors[1], round_, first.seed)
    return _diff([first, second], assignors, first.placements_in(round_), second.placements_in(round_))


def _diff(runs: Sequence[RunRows], sides: tuple[str, str], before: TaskPlacements, after: TaskPlacements) -> RoundDiff:
    tasks = sorted({*before, *after}, key=natural_key)
    changes = [TaskChange(task, tuple(before.get(task, ())), tuple(after.get(task, ())), None) for task in tasks]
    return RoundDiff(
        scenario=runs[0].scenario,
        assignors=tuple(run.assignor for run in runs),
        seed=runs[0].seed,
        round=runs[-1].round["round"],
        at_ms=tuple(run.round["at_ms"] for run in runs),
        reasons=tuple(run.round["reason"] for run in runs),
        sides=sides,
        num_tasks=len(tasks),
        tasks=tuple(change for change in changes if change.before != change.after),
        clients=tuple(_clients(before, after, changes)),
    )


def _clients(before: TaskPlacements, after: TaskPlacements, changes: Sequence[TaskChange]) -> list[ClientChange]:
    (actives_before, standbys_before), (actives_after, standbys_after) = _counts(before), _counts(after)
    names = sorted({*actives_before, *standbys_before, *actives_after, *standbys_after}, key=natural_key)
    moved = [change for change in changes if change.is_move]
    return [
        ClientChange(
            client=name,
            runs=(actives_before[name], actives_after[name]),
            stands_by=(standbys_before[name], standbys_after[name]),
            lost=tuple(change.task for change in moved if change.before[:1] == (name,)),
            gained=tuple(change.task for change in moved if change.after[:1] == (name,)),
        )
        for name in names
    ]


def _counts(placements: TaskPlacements) -> tuple[Counter[str], Counter[str]]:
    """Return the number of active tasks and the number of standbys of each client."""
    runs = Counter(clients[0] for clients in placements.values() if clients[0] is not None)
    return runs, Counter(str(client) for clients in placements.values() for client in clients[1:])


def move_reason_text(reason: str | None) -> str:
    """Return a reason of the table `moves` as text; empty without a reason."""
    return "" if reason is None else MOVE_REASONS.get(f"moves_{reason}", reason)


def record(diff: RoundDiff) -> dict[str, Any]:
    """Return the diff as a record for JSON."""
    return {
        "scenario": diff.scenario,
        "assignors": list(diff.assignors),
        "seed": diff.seed,
        "round": diff.round,
        "at_ms": list(diff.at_ms),
        "reasons": list(diff.reasons),
        "tasks": [
            {
                "task": change.task,
                "before": list(change.before),
                "after": list(change.after),
                "reason": change.reason,
                "steps": list(change.steps),
            }
            for change in diff.tasks
        ],
        "clients": [
            {
                "client": client.client,
                "runs": list(client.runs),
                "stands_by": list(client.stands_by),
                "lost": list(client.lost),
                "gained": list(client.gained),
            }
            for client in diff.clients
        ],
    }
