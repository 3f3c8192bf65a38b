"""The report of a past night, and the history of one of its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reports.analysis.cells import Cell
from reports.analysis.explanation import step_text
from reports.analysis.formatting import format_count, format_duration
from reports.analysis.incident import (
    NIGHT_COLUMNS,
    OFFSETS_NOTE,
    STATE_COLUMNS,
    IncidentDifference,
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
from reports.document import (
    Block,
    Chart,
    Facts,
    FoldedBlocks,
    Paragraph,
    Points,
    Report,
    ReportColumn,
    ReportFormat,
    ReportRow,
    ReportSection,
    ReportTable,
    records_table,
)
from reports.render.drawing import incident_timeline
from simulator.plurals import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_TASKS: Final = 50
_CONFIGS: Final = "application.configs."
"""Beginning of the paths of configs, which are known without it."""

_RECORDED: Final = "recorded"
_NONE: Final = Cell("–")
_MAX_ROWS: Final = 18
"""Maximum number of rebalances in terminals."""

_MAX_DIFFERENCES: Final = 3
_DOCUMENTS: Final[tuple[ReportFormat, ...]] = ("markdown", "page")
_TERMINAL: Final[tuple[ReportFormat, ...]] = ("terminal",)
_PAGE: Final[tuple[ReportFormat, ...]] = ("page",)


def incident_report(report: IncidentReport) -> Report:
    """Return the report of a night; CSV has its rebalances."""
    states = [what_if for what_if in report.what_ifs if what_if.basis == "states"]
    span, summary = f"{span_text(report)}.", summary_text(report)
    answer: list[Block] = [
        Paragraph(f"{span} {summary}", only=("terminal", "markdown")),
        Paragraph(summary, "conclusion", only=_PAGE),
        Points(night_findings(report)),
        _records(report),
    ]
    sections = [
        ReportSection("answer", "What happened", answer, leads=True),
        ReportSection("timeline", "Timeline", list(_timeline(report)), _lead(report)),
        ReportSection("what_ifs", "What others would have done", list(_what_ifs(report, states))),
        ReportSection("rebalances", "Rebalances", list(_rebalances(report, states)), recomputation_text(report)),
        ReportSection("tasks", f"{task_noun(report).capitalize()}s", list(_tasks(report))),
        ReportSection("sources", "Sources and assumptions", list(_sources(report))),
    ]
    return Report(f"{report.group}: a past night", sections, subtitle=span)


def _records(report: IncidentReport) -> ReportTable:
    records = [
        {
            "number": rebalance.number,
            "at_ms": rebalance.at_ms,
            "time": timestamp(rebalance.at_ms),
            "cause": rebalance.cause_text,
            "clients": len(rebalance.clients),
            "threads": rebalance.threads,
            "active_moves": len(rebalance.moves),
            "new_standbys": rebalance.new_standbys,
            "stable_after_ms": _stable_after_ms(rebalance),
            "recomputed": match_text(rebalance),
        }
        for rebalance in report.rebalances
    ]
    of_tasks = ("threads", "new_standbys") if report.is_consumer_group else ()
    return records_table("rebalances", {key: key for key in records[0] if key not in of_tasks}, records)


def _stable_after_ms(rebalance: IncidentRebalance) -> int | None:
    return None if rebalance.stable_at_ms is None else max(0, rebalance.stable_at_ms - rebalance.at_ms)


def _timeline(report: IncidentReport) -> Iterator[Block]:
    yield Paragraph(
        "One bar per rebalance; below it, what caused the rebalance. Follow-ups assign "
        f"{task_noun(report)}s that had to be revoked first.",
        "note",
        only=_PAGE,
    )
    description = (
        f"{move_noun(report).capitalize()}s of each rebalance over time, its causes by client, and the times without "
        f"a stable assignment. {summary_text(report)} The table of rebalances holds the numbers"
    )
    yield Chart("incident-timeline", description, _draw, report)


def _draw(report: IncidentReport, *, narrow: bool = False) -> Figure:
    from reports.render.figures.run_figures import figure_style

    with figure_style():
        return incident_timeline.draw(report, narrow=narrow)


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


def _what_ifs(report: IncidentReport, states: Sequence[WhatIf]) -> Iterator[Block]:
    night = [what_if for what_if in report.what_ifs if what_if.basis == "night"]
    if night:
        yield Paragraph("The night, simulated", "heading", only=() if states else _DOCUMENTS)
        yield Paragraph(
            "A simulation of the recorded joins, leaves and crashes. Compare a change with “simulated, unchanged”, and "
            "that row with “recorded” to see how far the simulation can be trusted.",
            "note",
        )
        columns = known_columns(report, night, NIGHT_COLUMNS)
        yield _comparison("night", "What would have changed", night, columns)
    if states:
        inputs = "members and partitions" if report.is_consumer_group else "members, tasks and lags"
        yield Paragraph("Each recorded state by itself", "heading")
        yield Paragraph(
            f"What others return for the {inputs} of each rebalance. Not another history: after a different "
            "assignment, the next state would have been different, too.",
            "note",
        )
        columns = known_columns(report, states, STATE_COLUMNS)
        yield _comparison("states", "What others do with each recorded state", states, columns)
    else:
        options = "Options --assignor and --set of assignor-sim incident name others to compare for each rebalance."
        yield Paragraph(options, "note", only=_DOCUMENTS)
    yield Points([f"{what_if.label}: {what_if.problem}" for what_if in report.what_ifs if what_if.problem])


def _comparison(key: str, title: str, what_ifs: Sequence[WhatIf], columns: Mapping[str, str]) -> ReportTable:
    rows: list[ReportRow] = []
    for what_if in what_ifs:
        if not what_if.problem:
            values = {name: what_if.metrics.get(name) for name in columns}
            figures = [Cell(figure_text(name, value), value=value) for name, value in values.items()]
            rows.append([what_if.label.removeprefix(_CONFIGS), *figures])
    heads = [
        ReportColumn(name, _capitalized(header.replace("\n", " ")), is_number=True, header=_capitalized(header))
        for name, header in columns.items()
    ]
    return ReportTable(key, [ReportColumn("setting", "Setting"), *heads], rows, title=title)


def _capitalized(title: str) -> str:
    return title[0].upper() + title[1:]


def _others(states: Sequence[WhatIf]) -> list[WhatIf]:
    return [what_if for what_if in states if what_if.label != _RECORDED and not what_if.problem]


def _rebalances(report: IncidentReport, states: Sequence[WhatIf]) -> Iterator[Block]:
    yield _table(report, states, _shown(report), _TERMINAL)
    if hidden := len(report.rebalances) - len(_shown(report)):
        text = f"The {hidden} rebalances with the fewest moves are not shown; --format csv has all."
        yield Paragraph(text, "note", only=_TERMINAL)
    yield _table(report, states, report.rebalances, _DOCUMENTS)
    if depends_on_offsets(report):
        yield Paragraph(OFFSETS_NOTE, "note")
    yield from _recomputation(report)
    stable = "Stable after: time until all members had their assignment; –: another rebalance came first, or unknown."
    yield Paragraph(stable, "note", only=_DOCUMENTS)
    yield Paragraph("Moves of each rebalance", "heading", only=_DOCUMENTS)
    yield from (_details(report, rebalance, states) for rebalance in report.rebalances)


def _shown(report: IncidentReport) -> list[IncidentRebalance]:
    """Return all rebalances, or the first and those with the most moves if there are many."""
    if len(report.rebalances) <= _MAX_ROWS:
        return list(report.rebalances)
    ranked = sorted(report.later, key=lambda rebalance: -len(rebalance.moves))[: _MAX_ROWS - 1]
    numbers = {rebalance.number for rebalance in ranked} | {report.rebalances[0].number}
    return [rebalance for rebalance in report.rebalances if rebalance.number in numbers]


def _table(
    report: IncidentReport,
    states: Sequence[WhatIf],
    rebalances: Sequence[IncidentRebalance],
    only: tuple[ReportFormat, ...],
) -> ReportTable:
    """Return a row for each rebalance; terminals have some of the columns."""
    of_tasks, new_standbys = ((), ()) if report.is_consumer_group else (("Threads",), ("New standbys",))
    clients, moves = ("Members" if report.is_consumer_group else "Clients"), f"{_capitalized(move_noun(report))}s"
    name = _number_name(report)
    columns = [
        ReportColumn("number", name.capitalize(), is_number=True, header="Gen." if name == "generation" else ""),
        ReportColumn("time", "Time"),
        ReportColumn("cause", "Cause"),
        *(ReportColumn(title, title, is_number=True, only=_DOCUMENTS) for title in (clients, *of_tasks)),
        ReportColumn("moves", moves, is_number=True, header="Moves"),
        *(ReportColumn(title, title, is_number=True, only=_DOCUMENTS) for title in (*new_standbys, "Stable after")),
        ReportColumn("recomputed", "Recomputed"),
        *(
            ReportColumn(label, f"{moves} with {label}", is_number=True, only=_DOCUMENTS)
            for label in (what_if.label.removeprefix(_CONFIGS) for what_if in _others(states))
        ),
    ]
    rows = [_row(report, rebalance, states) for rebalance in rebalances]
    return ReportTable("rebalances", columns, rows, is_sortable=True, title="All rebalances", only=only)


def _row(report: IncidentReport, rebalance: IncidentRebalance, states: Sequence[WhatIf]) -> ReportRow:
    stable_ms, is_first = _stable_after_ms(rebalance), rebalance is report.rebalances[0]
    changes = [len(rebalance.moves), *([] if report.is_consumer_group else [rebalance.new_standbys or 0])]
    others = [what_if.by_rebalance.get(rebalance.number, {}).get("active_moves") for what_if in _others(states)]
    return [
        Cell(str(rebalance.number), link=f"rebalance-{rebalance.number}"),
        Cell(clock(rebalance.at_ms), value=rebalance.at_ms),
        rebalance.cause_text,
        *map(_count, (len(rebalance.clients), *(() if report.is_consumer_group else (rebalance.threads,)))),
        *(_NONE if is_first else _count(change) for change in changes),
        _NONE if stable_ms is None else Cell(format_duration(stable_ms), value=stable_ms),
        match_text(rebalance),
        *map(_count, others),
    ]


def _count(value: float | None) -> Cell:
    return _NONE if value is None else Cell(format_count(value), value=value)


def _recomputation(report: IncidentReport) -> Iterator[Block]:
    """Yield how many assignments the assignor returns, and what it places elsewhere."""
    if text := recomputation_text(report):
        differs = report.matching < len(report.compared)
        yield Paragraph(f"{text} Where it differs:" if differs else text, only=("terminal", "markdown"))
    places: dict[str, list[str]] = {}
    for rebalance in report.compared:
        for found in rebalance.differences:
            role = "" if report.is_consumer_group else f" ({found.role})"
            places.setdefault(found.reason, []).append(f"{found.task}{role} in {rebalance.number}")
    texts = []
    for reason, found_in in places.items():
        more = f" and {len(found_in) - _MAX_DIFFERENCES} more" if len(found_in) > _MAX_DIFFERENCES else ""
        texts.append(f"{', '.join(found_in[:_MAX_DIFFERENCES])}{more}: {reason}.")
    yield Points(texts, only=("terminal", "markdown"))


def _details(report: IncidentReport, rebalance: IncidentRebalance, states: Sequence[WhatIf]) -> FoldedBlocks:
    number, is_first = rebalance.number, rebalance is report.rebalances[0]
    moves = "" if is_first else f", {counted(len(rebalance.moves), move_noun(report))}"
    blocks: list[Block] = [Points(list(_facts(report, rebalance, states)))]
    if unexplained := 0 if report.is_consumer_group else sum(not move.steps for move in rebalance.moves):
        those = f"{counted(unexplained, 'move')} {'is' if unexplained == 1 else 'are'}"
        unknown = f"The steps of {those} unknown, because the recomputed assignment differs."
        blocks.append(Paragraph(unknown, "note"))
    if rebalance.moves:
        heads = [task_noun(report).capitalize(), "From", "To", "Steps of the assignor"]
        rows = [_move(move) for move in rebalance.moves]
        if report.is_consumer_group:
            heads, rows = heads[:3], [row[:3] for row in rows]
        columns = [ReportColumn(head, head) for head in heads]
        blocks.append(ReportTable(f"moves-{number}", columns, rows, title=f"Moves of rebalance {number}"))
    title = f"{number}, {clock(rebalance.at_ms)}: {rebalance.cause_text}{moves}"
    return FoldedBlocks(title, blocks, f"rebalance-{number}", only=_DOCUMENTS)


def _move(move: IncidentMove) -> list[str]:
    source = "–" if move.source is None else f"{move.source} (had left)" if move.has_left else move.source
    return [move.task, source, move.target, "; ".join(map(step_text, move.steps)) or "–"]


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


def _tasks(report: IncidentReport) -> Iterator[Block]:
    moved, noun, moves = report.moves_by_task(), task_noun(report), f"{_capitalized(move_noun(report))}s"
    if not moved:
        yield Paragraph(f"No {'partition' if report.is_consumer_group else 'active task'} moved.", only=_DOCUMENTS)
        return
    yield Paragraph(
        f"{format_count(len(moved))} of {counted(report.num_tasks, noun)} moved; the most moved one, {moved[0][0]}, "
        f"{counted(moved[0][1], 'time')}.",
        only=_DOCUMENTS,
    )
    hidden = max(0, len(moved) - _MAX_TASKS)
    which = f"the {_MAX_TASKS} {noun}s that moved most" if hidden else f"every {noun} that moved"
    columns = [ReportColumn("task", noun.capitalize()), ReportColumn("moves", moves, is_number=True)]
    rows: list[ReportRow] = [[task, _count(number)] for task, number in moved[:_MAX_TASKS]]
    table = ReportTable(f"{noun}s", columns, rows, is_sortable=True, title=f"Moves of each {noun}")
    yield FoldedBlocks(f"{moves} of {which}", [table], only=_DOCUMENTS)
    if hidden:
        yield Paragraph(f"{hidden} more {noun}s moved; --format json has all.", "note", only=_DOCUMENTS)
    history = f"The history of one {noun}: assignor-sim incident --task {moved[0][0]} …"
    yield Paragraph(history, "note", only=_DOCUMENTS)


def _sources(report: IncidentReport) -> Iterator[Block]:
    facts = [
        ("group", report.group),
        ("from", f"{timestamp(report.since_ms)} UTC"),
        ("to", f"{timestamp(report.until_ms)} UTC"),
        ("recomputed with", report.assignor),
        *((kind, file) for file, kind in report.read),
    ]
    yield Facts(facts, only=_DOCUMENTS)
    yield Points(report.remarks)


def task_report(report: IncidentReport, task: str) -> Report:
    """Return the history of a task: where it was, why it moved, and each step of the assignor; CSV has its moves."""
    sections = []
    for position, rebalance in enumerate(report.rebalances):
        move = next((move for move in rebalance.moves if move.task == task), None)
        changed = position and rebalance.standbys.get(task) != report.rebalances[position - 1].standbys.get(task)
        if position and move is None and not changed:
            continue
        blocks: list[Block] = [
            Paragraph(place_text(rebalance, task, move)),
            Points([step_text(step) for step in move.steps] if move else [], is_numbered=True),
            Points([_difference(report, found) for found in rebalance.differences if found.task == task]),
        ]
        title = f"{rebalance.number}  {clock(rebalance.at_ms)}  {rebalance.cause_text}"
        sections.append(ReportSection(f"rebalance-{rebalance.number}", title, blocks))
    keys = ("number", "at_ms", "cause", "task", "from_client", "to_client", "steps")
    moves = records_table("moves", {key: key for key in keys}, task_rows(report, task))
    sections.append(ReportSection("moves", "", [moves]))
    return Report(f"{task} of {report.group}, {span_text(report)}", sections)


def _difference(report: IncidentReport, difference: IncidentDifference) -> str:
    answer = ", ".join(difference.recomputed) or "no client"
    role = "" if report.is_consumer_group else f"as {difference.role} "
    return f"recomputed differently, {role}on {answer}: {difference.reason}"


def task_rows(report: IncidentReport, task: str) -> list[dict[str, Any]]:
    """Return one row for each move of a task."""
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
        if move.task == task
    ]
