"""The reports of why one task moved, and of the moves of all tasks, and their records for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

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
from reports.document import (
    Block,
    Paragraph,
    Points,
    Report,
    ReportColumn,
    ReportRow,
    ReportSection,
    ReportTable,
    records_table,
)
from simulator.plurals import counted


def moves_report(move_lists: Sequence[MoveList]) -> Report:
    """Return how many tasks each assignor moved and why, then the moves round by round; CSV has a row for each move."""
    titles = [f"{one.assignor}, seed {one.seed}: {moves_summary(one)}" for one in move_lists]
    is_single = len(move_lists) == 1
    blocks: list[Block] = []
    for title, move_list in zip(titles, move_lists, strict=True):
        blocks += [*([] if is_single else [Paragraph(title, "heading")]), Points(reasons(move_list))]
    sections = [ReportSection("reasons", "", blocks, leads=is_single)]
    for number, move_list in enumerate(move_lists, start=1):
        sections += _rounds(move_list, f"assignor-{number}", "" if is_single else f"{move_list.assignor}: ")
    keys = (
        "round",
        "at_ms",
        "autoscaler",
        "task",
        "role",
        "from_client",
        "to_client",
        "downtime_ms",
        "reason",
        "steps",
    )
    rows = [
        {"assignor": move_list.assignor, "seed": move_list.seed, **move}
        for move_list in move_lists
        for move in record_of_moves(move_list)["moves"]
    ]
    table = records_table("moves", {key: key for key in ("assignor", "seed", *keys)}, rows)
    several = f"{move_lists[0].scenario}: moves of {counted(len(move_lists), 'assignor')}" if move_lists else ""
    return Report(titles[0] if is_single else several, [*sections, ReportSection("moves", "", [table])])


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


def _rounds(move_list: MoveList, key: str, label: str) -> Iterator[ReportSection]:
    moves = {number: list(group) for number, group in groupby(move_list.moves, key=lambda move: move.round["round"])}
    for row in move_list.requested:
        number = row["round"]
        downtime = move_list.downtimes[number]
        if number in moves or downtime.total_ms:
            scaled = move_list.scaled.get(number, ())
            decisions = decision_texts(scaled, len(scaled) if move_list.is_single_round else MAX_LISTED)
            facts = Points([_costs(row, moves.get(number, ()), downtime), *decisions], "note")
            title = f"{label}Round {number}  {format_clock(row['at_ms'])}, {trigger_text(row['reason'])}"
            yield ReportSection(f"{key}-round-{number}", title, [facts, _table(moves.get(number, ()), move_list.why)])


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


def _costs(row: Mapping[str, Any], moves: Sequence[ExplainedMove], downtime: RoundDowntime) -> str:
    """Return the number of moves of a round, and what the round cost."""
    costs = [counted(len(moves), "move"), *([_downtime_text(downtime)] if downtime.total_ms else [])]
    if row["restored_bytes"]:
        costs.append(f"{format_bytes(row['restored_bytes'])} restored until the next round")
    return "; ".join(costs)


def _downtime_text(downtime: RoundDowntime) -> str:
    text = f"downtime {format_duration(downtime.total_ms)}"
    if not downtime.stayed_ms:
        return text
    return f"{text} ({format_duration(downtime.stayed_ms)} of tasks that did not move)"


def _table(moves: Sequence[ExplainedMove], why: Mapping[tuple[int, str], str]) -> ReportTable:
    """Return the moves of a round; terminals have the last step of the assignor, Markdown has all."""
    columns = [
        ReportColumn("task", "task"),
        ReportColumn("move", "move"),
        ReportColumn("downtime", "downtime", is_number=True),
        ReportColumn("why", "why", only=("terminal",)),
        ReportColumn("why", "why", only=("markdown",)),
    ]
    rows: list[ReportRow] = []
    for move in moves:
        reason = cause_of_move(move, why.get((move.round["round"], move.task))) if move.role == "active" else ""
        steps = [step_text(step).rstrip(":") for step in move.steps]
        texts = (": ".join(filter(None, (reason, text))) for text in (steps[-1], "; ".join(steps)))
        rows.append([move.task, move_text(move), format_duration(move.downtime_ms) if move.downtime_ms else "", *texts])
    return ReportTable("moves", columns, rows, only=("terminal", "markdown"))


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


def explanation_report(explanations: Sequence[Explanation]) -> Report:
    """Return why a task moved, with each step of the assignors; CSV has a row for each step."""
    records = [record(explanation) for explanation in explanations]
    move_keys = ("round", "at_ms", "role", "from_client", "to_client")
    keys = ("assignor", "seed", "task", *move_keys, "step", "words", "break_even", "downtime_ms", "autoscaler")
    steps = [
        {**explained, **move, "step": number, "words": step["words"]}
        for explained in records
        for move in explained["moves"]
        for number, step in enumerate(move["steps"], start=1)
    ]
    stays = [{**explained, **stay} for explained in records for stay in explained["stays"]]
    titles = {key: key.replace("_", " ") for key in ("assignor", "seed", "round", "client", "since_round")}
    sections = [
        ReportSection("steps", "", [records_table("steps", {key: key for key in keys}, steps)]),
        *(
            section
            for number, one in enumerate(explanations, 1)
            for section in _sections(one, number, len(explanations))
        ),
        ReportSection("stays", "Rounds without a move", [records_table("stays", titles, stays, ("markdown",))]),
    ]
    whose = [f"{explanation.assignor}, seed {explanation.seed}" for explanation in explanations]
    first = explanations[0]
    return Report(", ".join([f"{first.task} in {first.scenario}", *(whose if len(whose) == 1 else [])]), sections)


def _sections(explanation: Explanation, number: int, count: int) -> Iterator[ReportSection]:
    label = f"{explanation.assignor}: " if count > 1 else ""
    key = f"assignor-{number}"
    if len(explanation.requested) != 1:
        title = f"{explanation.assignor}, seed {explanation.seed}"
        yield ReportSection(key, title, [Paragraph(_summary(explanation))], leads=count == 1)
    for position, move in enumerate(explanation.moves):
        blocks = list(_steps(move, explanation.scaled.get(move.round["round"], ())))
        yield ReportSection(f"{key}-move-{position}", f"{label}{_move_title(move)}", blocks)
    for row, client, last in explanation.stays if len(explanation.requested) == 1 else ():
        stayed = f"{label}Round {row['round']}"
        if last is None:
            yield ReportSection(f"{key}-stay", stayed, [Paragraph("Not assigned yet.")])
        else:
            title = f"{stayed}: stayed on {client or 'no client'}, assigned in round {last.round['round']}:"
            yield ReportSection(f"{key}-stay", title, [Paragraph(_move_title(last)), *_steps(last)])


def _move_title(move: ExplainedMove) -> str:
    number, about = round_text(move.round)
    return f"{number}: {move_text(move)}  ({about})"


def _steps(move: ExplainedMove, scaled: Sequence[Mapping[str, Any]] = ()) -> Iterator[Block]:
    """Yield the steps that led to a move, with the other moves of its cycles, and what came of it."""
    yield Points(decision_texts(scaled), "note")
    steps = []
    for step in move.steps:
        edges = move.cycles.get(step["cycle"], ())
        total = [cycle_text(edges, spreads=step["kind"] == "spread")] if edges else []
        steps.append((step_text(step), *map(edge_text, edges), *total))
    yield Points(steps, is_numbered=True)
    yield Paragraph(" ".join(filter(None, (cost_text(move), wait_text(move)))))


def _summary(explanation: Explanation) -> str:
    if not explanation.requested:
        return "No rounds: no client joined."
    moves = sum(move.role == "active" and move.source is not None for move in explanation.moves)
    times = {0: "Never moved", 1: "Moved once", 2: "Moved twice"}.get(moves, f"Moved {moves} times")
    return f"{times} in {counted(len(explanation.requested), 'round')}."


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
