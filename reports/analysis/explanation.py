"""Why tasks moved: the rows of the tables `reasons` and `cycles`, grouped by move, and their steps as text.

The downtime of a task is divided among its moves.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, Final

import pyarrow.compute as pc

from reports.analysis.comparison import Tables
from reports.analysis.comparison import table as table_of
from reports.analysis.formatting import format_clock, format_count, format_duration, format_number
from reports.analysis.runs.breakdowns import MOVE_REASONS
from reports.analysis.scaled_rounds import decisions_by_round, trigger_text
from reports.analysis.text import natural_key, printable

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """When a task ran after its moves, and its downtime because of each.

    All downtime of the task since the first round is that of one move or round.

    Attributes:
        runs_at_ms: when it ran on its new client, by the round of the move; absent if it moved again before that.
        moved_ms: downtime by the round of the move: from when the task stopped, which may be before the round, until it
            ran on its new client or moved again.
        stayed_ms: downtime without a move, by the last round before it.
    """

    runs_at_ms: Mapping[int, int]
    moved_ms: Counter[int]
    stayed_ms: Counter[int]

    @classmethod
    def of(cls, states: Sequence[Row], moves: Mapping[int, str | None], rounds: Sequence[Row]) -> TaskTimes:
        """Divide the downtime of a task.

        `states`: its rows of the table `task_states`. `moves`: the client that it moved to, by round. `rounds`: all
        rows of the table `rounds` of the run; at least one.
        """
        end_ms = rounds[-1]["until_ms"]
        at_ms = {row["round"]: row["at_ms"] for row in rounds}
        running = list(_running(states, end_ms))
        runs_at_ms: dict[int, int] = {}
        waits: dict[int, Interval] = {}
        for number, until in zip(moves, [*(at_ms[number] for number in moves), end_ms][1:], strict=True):
            since = at_ms[number]
            runs = (max(start, since) for start, end, client in running if end > since and client == moves[number])
            first = next(runs, until)
            if first < until:
                runs_at_ms[number] = first
            waits[number] = since, min(first, until)
        moved_ms: Counter[int] = Counter()
        stayed_ms: Counter[int] = Counter()
        times = [row["at_ms"] for row in rounds]
        for down in _down(running, times[0], end_ms):
            cuts = {cut for wait in waits.values() for cut in wait if down[0] < cut < down[1]}
            for start, end in pairwise(sorted({*down, *cuts})):
                moved = _move_of((start, end), down, waits)
                if moved is None:
                    stayed_ms[rounds[bisect_right(times, start) - 1]["round"]] += end - start
                else:
                    moved_ms[moved] += end - start
        return cls(runs_at_ms, moved_ms, stayed_ms)


def _running(states: Sequence[Row], end_ms: int) -> Iterator[tuple[int, int, str | None]]:
    """Yield start, end and client of each interval in which a task ran."""
    ends = [*(row["at_ms"] for row in states), end_ms][1:]
    for row, end in zip(states, ends, strict=False):
        if row["state"] == "running" and end > row["at_ms"]:
            yield row["at_ms"], end, row["client"]


def _down(running: Sequence[tuple[int, int, str | None]], start_ms: int, end_ms: int) -> Iterator[Interval]:
    """Yield the intervals between two times in which a task did not run."""
    at_ms = start_ms
    for start, end, _ in running:
        if start > at_ms:
            yield at_ms, start
        at_ms = max(at_ms, end)
    if at_ms < end_ms:
        yield at_ms, end_ms


def _move_of(part: Interval, down: Interval, waits: Mapping[int, Interval]) -> int | None:
    """Return the round of the move that a part of an interval without the task belongs to; None if to none."""
    for number, (since, until) in waits.items():
        if since <= part[0] < until or part[1] <= since <= down[1]:
            return number
    return None


Row = Mapping[str, Any]

NOT_REQUESTED = "not_requested"
"""Value of `no_break_even` if the break-even cost was not requested."""


_NO_REASONS: Final = "these results have no reasons; run the scenario again with --out"


class ExplanationError(Exception):
    """The results have no such run, task or round."""


@dataclass(frozen=True, slots=True)
class ExplainedMove:
    """A copy of the task that was assigned to a new client.

    Attributes:
        task: task id.
        role: active or standby.
        source: client that ran it in the previous round; None for standbys, or if it was not running.
        target: client that it was assigned to.
        steps: rows of the assignor's steps, in order.
        cycles: rows of each cycle that it is part of, by number of the cycle.
        break_even: the non_overlap_cost that would have kept it on `source`; None if there is none.
        no_break_even: code of the reason why there is no such cost.
        runs_at_ms: time at which the active task ran on its new client; None if it moved again before that.
        downtime_ms: downtime of the active task, from when it stopped until it ran there or moved again; 0 for
            standbys.
    """

    task: str
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
    """The moves of a task in one run, and their reasons.

    Attributes:
        scenario: name of the scenario.
        assignor: label of the assignor.
        seed: seed of the run.
        task: task id.
        requested: rows of the requested rounds.
        moves: moves of its copies in these rounds, in order; active copies first.
        stays: requested rounds in which it did not move: row of the round, its client, and the move that assigned it to
            that client.
        scaled: rows of the decisions of autoscalers that caused a requested round, by its number.
    """

    scenario: str
    assignor: str
    seed: int
    task: str
    requested: tuple[Row, ...]
    moves: tuple[ExplainedMove, ...]
    stays: tuple[tuple[Row, str | None, ExplainedMove | None], ...]
    scaled: Mapping[int, tuple[Row, ...]] = field(default_factory=dict)

    @property
    def lacks_break_evens(self) -> bool:
        """Whether break-even costs were not requested."""
        moves = (*self.moves, *(move for _, _, move in self.stays if move is not None))
        return any(move.no_break_even == NOT_REQUESTED for move in moves)


@dataclass(frozen=True, slots=True)
class RoundDowntime:
    """The downtime of tasks because of a round.

    Attributes:
        moved_ms: of its moves, see `ExplainedMove`.
        stayed_ms: of tasks that stopped after the round and ran again without a move.
    """

    moved_ms: int
    stayed_ms: int

    @property
    def total_ms(self) -> int:
        """Return the downtime of all tasks."""
        return self.moved_ms + self.stayed_ms


@dataclass(frozen=True, slots=True)
class MoveList:
    """The moves of all tasks in one run, or in one of its rounds.

    Attributes:
        scenario: name of the scenario.
        assignor: label of the assignor.
        seed: seed of the run.
        initial: number of tasks that the first round assigned.
        requested: rows of the listed rounds.
        moves: moves in these rounds, by round and task; of each task, its active copy first.
        why: why each active task moved, as in the table `moves`, by round and task.
        downtimes: downtime of each round of the run by number; they add up to `downtime_ms` of the run.
        is_single_round: whether one round was requested.
        scaled: rows of the decisions of autoscalers that caused a round, by its number.
    """

    scenario: str
    assignor: str
    seed: int
    initial: int
    requested: tuple[Row, ...]
    moves: tuple[ExplainedMove, ...]
    why: Mapping[tuple[int, str], str]
    downtimes: Mapping[int, RoundDowntime]
    is_single_round: bool
    scaled: Mapping[int, tuple[Row, ...]] = field(default_factory=dict)

    def count(self, role: str) -> int:
        """Return the number of listed moves of active tasks or of standbys."""
        return sum(move.role == role for move in self.moves)


def explain(tables: Tables, assignor: str, seed: int | None, task: str, round_: int | None = None) -> Explanation:
    """Return the moves of a task and their reasons.

    `seed`: seed of the run; by default, the first one. `round_`: number of the round; by default, all rounds. Raises
    ExplanationError if the results have no such assignor, seed, task or round, or no reasons.
    """
    scenario, run = _find_run(tables, assignor, seed)
    _check_task(tables, run, task)
    rounds = _rows(tables, "rounds", **run)
    requested = _requested(rounds, assignor, round_)
    moves, _ = _read_moves(tables, {**run, "task": task}, rounds)
    if rounds and not moves:
        raise ExplanationError(_NO_REASONS)
    numbers = {row["round"] for row in requested}
    return Explanation(
        scenario=scenario,
        assignor=assignor,
        seed=int(run["seed"]),
        task=task,
        requested=tuple(requested),
        moves=tuple(move for move in moves if move.round["round"] in numbers),
        stays=tuple(_stays(moves, requested)),
        scaled=_scaled(tables, run, numbers),
    )


def list_moves(tables: Tables, assignor: str, seed: int | None = None, round_: int | None = None) -> MoveList:
    """Return the moves of all tasks and their reasons.

    `seed`: seed of the run; by default, the first one. `round_`: number of the round; by default, all rounds after the
    initial assignment. Raises ExplanationError if the results have no such assignor, seed or round, or no reasons.
    """
    scenario, run = _find_run(tables, assignor, seed)
    rounds = _rows(tables, "rounds", **run)
    requested = _requested(rounds, assignor, round_)
    moves, stayed_ms = _read_moves(tables, run, rounds)
    if rounds and not moves:
        raise ExplanationError(_NO_REASONS)
    first = rounds[0]["round"] if rounds else None
    moved_ms: Counter[int] = Counter()
    for move in moves:
        moved_ms[move.round["round"]] += move.downtime_ms
    if round_ is None:
        requested = [row for row in requested if row["round"] != first]
    numbers = {row["round"] for row in requested}
    listed = [move for move in moves if move.round["round"] in numbers]
    listed.sort(
        key=lambda move: (move.round["round"], natural_key(move.task), move.role, natural_key(move.target or ""))
    )
    return MoveList(
        scenario=scenario,
        assignor=assignor,
        seed=int(run["seed"]),
        initial=sum(move.role == "active" and move.round["round"] == first for move in moves),
        requested=tuple(requested),
        moves=tuple(listed),
        why={
            (row["round"], row["task"]): row["reason"]
            for row in _rows(tables, "moves", **run)
            if row["role"] == "active" and row["round"] in numbers
        },
        downtimes={
            number: RoundDowntime(moved_ms[number], stayed_ms[number]) for number in (row["round"] for row in rounds)
        },
        is_single_round=round_ is not None,
        scaled=_scaled(tables, run, numbers),
    )


def _scaled(tables: Tables, run: Row, numbers: Container[int]) -> dict[int, tuple[Row, ...]]:
    """Return the decisions of autoscalers that caused some rounds of a run, by round."""
    return {
        number: rows
        for (_, assignor, seed, number), rows in decisions_by_round(tables).items()
        if (assignor, seed) == (run["assignor"], run["seed"]) and number in numbers
    }


def _find_run(tables: Tables, assignor: str, seed: int | None) -> tuple[str, dict[str, Any]]:
    """Return the scenario of a run, and the columns that identify its rows.

    Raises ExplanationError if the results have no such run.
    """
    runs = _rows(tables, "runs", assignor=assignor)
    seeds = [row["seed"] for row in runs]
    if not seeds or (seed is not None and seed not in seeds):
        raise ExplanationError(f"no seed {seed} of {assignor} (seeds: {', '.join(map(str, seeds)) or 'none'})")
    return str(runs[0]["scenario"]), {"assignor": assignor, "seed": seeds[0] if seed is None else seed}


def _requested(rounds: Sequence[Row], assignor: str, round_: int | None) -> list[Row]:
    """Return the rows of the requested rounds; raise ExplanationError if there is no such round."""
    requested = [row for row in rounds if round_ is None or row["round"] == round_]
    if round_ is not None and not requested:
        available = f"{rounds[0]['round']} to {rounds[-1]['round']}" if rounds else "none"
        raise ExplanationError(f"no round {round_} of {assignor} (rounds: {available})")
    return requested


def _check_task(tables: Tables, run: Row, task: str) -> None:
    ids = [row["task"] for row in _rows(tables, "tasks", **run)]
    if task not in ids:
        known = f"{ids[0]} to {ids[-1]}" if len(ids) > 8 else ", ".join(ids)
        raise ExplanationError(f"no task '{task}' in this application (tasks: {known})")


def _rows(tables: Tables, name: str, **wanted: object) -> list[dict[str, Any]]:
    """Return the rows of a table in which the given columns have the given values."""
    table = table_of(tables, name)
    for column, value in wanted.items():
        table = table.filter(pc.equal(table[column], value))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _read_moves(tables: Tables, wanted: Row, rounds: Sequence[Row]) -> tuple[list[ExplainedMove], Counter[int]]:
    """Return the moves of one task or all tasks of a run, task by task, and the downtime without a move by round.

    `wanted`: the run, and the task unless all are wanted, by column.
    """
    reasons: dict[str, list[Row]] = {}
    for row in _rows(tables, "reasons", **wanted):
        reasons.setdefault(row["task"], []).append(row)
    needed_cycles = {
        (row["round"], row["cycle"]) for rows in reasons.values() for row in rows if row["cycle"] is not None
    }
    edges: dict[tuple[int, int], list[Row]] = {}
    run = {column: value for column, value in wanted.items() if column != "task"}
    for row in _rows(tables, "cycles", **run) if needed_cycles else ():
        if (row["round"], row["cycle"]) in needed_cycles:
            edges.setdefault((row["round"], row["cycle"]), []).append(row)
    states: dict[str, list[Row]] = {}
    for row in _rows(tables, "task_states", **wanted):
        states.setdefault(row["task"], []).append(row)
    moves: list[ExplainedMove] = []
    stayed_ms: Counter[int] = Counter()
    for task in (row["task"] for row in _rows(tables, "tasks", **wanted)) if rounds else ():
        rows = reasons.get(task, [])
        actives = {row["round"]: row["to_client"] for row in rows if row["role"] == "active"}
        times = TaskTimes.of(states.get(task, ()), actives, rounds)
        moves += _moves(rows, times, edges, {row["round"]: row for row in rounds})
        stayed_ms.update(times.stayed_ms)
    return moves, stayed_ms


def _moves(
    reasons: Sequence[Row],
    times: TaskTimes,
    edges: Mapping[tuple[int, int], Sequence[Row]],
    rounds: Mapping[int, Row],
) -> Iterator[ExplainedMove]:
    """Yield the moves of one task from its rows in the table `reasons`."""
    by_move = groupby(reasons, key=lambda row: (row["round"], row["role"], row["from_client"], row["to_client"]))
    for (number, role, source, target), group in by_move:
        steps = tuple(group)
        yield ExplainedMove(
            task=steps[0]["task"],
            round=rounds[number],
            role=role,
            source=source,
            target=target,
            steps=steps,
            cycles={step["cycle"]: tuple(edges[number, step["cycle"]]) for step in steps if step["cycle"] is not None},
            break_even=steps[0]["break_even"],
            no_break_even=steps[0]["no_break_even"],
            runs_at_ms=times.runs_at_ms.get(number) if role == "active" else None,
            downtime_ms=times.moved_ms[number] if role == "active" else 0,
        )


def _stays(
    moves: Iterable[ExplainedMove], requested: Sequence[Row]
) -> Iterable[tuple[Row, str | None, ExplainedMove | None]]:
    actives = [move for move in moves if move.role == "active"]
    for row in requested:
        before = [move for move in actives if move.round["round"] <= row["round"]]
        last = before[-1] if before else None
        if last is None or last.round["round"] != row["round"]:
            yield row, last.target if last is not None else None, last


_RUNS, _UNKNOWN = -2, -3
"""Kafka's special lags: `_RUNS` if the client runs the task, `_UNKNOWN` if its offsets are unknown."""

