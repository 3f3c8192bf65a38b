"""Plans of replica assignors: their comparison with its conclusion in every format, and the changes of one plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from reports.analysis.cells import Cell
from reports.analysis.formatting import format_bytes, format_count
from reports.analysis.plans.conclusion import COLUMNS, PlanColumn, conclude_plans
from reports.analysis.plans.results import (
    TODAY,
    BrokerChange,
    PartitionChange,
    PlanResults,
    PlanRow,
    records,
    remarks,
    status_words,
)
from reports.analysis.text import printable
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
from reports.render.report_formats import report_csv, report_markdown, report_text
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, lines, terminal_width, wrapped_name
from simulator.plurals import counted

FORMATS: Final = ("text", "json", "csv", "markdown")
"""Formats of `render`."""

_NAME_WIDTH: Final = 14
_GAP: Final = 3
_LEGEND: Final = (
    "max−min: over brokers. Broker failure, rack failure: leaders max−min if the worst one fails. (…): not an "
    "objective of this strategy."
)


def render(results: PlanResults, format: str = "text", *, width: int | None = None, color: bool | None = None) -> str:
    """Render plans as text that ends with a newline.

    `format`: one of `FORMATS`; `json` and `csv` have all figures in full precision, `markdown` those of the text.
    `width`: columns of the terminal; detected by default. Raises ValueError if the format is unknown.
    """
    match format:
        case "text":
            text = report_text(plan_report(results, terminal_width(width)), width, color=color)
            command = "\n".join(map(printable, conclude_plans(results).command))
            return f"{text}\nExecute it, then elect the leaders of election.json:\n{command}\n" if command else text
        case "json":
            about = {**results.manifest, "plans": records(results.rows)}
            return json.dumps(about, indent=2, ensure_ascii=False) + "\n"
        case "csv":
            return report_csv(plan_report(results))
        case "markdown":
            return report_markdown(plan_report(results))
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


def plan_report(results: PlanResults, width: int | None = None) -> Report:
    """Return the comparison of plans: one row per figure, one column per plan, then remarks and the conclusion.

    `width`: columns of the terminal; plans that do not fit are in a further table. One table by default.
    """
    rows = [row for row in results.rows if row.has_plan]
    requested = results.manifest["asked"]
    figures = records(results.rows)
    blocks: list[Block] = [
        records_table("plans", {key: key for key in figures[0]}, figures),
        Paragraph(f"Requested: {requested}." if requested else ""),
        *_tables(rows, width),
        Paragraph(_LEGEND if any(row.strategy != TODAY for row in rows) else "", "note"),
    ]
    notes = [f"{row.strategy}: {remark}" for row in results.rows for remark in remarks(row)]
    conclusion = conclude_plans(results)
    sections = [
        ReportSection("comparison", "", blocks, leads=True),
        ReportSection("remarks", "", [Points(notes)]),
        ReportSection("conclusion", "Conclusion", [Points([*conclusion.sentences, *conclusion.findings])]),
    ]
    return Report(results.title, sections)


def _tables(rows: Sequence[PlanRow], width: int | None) -> Iterator[ReportTable]:
    figures = list(_figures(rows))
    title_width = max(cell_len(title) for title, _ in figures)
    headers = [wrapped_name(row.strategy, _NAME_WIDTH) for row in rows]
    widths = [
        _GAP + max(map(cell_len, (*header.split("\n"), *(cells[number].text for _, cells in figures))))
        for number, header in enumerate(headers)
    ]
    part: list[int] = []
    for number in range(len(rows)):
        if part and width is not None and title_width + sum(widths[index] for index in (*part, number)) > width:
            yield _table(rows, headers, figures, part)
            part = []
        part.append(number)
    yield _table(rows, headers, figures, part)


def _table(
    rows: Sequence[PlanRow],
    headers: Sequence[str],
    figures: Sequence[tuple[str, Sequence[Cell]]],
    part: Sequence[int],
) -> ReportTable:
    names = [ReportColumn("plan", rows[n].strategy, is_number=True, header=headers[n]) for n in part]
    lines: list[ReportRow] = [[title, *(cells[n] for n in part)] for title, cells in figures]
    return ReportTable("plans", [ReportColumn("figure", ""), *names], lines)


def _figures(rows: Sequence[PlanRow]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the title and the cells of the plans, line by line; lines without any figure are left out."""
    yield "status", [Cell(status_words(row.status)) for row in rows]
    for column in COLUMNS:
        pairs = [column.cell(row) for row in rows]
        if any(figure for figure, _ in pairs):
            yield column.header, [_cell(row, column, figure) for row, (figure, _) in zip(rows, pairs, strict=True)]
        if any(note for _, note in pairs):
            yield f"  {column.below}", [Cell(note) for _, note in pairs]


