"""Why a task moved: the rows of the tables `reasons` and `cycles` that tell of it, move by move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reports.analysis.comparison import TableError, Tables

Row = Mapping[str, Any]

NOT_ASKED = "not_asked"
"""Stands in `no_break_even` where nobody has looked for a cost."""


class ExplanationError(Exception):
    """What is asked about is not in the results; says what is."""


@dataclass(frozen=True, slots=True)
class ExplainedMove:
    """A copy of the task that came to a new place.

    Attributes:
        round: the row of its round.
        role: active or standby.
        source: who ran it the round before; None if nobody did, and for standbys.
        target: who has it in the end.
        steps: the rows of its steps, in order.
        cycles: the rows of each cycle that it was a part of, in order, by the cycle's number.
        break_even: the cost that would have kept it.
        no_break_even: why there is none.
        runs_at_ms: when the active task ran at its new place; None if it never did before it moved on.
        downtime_ms: for how long it had not been processed by then, from the round on.
    """

    round: Row
    role: str
    source: str | None
    target: str | None
    steps: tuple[Row, ...]
    cycles: Mapping[int, tuple[Row, ...]]
    break_even: int | None
    no_break_even: str | None
    runs_at_ms: int | None
    downtime_ms: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of a task in one run.

    Attributes:
        scenario: name.
        assignor: label.
        seed: of the run.
        task: task id.
        asked: the rows of the rounds that were asked about.
        moves: those of its copies in these rounds, in order; actives first.
        stays: where it was given to in each of these rounds in which it did not move: the round's row, the client, and
            the move that took it there.
    """

    scenario: str
    assignor: str
    seed: int
    task: str
    asked: tuple[Row, ...]
    moves: tuple[ExplainedMove, ...]
    stays: tuple[tuple[Row, str | None, ExplainedMove | None], ...]

    @property
    def lacks_break_evens(self) -> bool:
        """Whether nobody has looked for the costs that would have kept it."""
        every = (*self.moves, *(move for _, _, move in self.stays if move is not None))
        return any(move.no_break_even == NOT_ASKED for move in every)


def explain(tables: Tables, assignor: str, seed: int | None, task: str, round_: int | None = None) -> Explanation:
    """Gather what tells of a task.

    Args:
        tables: the result tables.
        assignor: label of the run.
        seed: of the run; its first if None.
        task: task id.
        round_: only this round; all if None.

    Raises:
        ExplanationError: there is no such seed, task or round, or the results tell no reasons.
        TableError: a table is missing.
    """
    runs = _rows(tables, "runs", assignor=assignor)
    seeds = [row["seed"] for row in runs]
    if not seeds or (seed is not None and seed not in seeds):
        raise ExplanationError(f"no run of {assignor} with seed {seed} (seeds: {', '.join(map(str, seeds)) or 'none'})")
    run = {"assignor": assignor, "seed": seeds[0] if seed is None else seed}
    _check_task(tables, run, task)
    rounds = _rows(tables, "rounds", **run)
    asked = [row for row in rounds if round_ is None or row["round"] == round_]
    if round_ is not None and not asked:
        raise ExplanationError(
            f"{assignor} has no round {round_} (rounds: {rounds[0]['round']} to {rounds[-1]['round']})"
        )
    moves = _moves(tables, run, task, {row["round"]: row for row in rounds})
    if rounds and not moves:
        raise ExplanationError("these results tell no reasons; run the scenario again with --out")
    numbers = {row["round"] for row in asked}
    return Explanation(
        scenario=str(runs[0]["scenario"]),
        assignor=assignor,
        seed=int(run["seed"]),
        task=task,
        asked=tuple(asked),
        moves=tuple(move for move in moves if move.round["round"] in numbers),
        stays=tuple(_stays(moves, asked)),
    )


def _check_task(tables: Tables, run: Row, task: str) -> None:
    ids = [row["task"] for row in _rows(tables, "tasks", **run)]
    if task not in ids:
        known = f"{ids[0]} to {ids[-1]}" if len(ids) > 8 else ", ".join(ids)
        raise ExplanationError(f"'{task}' is not a task of this application (tasks: {known})")


def _rows(tables: Tables, name: str, **wanted: object) -> list[dict[str, Any]]:
    """The rows of a table in which these columns have these values."""
    if name not in tables:
        raise TableError(f"the table {name!r} is missing; run it again with this version")
    table: pa.Table = tables[name]
    for column, value in wanted.items():
        table = table.filter(pc.equal(table[column], value))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _moves(tables: Tables, run: Row, task: str, rounds: Mapping[int, Row]) -> list[ExplainedMove]:
    reasons = _rows(tables, "reasons", **run, task=task)
    needed = {(row["round"], row["cycle"]) for row in reasons if row["cycle"] is not None}
    edges: dict[tuple[int, int], list[Row]] = {}
    for row in _rows(tables, "cycles", **run) if needed else ():
        if (row["round"], row["cycle"]) in needed:
            edges.setdefault((row["round"], row["cycle"]), []).append(row)
    lives = _rows(tables, "lives", **run, task=task)
    by_move = groupby(reasons, key=lambda row: (row["round"], row["role"], row["from_client"], row["to_client"]))
    actives = [row for row in reasons if row["role"] == "active" and row["step"] == 1]
    leaves = {before["round"]: rounds[after["round"]]["at_ms"] for before, after in pairwise(actives)}
    moves = []
    for (number, role, source, target), group in by_move:
        steps = tuple(group)
        runs_at_ms, downtime_ms = None, 0
        if role == "active":
            runs_at_ms, downtime_ms = _wait(lives, target, rounds[number]["at_ms"], leaves.get(number))
        moves.append(
            ExplainedMove(
                round=rounds[number],
                role=role,
                source=source,
                target=target,
                steps=steps,
                cycles={
                    step["cycle"]: tuple(edges[number, step["cycle"]]) for step in steps if step["cycle"] is not None
                },
                break_even=steps[0]["break_even"],
                no_break_even=steps[0]["no_break_even"],
                runs_at_ms=runs_at_ms,
                downtime_ms=downtime_ms,
            )
        )
    return moves


def _wait(lives: Sequence[Row], target: str | None, since_ms: int, until_ms: int | None) -> tuple[int | None, int]:
    """When the task ran at its new place, and for how long it did not run anywhere until then."""
    downtime_ms, state, at_ms = 0, "", since_ms
    for step in lives:
        if until_ms is not None and step["at_ms"] > until_ms:
            break
        if step["at_ms"] > at_ms:
            downtime_ms += 0 if state in ("running", "") else step["at_ms"] - at_ms
            at_ms = step["at_ms"]
        state = step["state"]
        if at_ms >= since_ms and step["at_ms"] >= since_ms and state == "running" and step["client"] == target:
            return step["at_ms"], downtime_ms
    return None, downtime_ms


def _stays(
    moves: Iterable[ExplainedMove], asked: Sequence[Row]
) -> Iterable[tuple[Row, str | None, ExplainedMove | None]]:
    actives = [move for move in moves if move.role == "active"]
    for row in asked:
        before = [move for move in actives if move.round["round"] <= row["round"]]
        last = before[-1] if before else None
        if last is None or last.round["round"] != row["round"]:
            yield row, last.target if last is not None else None, last