_NON_OVERLAP_COST = "rack.aware.assignment.non_overlap_cost"


def step_text(step: Row) -> str:
    """Return a step as text."""
    return _STEP_TEXTS[step["kind"]](step)


def edge_text(edge: Row) -> str:
    """Return a move of a cycle, with the change in cost."""
    moving = f" + {edge['non_overlap_cost']} for moving" if edge["non_overlap_cost"] else ""
    change = f"{edge['traffic_from']} → {edge['traffic_to']}{moving}"
    return f"{edge['task']}: {_name(edge['from_client'])} → {_name(edge['to_client'])}, {change} = {edge['cost']:+d}"


def cycle_text(edges: tuple[Row, ...], *, spreads: bool = False) -> str:
    """Return the change in cost of a cycle; `spreads`: whether it balances subtopologies, as its step says."""
    total, break_even = edges[0]["cycle_cost"], edges[0]["cycle_break_even"]
    if spreads:
        return f"total {total:+d}: balances subtopologies rather than reducing cost"
    text = f"total {total:+d}"
    return text if break_even is None else f"{text}; no reduction with a {_NON_OVERLAP_COST} of {break_even}"


def cost_text(move: ExplainedMove) -> str:
    """Return the non_overlap_cost that would have kept the task on its client, or why there is none; may be empty."""
    source = _name(move.source)
    if move.break_even is not None:
        return f"A {_NON_OVERLAP_COST} of {move.break_even} would have kept it on {source}."
    return {
        "no_racks": f"Racks had no influence: no {_NON_OVERLAP_COST} would have kept it on {source}.",
        "any_cost": f"No {_NON_OVERLAP_COST} that was tried would have kept it on {source}.",
        "not_recorded": "The assignor does not record its decisions.",
        "not_requested": f"The {_NON_OVERLAP_COST} that would have kept it was not computed.",
    }.get(move.no_break_even or "", "")


