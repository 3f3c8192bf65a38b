"""What differs between two rounds of a run, or between two assignors in one round: task by task, client by client."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reports.analysis.comparison import Tables
from reports.analysis.explanation_text import step_text
from reports.analysis.runs.breakdowns import MOVE_REASONS
from reports.analysis.runs.run_rows import RunRows
from reports.analysis.stored.rounds import TaskPlacements

TaskHolders = tuple[str | None, ...]
"""Who runs a task, None if nobody does, and then who stands by; empty if nobody has anything of it."""


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A task that is not on one side where it is on the other.

    Attributes:
        task: its id.
        before: who has it on the first side.
        after: who has it on the second.
        reason: why it moved, as in the table `moves`; None of standbys, and between assignors.
        steps: how the assignor came to move it, in words; empty where that was not recorded.
    """

    task: str
    before: TaskHolders
    after: TaskHolders
    reason: str | None
    steps: tuple[str, ...] = ()

    @property
    def is_move(self) -> bool:
        """Whether another client is to run it, and not only standbys differ."""
        return self.before[:1] != self.after[:1]


@dataclass(frozen=True, slots=True)
class ClientChange:
    """What a client has on both sides.

    Attributes:
        client: its name.
        runs: how many tasks it runs, on each side.
        stands_by: how many standbys and warm-ups it has.
        lost: the tasks that it runs on the first side only.
        gained: those that it runs on the second only.
    """

    client: str
    runs: tuple[int, int]
    stands_by: tuple[int, int]
    lost: tuple[str, ...]
    gained: tuple[str, ...]

    @property
    def is_change(self) -> bool:
        """Whether anything differs."""
        return bool(self.lost or self.gained) or self.stands_by[0] != self.stands_by[1]


@dataclass(frozen=True, slots=True)
class RoundDiff:
    """Two sides and what differs.

    Attributes:
        scenario: its name.
        assignors: labels; one of a run's two rounds, two of a round.
        seed: of the run.
        round: the round, or the later one.
        at_ms: when that was, for each assignor.
        reasons: what called for it, for each assignor.
        sides: what the two are called.
        num_tasks: how many tasks there are on either side.
        tasks: those that differ, in the order of their ids.
        clients: all of them, by name.
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
    """What a round changed, and why; of the first round, all that it gave out.

    Args:
        tables: must hold `runs`, `rounds`, `assignments`, `moves` and `reasons`.
        assignor: its label.
        round_: the later round.
        seed: the first of the assignor's runs if None.

    Raises:
        DiffError: there is no such run or round.
        TableError: a table is missing.
    """
    run = RunRows(tables, assignor, round_, seed)
    before = run.places_in(round_ - 1)
    after = run.places_in(round_)
    reasons = {row["task"]: row["reason"] for row in run.actives_of("moves")}
    steps: dict[str, list[str]] = {}
    for row in run.actives_of("reasons"):
        steps.setdefault(row["task"], []).append(step_text(row).rstrip(":"))
    diff = _diff([run], (f"round {round_ - 1}", f"round {round_}"), before, after)
    told = [replace(each, reason=reasons.get(each.task), steps=tuple(steps.get(each.task, ()))) for each in diff.tasks]
    return replace(diff, tasks=tuple(told))


def diff_assignors(tables: Tables, assignors: tuple[str, str], round_: int, seed: int | None = None) -> RoundDiff:
    """How two assignors' assignments differ in a round of the same number.

    Args:
        tables: must hold `runs`, `rounds` and `assignments`.
        assignors: their labels.
        round_: the round.
        seed: the first of the first assignor's runs if None.

    Raises:
        DiffError: there is no such run or round.
        TableError: a table is missing.
    """
    one = RunRows(tables, assignors[0], round_, seed)
    other = RunRows(tables, assignors[1], round_, one.seed)
    return _diff([one, other], assignors, one.places_in(round_), other.places_in(round_))


def _diff(runs: Sequence[RunRows], sides: tuple[str, str], before: TaskPlacements, after: TaskPlacements) -> RoundDiff:
    tasks = sorted({*before, *after}, key=_natural)
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
    (ran, stood), (runs, stands) = _counts(before), _counts(after)
    names = sorted({*ran, *stood, *runs, *stands}, key=_natural)
    moved = [change for change in changes if change.is_move]
    return [
        ClientChange(
            client=name,
            runs=(ran[name], runs[name]),
            stands_by=(stood[name], stands[name]),
            lost=tuple(change.task for change in moved if change.before[:1] == (name,)),
            gained=tuple(change.task for change in moved if change.after[:1] == (name,)),
        )
        for name in names
    ]


def _counts(side: TaskPlacements) -> tuple[Counter[str], Counter[str]]:
    """How many tasks each client runs, and how many it stands by for."""
    runs = Counter(held[0] for held in side.values() if held[0] is not None)
    return runs, Counter(str(client) for held in side.values() for client in held[1:])


def why(reason: str | None) -> str:
    """A reason of the table `moves` in words; empty without one."""
    return "" if reason is None else MOVE_REASONS.get(f"moves_{reason}", reason)


def record(diff: RoundDiff) -> dict[str, Any]:
    """A diff as a record for scripts."""
    return {
        "scenario": diff.scenario,
        "assignors": list(diff.assignors),
        "seed": diff.seed,
        "round": diff.round,
        "at_ms": list(diff.at_ms),
        "reasons": list(diff.reasons),
        "tasks": [
            {
                "task": each.task,
                "before": list(each.before),
                "after": list(each.after),
                "reason": each.reason,
                "steps": list(each.steps),
            }
            for each in diff.tasks
        ],
        "clients": [
            {
                "client": each.client,
                "runs": list(each.runs),
                "stands_by": list(each.stands_by),
                "lost": list(each.lost),
                "gained": list(each.gained),
            }
            for each in diff.clients
        ],
    }


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Numbers in names by their size: `0_2` before `0_10`."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]
