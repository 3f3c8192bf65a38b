"""A past night: on one screen, the history of a task, as tables, and as a page with all explained moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.analysis.explanation import step_text
from reports.analysis.formatting import format_count, format_duration
from reports.analysis.incident import (
    NIGHT_COLUMNS,
    OFFSETS_NOTE,
    STATE_COLUMNS,
    IncidentMove,
    IncidentRebalance,
    IncidentReport,
    WhatIf,
    clock,
    depends_on_offsets,
    figure_text,
    known_columns,
    match_text,
    move_noun,
    night_findings,
    place_text,
    recomputation_text,
    span_text,
    summary_text,
    task_noun,
    timestamp,
)
from reports.analysis.text import name_parts, printable
from reports.render.drawing import incident_timeline
from reports.render.html.inline_figures import inline_figure
from reports.render.html.shell import Section, render_page
from reports.render.terminal.console import HEADER, QUIET, grid, keep_figures, lines
from reports.render.terminal.facts import FactTable
from simulator.plurals import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_STATIC_MOVES: Final = 1_000
"""Number of moves up to which the page lists them in its markup; more are data, which a script lists on demand."""

_MAX_TASKS: Final = 50
_CONFIGS: Final = "application.configs."
"""Beginning of the paths of configs, which are known without it."""

_RECORDED: Final = "recorded"
_NONE: Final[tuple[str, float | None]] = ("–", None)
_MAX_ROWS: Final = 18
_MAX_DIFFERENCES: Final = 3
_LABEL_WIDTH: Final = 34
_OF_TASKS: Final = ("threads", "new_standbys")
"""Columns that a consumer group does not have."""


def draw(report: IncidentReport, width: int | None = None, *, color: bool | None = None) -> str:
    """Draw a report; `width` and `color` as in `reports.render.terminal.console.lines`."""
    return lines(_parts(report), width, color=color)


def draw_task(report: IncidentReport, task: str, width: int | None = None, *, color: bool | None = None) -> str:
    """Draw the history of a task: where it was, why it moved, and each step of the assignor."""
    return lines(_task_parts(report, task), width, color=color)


def _parts(report: IncidentReport) -> Iterator[RenderableType]:
    yield Text(f"{printable(report.group)}, {span_text(report)}", HEADER)
    yield Text(keep_figures(summary_text(report)))
    findings = night_findings(report)
    if findings:
        yield _title("Findings")
        for finding in findings:
            yield _item(keep_figures(printable(finding)))
    yield _title("Rebalances")
    yield _timeline(report)
    hidden = len(report.rebalances) - len(_shown(report))
    if hidden:
        yield Text(f"The {hidden} rebalances with the fewest moves are not shown; --format csv has all.", QUIET)
    yield from _recomputation(report)
    yield from _compared(report)
    if report.remarks:
        yield _title("Known and assumed")
        for remark in report.remarks:
            yield _item(printable(remark), QUIET)


def _title(text: str) -> Text:
    return Text(f"\n{text}", HEADER)


def _item(text: str, style: str = "") -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_row(Text("-"), Text(text, style))
    return table


def _shown(report: IncidentReport) -> list[IncidentRebalance]:
    """Return all rebalances, or the first and those with the most moves if there are many."""
    if len(report.rebalances) <= _MAX_ROWS:
        return list(report.rebalances)
    ranked = sorted(report.later, key=lambda rebalance: -len(rebalance.moves))[: _MAX_ROWS - 1]
    numbers = {rebalance.number for rebalance in ranked} | {report.rebalances[0].number}
    return [rebalance for rebalance in report.rebalances if rebalance.number in numbers]


def _timeline(report: IncidentReport) -> Table:
    table = grid()
    table.padding = (0, 1)
    table.add_column(Text("gen." if report.protocol == "classic" else "epoch"), justify="right", no_wrap=True)
    table.add_column(Text("time"), no_wrap=True)
    table.add_column(Text("cause"), ratio=1)
    table.add_column(Text("moves"), justify="right", no_wrap=True)
    table.add_column(Text("recomputed"), no_wrap=True)
    for rebalance in _shown(report):
        moves = str(len(rebalance.moves)) if rebalance.moves else "–"
        cells = (str(rebalance.number), clock(rebalance.at_ms), printable(rebalance.cause_text), moves)
        table.add_row(*map(Text, cells), Text(match_text(rebalance)))
    return table


def _recomputation(report: IncidentReport) -> Iterator[RenderableType]:
    text = recomputation_text(report)
    if not text:
        return
    if depends_on_offsets(report):
        yield Text(OFFSETS_NOTE, QUIET)
    if report.matching == len(report.compared):
        yield Text(f"\n{text}")
        return
    yield Text(f"\n{text} Where it differs:")
    differing = [(rebalance, rebalance.differences) for rebalance in report.compared if rebalance.differences]
    reasons: dict[str, list[str]] = {}
    for rebalance, differences in differing:
        for difference in differences:
            reasons.setdefault(difference.reason, []).append(
                f"{difference.task}{'' if report.is_consumer_group else f' ({difference.role})'} in {rebalance.number}"
            )
    for reason, places in reasons.items():
        more = f" and {len(places) - _MAX_DIFFERENCES} more" if len(places) > _MAX_DIFFERENCES else ""
        yield _item(printable(f"{', '.join(places[:_MAX_DIFFERENCES])}{more}: {reason}."))


def _compared(report: IncidentReport) -> Iterator[RenderableType]:
    states = [what_if for what_if in report.what_ifs if what_if.basis == "states"]
    night = [what_if for what_if in report.what_ifs if what_if.basis == "night"]
    if states:
        yield _title("What others do with each recorded state (not another history)")
        yield _metric_table(states, known_columns(report, states, STATE_COLUMNS))
    if night:
        yield _title("What would have changed (simulation of the recorded joins, leaves and crashes)")
        yield _metric_table(night, known_columns(report, night, NIGHT_COLUMNS))
    for what_if in report.what_ifs:
        if what_if.problem:
            yield Text(printable(f"{what_if.label}: {what_if.problem}"))


def _metric_table(what_ifs: Sequence[WhatIf], columns: dict[str, str]) -> Table:
    table = grid()
    table.padding = (0, 1)
    table.add_column(Text(""), ratio=1, overflow="fold")
    for title in columns.values():
        table.add_column(Text(title), justify="right", no_wrap=True)
    for what_if in what_ifs:
        if not what_if.problem:
            figures = (figure_text(key, what_if.metrics.get(key)) for key in columns)
            table.add_row(Text(_label(what_if.label)), *map(Text, figures))
    return table


def _label(label: str) -> str:
    """Return a label in lines that a column of a narrow terminal holds, broken where a name has a separator."""
    shown = [""]
    for part in name_parts(printable(label.removeprefix(_CONFIGS))):
        if shown[-1] and len(shown[-1]) + len(part.rstrip()) > _LABEL_WIDTH:
            shown.append("")
        shown[-1] += part
    return "\n".join(line.rstrip() for line in shown)


def _task_parts(report: IncidentReport, task: str) -> Iterator[RenderableType]:
    yield Text(f"{task} of {printable(report.group)}, {span_text(report)}", HEADER)
    for position, rebalance in enumerate(report.rebalances):
        move = next((move for move in rebalance.moves if move.task == task), None)
        changed = position and rebalance.standbys.get(task) != report.rebalances[position - 1].standbys.get(task)
        if position and move is None and not changed:
            continue
        yield Text(f"\n{rebalance.number}  {clock(rebalance.at_ms)}  {printable(rebalance.cause_text)}", HEADER)
        yield Padding(Text(place_text(rebalance, task, move)), (0, 0, 0, 2))
        for number, step in enumerate(move.steps if move else (), start=1):
            yield Padding(Text(keep_figures(f"{number}. {step_text(step)}")), (0, 0, 0, 2))
        for difference in rebalance.differences:
            if difference.task == task:
                answer = ", ".join(map(printable, difference.recomputed)) or "no client"
                role = "" if report.is_consumer_group else f"as {difference.role} "
                text = f"recomputed differently, {role}on {answer}: {difference.reason}"
                yield Padding(Text(printable(text)), (0, 0, 0, 2))


def task_rows(report: IncidentReport, task: str | None = None) -> list[dict[str, object]]:
    """Return one row for each move of an active task, or of one task."""
    return [
        {
            "number": rebalance.number,
            "at_ms": rebalance.at_ms,
            "cause": rebalance.cause_text,
            "task": move.task,
            "from_client": move.source,
            "to_client": move.target,
            "steps": [step_text(step) for step in move.steps],
        }
        for rebalance in report.later
        for move in rebalance.moves
        if task in (None, move.task)
    ]


def tables(report: IncidentReport) -> list[FactTable]:
    """Return the rebalances, the moves, the findings and the comparisons as tables."""
    rebalances = [
        {
            "number": rebalance.number,
            "at_ms": rebalance.at_ms,
            "time": timestamp(rebalance.at_ms),
            "cause": rebalance.cause_text,
            "clients": len(rebalance.clients),
            "threads": rebalance.threads,
            "active_moves": len(rebalance.moves),
            "new_standbys": rebalance.new_standbys,
            "stable_after_ms": None
            if rebalance.stable_at_ms is None
            else max(0, rebalance.stable_at_ms - rebalance.at_ms),
            "recomputed": match_text(rebalance),
        }
        for rebalance in report.rebalances
    ]
    what_ifs = [
        {"basis": what_if.basis, "label": what_if.label, **what_if.metrics, "problem": what_if.problem or None}
        for what_if in report.what_ifs
    ]
    keys = ("basis", "label", *dict.fromkeys(key for row in what_ifs for key in row if key not in ("basis", "label")))
    if report.is_consumer_group:
        rebalances = [{key: value for key, value in row.items() if key not in _OF_TASKS} for row in rebalances]
    return [
        _table("rebalances", "Rebalances", rebalances),
        _moves_table(task_rows(report)),
        _table("findings", "Findings", [{"finding": finding} for finding in night_findings(report)]),
        FactTable("what_ifs", "What would have changed", {key: key for key in keys}, what_ifs),
        _table("remarks", "Known and assumed", [{"remark": remark} for remark in report.remarks]),
    ]


def task_tables(report: IncidentReport, task: str) -> list[FactTable]:
    """Return the moves of a task as a table."""
    return [_moves_table(task_rows(report, task))]


def _moves_table(rows: list[dict[str, object]]) -> FactTable:
    keys = ("number", "at_ms", "cause", "task", "from_client", "to_client", "steps")
    return FactTable("moves", "Moves", {key: key for key in keys}, rows)


def _table(key: str, title: str, rows: Sequence[Mapping[str, object]]) -> FactTable:
    return FactTable(key, title, {name: name for name in (rows[0] if rows else ("text",))}, rows)


def page(report: IncidentReport) -> str:
    """Render a night as one self-contained HTML file; the same report gives the same text."""
    states = [what_if for what_if in report.what_ifs if what_if.basis == "states"]
    sections = [
        Section("answer", "What happened", "incident/answer.html.j2", _answer(report), leads=True),
        _section("timeline", "Timeline", {"figure": _figure(report), "noun": task_noun(report)}, _lead(report)),
        _section("what_ifs", "What others would have done", _what_ifs(report, states)),
        _rebalances(report, states),
        _section("tasks", f"{task_noun(report).capitalize()}s", _tasks(report), _tasks_sentence(report)),
        _section("sources", "Sources and assumptions", _sources(report)),
    ]
    group = printable(report.group)
    return render_page(f"{group}: a past night", [group], "", f"{span_text(report)}.", sections)


def _section(
    id: str, title: str, content: dict[str, Any], sentence: str = "", data: dict[str, Any] | None = None
) -> Section:
    return Section(id, title, f"incident/{id}.html.j2", content, data, sentence)


def _rebalances(report: IncidentReport, states: Sequence[WhatIf]) -> Section:
    is_static = report.num_moves() <= MAX_STATIC_MOVES
    content = {
        "headers": _headers(report, states),
        "rows": [_row(report, rebalance, states) for rebalance in report.rebalances],
        "details": [_details(report, rebalance, states, is_static=is_static) for rebalance in report.rebalances],
        "is_static": is_static,
        "note": OFFSETS_NOTE if depends_on_offsets(report) else "",
        "noun": task_noun(report).capitalize(),
        "has_steps": not report.is_consumer_group,
    }
    data = None if is_static else {"incident-moves": _move_data(report)}
    return _section("rebalances", "Rebalances", content, recomputation_text(report), data)


def _answer(report: IncidentReport) -> dict[str, Any]:
    return {"summary": summary_text(report), "findings": night_findings(report)}


def _lead(report: IncidentReport) -> str:
    largest = max(report.later, key=lambda rebalance: len(rebalance.moves), default=None)
    if largest is None or not largest.moves:
        return f"No rebalance after the first moved {_moved_noun(report)}."
    return (
        f"The rebalance with the most moves is {_number_name(report)} {largest.number}, at {clock(largest.at_ms)}: "
        f"{counted(len(largest.moves), move_noun(report))}. Cause: {largest.cause_text}."
    )


def _number_name(report: IncidentReport) -> str:
    return "generation" if report.protocol == "classic" else "epoch"


def _moved_noun(report: IncidentReport) -> str:
    return "a partition" if report.is_consumer_group else "an active task"


def _figure(report: IncidentReport) -> Any:
    description = (
        f"{move_noun(report).capitalize()}s of each rebalance over time, its causes by client, and the times without "
        "a stable assignment. "
        f"{summary_text(report)} The table of rebalances holds the numbers"
    )
    return inline_figure(_draw, report, "incident-timeline", description)


def _draw(report: IncidentReport, *, narrow: bool = False) -> Figure:
    from reports.render.figures.run_figures import figure_style

    with figure_style():
        return incident_timeline.draw(report, narrow=narrow)


def _what_ifs(report: IncidentReport, states: Sequence[WhatIf]) -> dict[str, Any]:
    night = [what_if for what_if in report.what_ifs if what_if.basis == "night"]
    return {
        "night": _comparison(night, known_columns(report, night, NIGHT_COLUMNS)),
        "states": _comparison(states, known_columns(report, states, STATE_COLUMNS)),
        "inputs": "members and partitions" if report.is_consumer_group else "members, tasks and lags",
        "problems": [f"{what_if.label}: {what_if.problem}" for what_if in report.what_ifs if what_if.problem],
    }


def _comparison(what_ifs: Sequence[WhatIf], columns: dict[str, str]) -> dict[str, Any]:
    return {
        "headers": [_capitalized(title) for title in columns.values()],
        "rows": [
            (what_if.label, [(figure_text(key, what_if.metrics.get(key)), what_if.metrics.get(key)) for key in columns])
            for what_if in what_ifs
            if not what_if.problem
        ],
    }


def _capitalized(lines: str) -> str:
    title = lines.replace("\n", " ")
    return title[0].upper() + title[1:]


def _others(states: Sequence[WhatIf]) -> list[WhatIf]:
    return [what_if for what_if in states if what_if.label != _RECORDED and not what_if.problem]


def _headers(report: IncidentReport, states: Sequence[WhatIf]) -> list[str]:
    of_tasks = ("Clients", "Threads", "Active moves", "New standbys")
    counts = ("Members", "Partition moves") if report.is_consumer_group else of_tasks
    own = (_number_name(report).capitalize(), "Time", "Cause", *counts, "Stable after", "Recomputed")
    moves = f"{move_noun(report).capitalize()}s"
    return [*own, *(f"{moves} with {what_if.label.removeprefix(_CONFIGS)}" for what_if in _others(states))]


def _row(report: IncidentReport, rebalance: IncidentRebalance, states: Sequence[WhatIf]) -> dict[str, Any]:
    stable_ms = None if rebalance.stable_at_ms is None else max(0, rebalance.stable_at_ms - rebalance.at_ms)
    others = [what_if.by_rebalance.get(rebalance.number, {}).get("active_moves") for what_if in _others(states)]
    return {
        "number": rebalance.number,
        "time": clock(rebalance.at_ms),
        "at_ms": rebalance.at_ms,
        "cause": rebalance.cause_text,
        "cells": [
            *_sizes(report, rebalance),
            *_moves(report, rebalance),
            _NONE if stable_ms is None else (format_duration(stable_ms), stable_ms),
            (match_text(rebalance), None),
            *(_NONE if value is None else (format_count(value), value) for value in others),
        ],
    }


def _sizes(report: IncidentReport, rebalance: IncidentRebalance) -> list[tuple[str, float | None]]:
    clients = len(rebalance.clients)
    return _counts(clients) if report.is_consumer_group else _counts(clients, rebalance.threads)


def _moves(report: IncidentReport, rebalance: IncidentRebalance) -> list[tuple[str, float | None]]:
    values = (
        [len(rebalance.moves)] if rebalance.new_standbys is None else [len(rebalance.moves), rebalance.new_standbys]
    )
    return [_NONE] * len(values) if rebalance is report.rebalances[0] else _counts(*values)


def _counts(*values: int) -> list[tuple[str, float | None]]:
    return [(format_count(value), value) for value in values]


def _details(
    report: IncidentReport, rebalance: IncidentRebalance, states: Sequence[WhatIf], *, is_static: bool
) -> dict[str, Any]:
    moves = f", {counted(len(rebalance.moves), move_noun(report))}" if rebalance is not report.rebalances[0] else ""
    return {
        "number": rebalance.number,
        "title": f"{rebalance.number}, {clock(rebalance.at_ms)}: {rebalance.cause_text}{moves}",
        "facts": list(_facts(report, rebalance, states)),
        "moves": [(*_ends(move), [step_text(step) for step in move.steps]) for move in rebalance.moves]
        if is_static
        else [],
        "num_moves": len(rebalance.moves),
        "unexplained": 0 if report.is_consumer_group else sum(not move.steps for move in rebalance.moves),
    }


def _facts(report: IncidentReport, rebalance: IncidentRebalance, states: Sequence[WhatIf]) -> Iterator[str]:
    if rebalance.stated:
        yield f"Logged as the reason: {'; '.join(rebalance.stated)}."
    yield f"Clients: {', '.join(rebalance.clients)}."
    for what_if in _others(states):
        figures = what_if.by_rebalance.get(rebalance.number)
        if figures is not None and report.is_consumer_group:
            moved = counted(int(figures["active_moves"]), "partition")
            yield f"{what_if.label} would have moved {moved} (recorded: {len(rebalance.moves)} moves)."
        elif figures is not None:
            probing = " and requested a probing rebalance" if figures["follow_ups"] else ""
            yield (
                f"{what_if.label} would have moved {counted(int(figures['active_moves']), 'active task')}, added "
                f"{counted(int(figures['new_standbys']), 'standby')}{probing} (recorded: {len(rebalance.moves)} moves)."
            )
    if rebalance.unrecorded_offsets == "explained" and not rebalance.differences:
        yield "The answer depends on task offsets that were not recorded; it is equal with some that the records allow."
    reasons = Counter(difference.reason for difference in rebalance.differences)
    for reason, number in reasons.items():
        noun = "partition" if report.is_consumer_group else "copy"
        yield f"{counted(number, noun)} recomputed elsewhere: {reason}."


def _ends(move: IncidentMove) -> tuple[str, str, str]:
    source = "–" if move.source is None else f"{move.source} (had left)" if move.has_left else move.source
    return move.task, source, move.target


def _move_data(report: IncidentReport) -> dict[str, Any]:
    """Return the moves of all rebalances for the script: texts once, and moves as their indices."""
    texts: dict[str, int] = {}

    def index(text: str) -> int:
        return texts.setdefault(printable(text), len(texts))

    moves = {
        str(rebalance.number): [
            [*(index(text) for text in _ends(move)), [index(step_text(step)) for step in move.steps]]
            for move in rebalance.moves
        ]
        for rebalance in report.rebalances
        if rebalance.moves
    }
    heads = [task_noun(report).capitalize(), "From", "To"]
    return {
        "texts": list(texts),
        "moves": moves,
        "heads": heads if report.is_consumer_group else [*heads, "Steps of the assignor"],
    }


def _tasks(report: IncidentReport) -> dict[str, Any]:
    moved = report.moves_by_task()
    return {
        "rows": moved[:_MAX_TASKS],
        "hidden": max(0, len(moved) - _MAX_TASKS),
        "group": report.group,
        "noun": task_noun(report),
        "moves": f"{move_noun(report)}s",
    }


def _tasks_sentence(report: IncidentReport) -> str:
    moved = report.moves_by_task()
    if not moved:
        return f"No {'partition' if report.is_consumer_group else 'active task'} moved."
    return (
        f"{format_count(len(moved))} of {counted(report.num_tasks, task_noun(report))} moved; "
        f"the most moved one, {moved[0][0]}, {counted(moved[0][1], 'time')}."
    )


def _sources(report: IncidentReport) -> dict[str, Any]:
    return {
        "facts": [
            ("group", report.group),
            ("from", f"{timestamp(report.since_ms)} UTC"),
            ("to", f"{timestamp(report.until_ms)} UTC"),
            ("recomputed with", report.assignor),
            *((kind, file) for file, kind in report.read),
        ],
        "remarks": report.remarks,
    }