def wait_text(move: ExplainedMove) -> str:
    """Return when the task ran on its new client, and its downtime until then; empty for standbys."""
    if move.role != "active":
        return ""
    if move.runs_at_ms is None:
        return "It did not run there before it moved again."
    down = f", after a downtime of {format_duration(move.downtime_ms)}" if move.downtime_ms else ""
    return f"It ran there from {format_clock(move.runs_at_ms)} on{down}."


def move_text(move: ExplainedMove) -> str:
    """Return the source and the target of a move."""
    if move.role == "standby":
        return f"standby on {_name(move.target)}"
    if move.source is None:
        return f"placed on {_name(move.target)}"
    return f"{_name(move.source)} → {_name(move.target)}"


def round_text(row: Row) -> Iterator[str]:
    """Yield the number of a round, then its time and reason."""
    yield f"Round {row['round']}"
    yield f"{format_clock(row['at_ms'])}, {trigger_text(row['reason'])}"


def cause_of_move(move: ExplainedMove, reason: str | None) -> str:
    """Return why an active task moved; empty for its initial assignment.

    The table `moves` has the effect of a move as `reason`. Whether it moved for racks or for balance is decided by the
    recorded steps: an assignor that ignores racks can reduce cross-rack reads by chance.
    """
    kinds = {step["kind"] for step in move.steps}
    if reason in ("rack", "balance") and kinds and "not_recorded" not in kinds:
        return next((text for kind, text in _CAUSES.items() if kind in kinds), MOVE_REASONS["moves_balance"])
    return "" if reason is None else MOVE_REASONS.get(f"moves_{reason}", reason)


