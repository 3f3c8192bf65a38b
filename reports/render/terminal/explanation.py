"""Explanations of task moves as text and as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.analysis.explanation import ExplainedMove, Explanation
from reports.analysis.explanation_text import (
    cost_text,
    cycle_text,
    edge_text,
    move_text,
    round_text,
    step_text,
    wait_text,
)
from reports.analysis.scaled_rounds import decision_text, decision_texts
from reports.analysis.text import printable
from reports.render.terminal.console import HEADER, QUIET, keep_figures, lines
from reports.render.terminal.facts import FactTable
from simulator.plurals import counted


def draw(explanations: Sequence[Explanation], width: int | None = None, *, color: bool | None = None) -> str:
    """Draw explanations one below the other; `width` and `color` as in `reports.render.terminal.console.lines`."""
    return lines(_parts(explanations), width, color=color)


def _parts(explanations: Sequence[Explanation]) -> Iterator[RenderableType]:
    for number, explanation in enumerate(explanations):
        if number:
            yield Text()
        scenario, assignor = printable(explanation.scenario), printable(explanation.assignor)
        yield Text(f"{explanation.task} in {scenario}, {assignor}, seed {explanation.seed}", HEADER)
        for move in explanation.moves:
            yield Text()
            yield from _move(move, explanation.scaled.get(move.round["round"], ()))
        if len(explanation.requested) == 1:
            for row, client, last in explanation.stays:
                yield Text()
                yield from _stay(row["round"], client, last)
        else:
            yield Text()
            yield Text(_summary(explanation))


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
            yield _indented(cycle_text(edges), 7)
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
