"""Why one task moved, and the moves of all tasks round by round, as text and as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.analysis.explanation import (
    ExplainedMove,
    Explanation,
    MoveList,
    RoundDowntime,
    cause_of_move,
    cost_text,
    cycle_text,
    edge_text,
    move_text,
    round_text,
    step_text,
    wait_text,
)
from reports.analysis.formatting import format_bytes, format_clock, format_count, format_duration
from reports.analysis.scaled_rounds import MAX_LISTED, decision_text, decision_texts, trigger_text
from reports.analysis.text import printable
from reports.render.terminal.conclusion import point
from reports.render.terminal.console import HEADER, QUIET, grid, keep_figures, lines
from reports.render.terminal.facts import FactTable
from simulator.plurals import counted


def draw_moves(move_lists: Sequence[MoveList], width: int | None = None, *, color: bool | None = None) -> str:
    """Draw lists of moves one below the other; `width` and `color` as in `reports.render.terminal.console.lines`."""
    return lines(_move_list_parts(move_lists), width, color=color)


def _move_list_parts(move_lists: Sequence[MoveList]) -> Iterator[RenderableType]:
    """Yield how many tasks each assignor moved and why, then the moves round by round."""
    for number, move_list in enumerate(move_lists):
        if number:
            yield Text()
        yield Text(f"{printable(move_list.assignor)}, seed {move_list.seed}: {moves_summary(move_list)}", HEADER)
        yield from (point(text) for text in reasons(move_list))
    for move_list in move_lists:
        yield from _rounds(move_list, f"{printable(move_list.assignor)}: " if len(move_lists) > 1 else "")


def reasons(move_list: MoveList) -> list[str]:
    """Return the number and the downtime of active moves by reason, most frequent first."""
    moves: dict[str, list[ExplainedMove]] = {}
    for move in move_list.moves:
        if move.role == "active":
            cause = cause_of_move(move, move_list.why.get((move.round["round"], move.task)))
            moves.setdefault(cause or "initial assignment", []).append(move)
    texts = []
    for cause, of_cause in sorted(moves.items(), key=lambda item: -len(item[1])):
        downtime_ms = sum(move.downtime_ms for move in of_cause)
        down = f", downtime {format_duration(downtime_ms)}" if downtime_ms else ""
        texts.append(f"{cause}: {counted(len(of_cause), 'move')}{down}")
    return texts


def _rounds(move_list: MoveList, label: str) -> Iterator[RenderableType]:
    moves = {key: list(group) for key, group in groupby(move_list.moves, key=lambda move: move.round["round"])}
    for row in move_list.requested:
        if row["round"] in moves or move_list.downtimes[row["round"]].total_ms:
            yield Text()
            yield _heading(row, moves.get(row["round"], ()), move_list.downtimes[row["round"]], label)
            scaled = move_list.scaled.get(row["round"], ())
            most = len(scaled) if move_list.is_single_round else MAX_LISTED
            for text in decision_texts(scaled, most):
                yield Padding(Text(keep_figures(text), QUIET), (0, 0, 0, 2))
            if row["round"] in moves:
                yield _table(moves[row["round"]], move_list.why)


def moves_summary(move_list: MoveList) -> str:
    """Return the number of moves as a sentence.

    For example `60 active and 60 standby moves in 62 rebalances after the initial assignment of 60 tasks.`
    """
    counts = (
        f"{format_count(move_list.count('active'))} active and {counted(move_list.count('standby'), 'standby move')}"
    )
    if move_list.is_single_round:
        return f"{counts} in round {move_list.requested[0]['round']}."
    rounds = counted(len(move_list.requested), "rebalance")
    text = f"{counts} in {rounds} after the initial assignment of {counted(move_list.initial, 'task')}"
    first = next(iter(move_list.downtimes.values()), None)
    return f"{text}, {_downtime_text(first)}." if first is not None and first.total_ms else f"{text}."


def _heading(row: Mapping[str, Any], moves: Sequence[ExplainedMove], downtime: RoundDowntime, label: str) -> Text:
    """Return number, time and reason of a round, and what it cost."""
    costs = [_downtime_text(downtime)] if downtime.total_ms else []
    if row["restored_bytes"]:
        costs.append(f"{format_bytes(row['restored_bytes'])} restored until the next round")
    text = Text(f"{label}Round {row['round']}", HEADER)
    text.append(f"  {format_clock(row['at_ms'])}, {trigger_text(row['reason'])}", "not bold")
    return text.append(f"\n{counted(len(moves), 'move')}{''.join(f'; {cost}' for cost in costs)}", f"not bold {QUIET}")


def _downtime_text(downtime: RoundDowntime) -> str:
    text = f"downtime {format_duration(downtime.total_ms)}"
    if not downtime.stayed_ms:
        return text
    return f"{text} ({format_duration(downtime.stayed_ms)} of tasks that did not move)"


def _table(moves: Sequence[ExplainedMove], why: Mapping[tuple[int, str], str]) -> Table:
    table = grid()
    table.padding = (0, 1)
    table.add_column(Text("task"), no_wrap=True)
    table.add_column(Text("move"), max_width=34)
    table.add_column(Text("downtime"), justify="right", no_wrap=True)
    table.add_column(Text("why"), ratio=1)
    for move in moves:
        downtime = format_duration(move.downtime_ms) if move.downtime_ms else ""
        table.add_row(Text(printable(move.task)), Text(move_text(move)), Text(downtime), Text(_why(move, why)))
    return table


def _why(move: ExplainedMove, why: Mapping[tuple[int, str], str]) -> str:
    """Return the reason of a move, and the last step of the assignor."""
    reason = cause_of_move(move, why.get((move.round["round"], move.task))) if move.role == "active" else ""
    step = step_text(move.steps[-1]).rstrip(":")
    return f"{reason}: {step}" if reason else step


def record_of_moves(move_list: MoveList) -> dict[str, Any]:
    """Return a list of moves as a JSON-serializable record."""
    return {
        "scenario": move_list.scenario,
        "assignor": move_list.assignor,
        "seed": move_list.seed,
        "initial_tasks": move_list.initial,
        "rounds": len(move_list.requested),
        "downtimes": [
            {"round": number, "downtime_ms": downtime.total_ms, "stayed_ms": downtime.stayed_ms}
            for number, downtime in move_list.downtimes.items()
            if not move_list.is_single_round or number == move_list.requested[0]["round"]
        ],
        "moves": [
            {
                "round": move.round["round"],
                "at_ms": move.round["at_ms"],
                "round_reason": move.round["reason"],
                "autoscaler": [decision_text(row) for row in move_list.scaled.get(move.round["round"], ())],
                "task": move.task,
                "role": move.role,
                "from_client": move.source,
                "to_client": move.target,
                "reason": move_list.why.get((move.round["round"], move.task)) if move.role == "active" else None,
                "steps": [step_text(step) for step in move.steps],
                "runs_at_ms": move.runs_at_ms,
                "downtime_ms": move.downtime_ms if move.role == "active" else None,
            }
            for move in move_list.moves
        ],
    }


def tables_of_moves(move_lists: Iterable[MoveList]) -> list[FactTable]:
    """Return the moves of all lists as one table."""
    columns = {
        "assignor": "assignor",
        "seed": "seed",
        "round": "round",
        "at_ms": "time [ms]",
        "autoscaler": "decisions of the autoscaler behind the round",
        "task": "task",
        "role": "role",
        "from_client": "from",
        "to_client": "to",
        "downtime_ms": "downtime [ms]",
        "reason": "reason",
        "steps": "steps",
    }
    rows = [
        {"assignor": move_list.assignor, "seed": move_list.seed, **move}
        for move_list in move_lists
        for move in record_of_moves(move_list)["moves"]
    ]
    return [FactTable("moves", "Moves", columns, rows)]


def draw(explanations: Sequence[Explanation], width: int | None = None, *, color: bool | None = None) -> str:
    """Draw explanations one below the other; `width` and `color` as in `reports.render.terminal.console.lines`."""
    return lines(_parts(explanations), width, color=color)


def _parts(explanations: Sequence[Explanation]) -> Iterator[RenderableType]:
    for number, explanation in enumerate(explanations):
        if number:
            yield Text()
        scenario, assignor = printable(explanation.scenario), printable(explanation.assignor)
        yield Text(f"{explanation.task} in {scenario}, {assignor}, seed {explanation.seed}", HEADER)
        if len(explanation.requested) != 1:
            yield Text(_summary(explanation))
        for move in explanation.moves:
            yield Text()
            yield from _move(move, explanation.scaled.get(move.round["round"], ()))
        if len(explanation.requested) == 1:
            for row, client, last in explanation.stays:
                yield Text()
                yield from _stay(row["round"], client, last)


def _move(move: ExplainedMove, scaled: Sequence[Mapping[str, Any]] = ()) -> Iterator[RenderableType]:
    number_text, about = round_text(move.round)
    heading = Text(f"{number_text}: {move_text(move)}", HEADER)
    heading.append(f"  ({about})", QUIET)
    yield heading
    for text in decision_texts(scaled):
        yield Padding(Text(keep_figures(text), QUIET), (0, 0, 0, 2))
    for number, step in enumerate(move.steps, start=1):
        yield _numbered(number, step_text(step))
        edges = move.cycles.get(step["cycle"], ())
        for edge in edges:
            yield _indented(edge_text(edge), 7)
        if edges:
            yield _indented(cycle_text(edges, spreads=step["kind"] == "spread"), 7)
    for text in (cost_text(move), wait_text(move)):
        if text:
            yield _indented(text, 2)


def _stay(number: int, client: str | None, last: ExplainedMove | None) -> Iterator[RenderableType]:
    if last is None:
        yield Text(f"Round {number}: not assigned yet.")
        return
    since = f"assigned in round {last.round['round']}"
    yield Text(f"Round {number}: stayed on {printable(client or 'no client')}, {since}:")
    yield from _move(last)


def _summary(explanation: Explanation) -> str:
    if not explanation.requested:
        return "No rounds: no client joined."
    moves = sum(move.role == "active" and move.source is not None for move in explanation.moves)
    times = {0: "Never moved", 1: "Moved once", 2: "Moved twice"}.get(moves, f"Moved {moves} times")
    return f"{times} in {counted(len(explanation.requested), 'round')}."


def _numbered(number: int, text: str) -> Padding:
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_row(f"{number}.", Text(text))
    return Padding(row, (0, 0, 0, 2))


def _indented(text: str, by: int) -> Padding:
    return Padding(Text(text), (0, 0, 0, by))


def record(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as a JSON-serializable record."""
    return {
        "scenario": explanation.scenario,
        "assignor": explanation.assignor,
        "seed": explanation.seed,
        "task": explanation.task,
        "moves": [
            {
                **_record_of_move(move),
                "autoscaler": [decision_text(row) for row in explanation.scaled.get(move.round["round"], ())],
            }
            for move in explanation.moves
        ],
        "stays": [
            {"round": row["round"], "client": client, "since_round": None if last is None else last.round["round"]}
            for row, client, last in explanation.stays
        ],
    }