_CAUSES = {"rack": "rack-aware optimization", "spread": "balance of subtopologies"}
"""Why a task moved, by the kind of a step."""


def _name(name: str | None) -> str:
    return "no client" if name is None else printable(name)


def _load(value: float) -> str:
    number = format_number(value)
    return f"{number} {'task' if number == '1' else 'tasks'} per thread"


def _lag(lag: int) -> str:
    if lag == _UNKNOWN:
        return "lag unknown"
    return "ran it" if lag == _RUNS else f"lag {format_count(lag)}"


def _acceptable(step: Row) -> str:
    lag = step["acceptable_lag"]
    return "any lag is acceptable" if lag == 2**63 - 1 else f"acceptable: {format_count(lag)}"


def _kept(step: Row, role: str) -> str:
    text = f"to {_name(step['step_to'])}, which {role}"
    if step["room"] is not None:
        return f"{text} and has capacity: {step['held']} of {step['room']} tasks so far"
    if step["load_to"] is not None:
        return f"{text} and is not overloaded: {_load(step['load_to'])}"
    return text


def _balanced(step: Row) -> str:
    before = f"{format_number(step['load_from'])} and {format_number(step['load_to'])}"
    after = f"{format_number(step['load_from_after'])} and {format_number(step['load_to_after'])}"
    return f"balance, {_name(step['step_from'])} → {_name(step['step_to'])}: from {before} tasks per thread to {after}"


