"""The report on a past night on one screen, the history of a task, and tables for other formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.analysis.explanation import step_text
from reports.analysis.incident.report import (
    NIGHT_COLUMNS,
    OFFSETS_NOTE,
    STATE_COLUMNS,
    IncidentRebalance,
    IncidentReport,
    WhatIf,
    clock,
    depends_on_offsets,
    figure_text,
    find,
    known_columns,
    match_text,
    place_text,
    recomputation_text,
    span_text,
    summary_text,
    timestamp,
)
from reports.analysis.text import name_parts, printable
from reports.render.terminal.console import HEADER, QUIET, grid, keep_figures, lines
from reports.render.terminal.facts import FactTable

_MAX_ROWS: Final = 18
_MAX_DIFFERENCES: Final = 3
_LABEL_WIDTH: Final = 34
_OF_TASKS: Final = ("threads", "new_standbys")
"""Columns that a consumer group does not have."""
_CONFIGS: Final = "application.configs."
"""Beginning of the paths of configs, which are known without it."""


def draw(report: IncidentReport, width: int | None = None, *, color: bool | None = None) -> str:
    """Draw a report; `width` and `color` as in `reports.render.terminal.console.lines`."""
    return lines(_parts(report), width, color=color)


def draw_task(report: IncidentReport, task: str, width: int | None = None, *, color: bool | None = None) -> str:
    """Draw the history of a task: where it was, why it moved, and each step of the assignor."""
    return lines(_task_parts(report, task), width, color=color)


def _parts(report: IncidentReport) -> Iterator[RenderableType]:
    yield Text(f"{printable(report.group)}, {span_text(report)}", HEADER)
    yield Text(keep_figures(summary_text(report)))
    findings = find(report)
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
    yield from _what_ifs(report)
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


def _what_ifs(report: IncidentReport) -> Iterator[RenderableType]:
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
        _table("findings", "Findings", [{"finding": finding} for finding in find(report)]),
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