def _record_of_move(move: ExplainedMove) -> dict[str, Any]:
    step_keys = [key for key in (move.steps[0] if move.steps else ()) if key not in _MOVE_COLUMNS]
    edge_keys = ("task", "from_client", "to_client", "traffic_from", "traffic_to", "non_overlap_cost", "cost")
    return {
        "round": move.round["round"],
        "at_ms": move.round["at_ms"],
        "round_reason": move.round["reason"],
        "role": move.role,
        "from_client": move.source,
        "to_client": move.target,
        "steps": [
            {**{key: step[key] for key in step_keys if step[key] is not None}, "words": step_text(step)}
            for step in move.steps
        ],
        "cycles": [
            {
                "cycle": number,
                "cost": edges[0]["cycle_cost"],
                "break_even": edges[0]["cycle_break_even"],
                "edges": [{key: edge[key] for key in edge_keys} for edge in edges],
            }
            for number, edges in move.cycles.items()
        ],
        "break_even": move.break_even,
        "no_break_even": move.no_break_even,
        "runs_at_ms": move.runs_at_ms,
        "downtime_ms": move.downtime_ms if move.role == "active" else None,
    }


_MOVE_COLUMNS = frozenset(
    ("scenario", "assignor", "seed", "round", "task", "role", "from_client", "to_client", "break_even", "no_break_even")
)
"""Columns of the table `reasons` that are equal for all steps of a move."""


def tables(explanations: Iterable[Explanation]) -> list[FactTable]:
    """Return the steps of all moves as one table, and the rounds in which a task stayed as another."""
    steps = {
        "assignor": "assignor",
        "seed": "seed",
        "task": "task",
        "round": "round",
        "at_ms": "time [ms]",
        "role": "role",
        "from_client": "from",
        "to_client": "to",
        "step": "step",
        "words": "what the assignor did",
        "break_even": "cost at which it would have stayed",
        "downtime_ms": "downtime [ms]",
        "autoscaler": "decisions of the autoscaler behind the round",
    }
    stays = {
        "assignor": "assignor",
        "seed": "seed",
        "task": "task",
        "round": "round",
        "client": "client",
        "since_round": "since round",
    }
    records = [record(explanation) for explanation in explanations]
    step_rows = [
        {**explained, **move, "step": number, "words": step["words"]}
        for explained in records
        for move in explained["moves"]
        for number, step in enumerate(move["steps"], start=1)
    ]
    stay_rows = [{**explained, **stay} for explained in records for stay in explained["stays"]]
    return [FactTable("steps", "Steps", steps, step_rows), FactTable("stays", "Stays", stays, stay_rows)]
