"""The moves of all tasks of a run, round by round, as text and as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.analysis.explanation import ExplainedMove, MoveList, RoundDowntime
from reports.analysis.explanation_text import move_text, step_text
from reports.analysis.formatting import format_bytes, format_clock, format_count, format_duration
from reports.analysis.runs.round_diff import move_reason_text
from reports.analysis.scaled_rounds import MAX_LISTED, decision_text, decision_texts
from reports.analysis.text import printable
from reports.analysis.triggers import trigger_text
from reports.render.terminal.console import HEADER, QUIET, grid, keep_figures, lines
from reports.render.terminal.facts import FactTable
from simulator.plurals import counted


def draw(move_lists: Sequence[MoveList], width: int | None = None, *, color: bool | None = None) -> str:
    """Draw lists of moves one below the other; `width` and `color` as in `reports.render.terminal.console.lines`."""
    return lines(_parts(move_lists), width, color=color)


def _parts(move_lists: Sequence[MoveList]) -> Iterator[RenderableType]:
    for number, move_list in enumerate(move_lists):
        if number:
            yield Text()
        yield Text(f"{printable(move_list.assignor)}, seed {move_list.seed}: {summary(move_list)}", HEADER)
        moves = {key: list(group) for key, group in groupby(move_list.moves, key=lambda move: move.round["round"])}
        for row in move_list.requested:
            if row["round"] in moves or move_list.downtimes[row["round"]].total_ms:
                yield Text()
                yield _heading(row, moves.get(row["round"], ()), move_list.downtimes[row["round"]])
                scaled = move_list.scaled.get(row["round"], ())
                most = len(scaled) if move_list.is_single_round else MAX_LISTED
                for text in decision_texts(scaled, most):
                    yield Padding(Text(keep_figures(text), QUIET), (0, 0, 0, 2))
                if row["round"] in moves:
                    yield _table(moves[row["round"]], move_list.why)


def summary(move_list: MoveList) -> str:
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


def _heading(row: Mapping[str, Any], moves: Sequence[ExplainedMove], downtime: RoundDowntime) -> Text:
    """Return number, time and reason of a round, and what it cost."""
    costs = [_downtime_text(downtime)] if downtime.total_ms else []
    if row["restored_bytes"]:
        costs.append(f"{format_bytes(row['restored_bytes'])} restored until the next round")
    text = Text(f"Round {row['round']}", HEADER)
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
    reason = move_reason_text(why.get((move.round["round"], move.task))) if move.role == "active" else ""
    step = step_text(move.steps[-1]).rstrip(":")
    return f"{reason}: {step}" if reason else step


def record(move_list: MoveList) -> dict[str, Any]:
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


def tables(move_lists: Iterable[MoveList]) -> list[FactTable]:
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
        for move in record(move_list)["moves"]
    ]
    return [FactTable("moves", "Moves", columns, rows)]