def _waits(step: Row) -> str:
    warming_up = f"{_name(step['step_from'])} ({_lag(step['lag_from'])}; {_acceptable(step)})"
    return f"{_name(step['step_to'])} ({_lag(step['lag_to'])}) keeps it until {warming_up} catches up"


def _caught_up(step: Row) -> str:
    if step["lag_to"] == _RUNS:
        return f"stays on {_name(step['step_to'])}, which ran it"
    return f"stays on {_name(step['step_to'])}, which is caught up ({_lag(step['lag_to'])}; {_acceptable(step)})"


def _tags(step: Row) -> str:
    tags = f" ({printable(step['tags'])})" if step["tags"] else ""
    return f"to {_name(step['step_to'])}{tags}, with tags that its other copies lack: {_load(step['load_to'])}"


_STEP_TEXTS: Mapping[str, Callable[[Row], str]] = {
    "dealt": lambda step: f"round-robin placed it on {_name(step['step_to'])}",
    "kept": lambda step: _kept(step, "ran it before"),
    "stood_by": lambda step: _kept(step, "had a standby before"),
    "least_loaded": lambda step: f"to {_name(step['step_to'])}, the least loaded client: {_load(step['load_to'])}",
    "fewest_actives": lambda step: (
        f"to {_name(step['step_to'])}, with the fewest active tasks: {format_number(step['load_to'])} per thread"
    ),
    "mixed": lambda step: (
        f"to {_name(step['step_to'])}, the least loaded client with a new pair of tasks: {_load(step['load_to'])}"
    ),
    "tags": _tags,
    "balanced": _balanced,
    "caught_up": _caught_up,
    "closest": lambda step: (
        f"stays on {_name(step['step_to'])} ({_lag(step['lag_to'])}; {_acceptable(step)}): no client has a lower lag"
    ),
    "waits": _waits,
    "warm_up": lambda step: (
        f"warm-up on {_name(step['step_to'])}, its target ({_lag(step['lag_to'])}; {_acceptable(step)})"
    ),
    "swapped": lambda step: (
        f"{_name(step['step_from'])} runs it, so its target {_name(step['step_to'])} "
        f"gets the standby ({_lag(step['lag_to'])}; {_acceptable(step)})"
    ),
    "rack": lambda step: f"racks, {_name(step['step_from'])} → {_name(step['step_to'])}, in a cycle:",
    "spread": lambda step: f"subtopologies, {_name(step['step_from'])} → {_name(step['step_to'])}, in a cycle:",
    "member_lost": lambda step: f"{_name(step['step_from'])} had left the group",
    "initial": lambda step: f"{_name(step['step_to'])} had it when the run began",
    "not_recorded": lambda step: f"to {_name(step['step_to'])}, by an assignor that does not record its decisions",
}
