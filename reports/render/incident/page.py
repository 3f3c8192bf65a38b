"""A past night as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from reports.analysis.explanation import step_text
from reports.analysis.formatting import format_count, format_duration
from reports.analysis.incident.report import (
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
    find,
    known_columns,
    match_text,
    move_noun,
    recomputation_text,
    span_text,
    summary_text,
    task_noun,
    timestamp,
)
from reports.analysis.text import printable
from reports.render.drawing import incident_timeline
from reports.render.html.inline_figures import inline_figure
from reports.render.html.shell import Section, render_page
from simulator.plurals import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_STATIC_MOVES: Final = 1_000
"""Number of moves up to which the page lists them in its markup; more are data, which a script lists on demand."""

_MAX_TASKS: Final = 50
_CONFIGS: Final = "application.configs."
_RECORDED: Final = "recorded"
_NONE: Final[tuple[str, float | None]] = ("–", None)


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
    return {"summary": summary_text(report), "findings": find(report)}


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
        "night": _table(night, known_columns(report, night, NIGHT_COLUMNS)),
        "states": _table(states, known_columns(report, states, STATE_COLUMNS)),
        "inputs": "members and partitions" if report.is_consumer_group else "members, tasks and lags",
        "problems": [f"{what_if.label}: {what_if.problem}" for what_if in report.what_ifs if what_if.problem],
    }


def _table(what_ifs: Sequence[WhatIf], columns: dict[str, str]) -> dict[str, Any]:
    return {
        "headers": [_title(title) for title in columns.values()],
        "rows": [
            (what_if.label, [(figure_text(key, what_if.metrics.get(key)), what_if.metrics.get(key)) for key in columns])
            for what_if in what_ifs
            if not what_if.problem
        ],
    }


def _title(lines: str) -> str:
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