def _cell(row: PlanRow, column: PlanColumn, figure: str) -> Cell:
    """Return a figure, in brackets if it is not an objective of the strategy."""
    is_aim = not figure or row.strategy == TODAY or column.criterion in row.aims
    is_bad = column.criterion == "constraints" and figure not in ("", "0")
    return Cell(figure if is_aim else f"({figure})", emphasis="bad" if is_bad else "")


def draw_changes(
    strategy: str,
    changes: Sequence[PartitionChange],
    brokers: Sequence[BrokerChange],
    max_changes: int | None = None,
    *,
    width: int | None = None,
    color: bool | None = None,
) -> str:
    """Draw the changes of a plan.

    `brokers`: the brokers before and after. `max_changes`: maximum number of partitions to list; by default all.
    Returns the text, which ends with a newline.
    """
    return lines(_change_parts(strategy, changes, brokers, max_changes, terminal_width(width)), width, color=color)


def _change_parts(
    strategy: str,
    changes: Sequence[PartitionChange],
    brokers: Sequence[BrokerChange],
    max_changes: int | None,
    width: int,
) -> Iterator[RenderableType]:
    yield Text(f"Changes by {printable(strategy)}: {changes_summary(changes)}", HEADER)
    yield Text()
    yield _brokers(brokers)
    if changes:
        yield Text()
    listed = changes[:max_changes]
    for change in listed:
        yield _line(change, width)
    if len(listed) < len(changes):
        hidden = format_count(len(changes) - len(listed))
        yield Text(f"… {hidden} more (all: --changes {len(changes)}, or --out DIR)", QUIET)


def changes_summary(changes: Sequence[PartitionChange]) -> str:
    """Return the number of changes, for example `3 partitions; 2 replicas to copy (1.5 GB), 1 new leader.`"""
    if not changes:
        return "none."
    copies = sum(change.num_copies for change in changes)
    sizes = [change.copied_bytes for change in changes if change.copied_bytes is not None]
    total = f" ({format_bytes(sum(sizes))})" if copies and len(sizes) == len(changes) else ""
    elections = sum(change.leader != change.new_leader for change in changes)
    parts = (
        f"{counted(len(changes), 'partition')}; {counted(copies, 'replica')} to copy{total}",
        counted(elections, "new leader"),
    )
    return f"{', '.join(parts)}."


def _line(change: PartitionChange, width: int) -> Text:
    """Return a partition, as in `orders-3: [1,2,3] → [1,2,10]  leader 3 → 1, copy 1.2 GB`.

    If that is wider than the terminal, what follows the replicas has a line of its own.
    """
    text = Text(overflow="fold")
    text.append(f"{printable(change.topic)}-{change.partition}: ")
    _append_replicas(text, change.before, frozenset(change.after), BAD)
    if change.before != change.after:
        text.append(" → ")
        _append_replicas(text, change.after, frozenset(change.before), GOOD)
    notes = []
    if change.leader != change.new_leader:
        notes.append(f"leader {'none' if change.leader is None else change.leader} → {change.new_leader}")
    if change.num_copies and change.copied_bytes is not None:
        notes.append(f"copy {format_bytes(change.copied_bytes)}")
    note = "  " + ", ".join(notes)
    if text.cell_len + len(note) > width:
        text.append("\n  ")
    return text.append(note if notes else "", QUIET)


def _append_replicas(text: Text, brokers: Sequence[int], others: frozenset[int], style: str) -> None:
    """Append broker ids; those that are not on the other side have a style."""
    first = len(text) + 1
    text.append(f"[{','.join(map(str, brokers))}]")
    for broker in brokers:
        last = first + len(str(broker))
        if broker not in others:
            text.stylize(style, first, last)
        first = last + 1


def _brokers(brokers: Sequence[BrokerChange]) -> RenderableType:
    """Return a table of the brokers before and after; the unchanged figures are written once."""
    has_sizes = any(broker.bytes is not None for broker in brokers)
    table = grid()
    table.padding = (0, 2, 0, 0)
    table.add_column(Text("broker"), justify="right")
    table.add_column(Text("rack"))
    for title in ("replicas", "preferred leaders", *(["bytes"] if has_sizes else [])):
        table.add_column(Text(title), justify="right")
    for broker in brokers:
        cells = [Text(str(broker.broker)), Text("–" if broker.rack is None else printable(broker.rack))]
        cells += [Text(_from_to(*map(format_count, pair))) for pair in (broker.replicas, broker.leaders)]
        if has_sizes:
            cells.append(Text("" if broker.bytes is None else _from_to(*map(format_bytes, broker.bytes))))
        table.add_row(*cells)
    return table


def _from_to(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"
