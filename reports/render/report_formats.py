"""Reports in every format: text for terminals, Markdown for documents, CSV for scripts, and pages."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.cells import Cell
from reports.analysis.text import printable
from reports.document import (
    Block,
    CodeLines,
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
)
from reports.render.html.shell import Section, render_page
from reports.render.markdown import markdown_table, markdown_text
from reports.render.terminal.conclusion import point
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, keep_figures, lines, terminal_width
from simulator.results.files import csv_cell

_STYLES: Final = {"": "", "conclusion": "", "heading": HEADER, "note": QUIET, "good": GOOD, "bad": BAD}
_DIFF_STYLES: Final = {"+": GOOD, "-": BAD}

_Cells = list[Cell]


def report_text(report: Report, width: int | None = None, *, color: bool | None = None) -> str:
    """Return a report as text for terminals that ends with a newline; `width` and `color` are detected by default."""
    columns = terminal_width(width)
    if report.max_width is not None:
        columns = min(columns, report.max_width)
    return lines(_text_parts(report), columns, color=color)


def _text_parts(report: Report) -> Iterator[RenderableType]:
    yield Text(printable(report.title), style=HEADER)
    for section, blocks in _sections(report, "terminal"):
        if not section.leads:
            yield Text()
            if section.title and section.has_heading:
                yield Text(printable(section.title), style=HEADER)
                if isinstance(blocks[0], ReportTable):
                    yield Text()
        for number, block in enumerate(blocks):
            if number:
                yield Text()
            yield from _text_of(block, "" if section.has_heading else section.title)


def _text_of(block: Block, first_title: str) -> Iterator[RenderableType]:
    match block:
        case Paragraph():
            style = _STYLES[block.emphasis]
            lead = (keep_figures(printable(block.lead)), style)
            text = (keep_figures(printable(block.text)), "" if block.lead else style)
            yield Text.assemble(*(part for part in (lead, text) if part[0]))
        case Points():
            yield from (point(text, _STYLES[block.emphasis]) for text in block.texts)
        case Facts():
            yield from (Text(keep_figures(f"{term}: {printable(text)}")) for term, text in block.items)
        case ReportTable():
            yield _grid_of(block, first_title)
        case CodeLines():
            for line in block.lines:
                style = _DIFF_STYLES.get(line[:1], QUIET) if block.language == "diff" else ""
                yield Text(printable(line), style=style, no_wrap=True, overflow="ignore")
        case FoldedBlocks():
            yield Text(printable(block.summary), style=HEADER)
            for folded in block.blocks:
                yield from _text_of(folded, "")


def _grid_of(table: ReportTable, first_title: str) -> Table:
    drawn = grid()
    drawn.padding = (0, 2, 0, 0)
    columns, rows, total = _content(table, "terminal")
    if table.is_grouped:
        columns, rows = [columns[0], *columns[2:]], list(_grouped(rows))
    for number, column in enumerate(columns):
        title = first_title if first_title and not number else column.header or column.title
        is_number = column.is_number
        drawn.add_column(Text(title), justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(printable(cell.text), style=_STYLES[cell.emphasis]) for cell in row))
    if total:
        name, *others = total
        cells = (Text(printable(cell.text), style=_STYLES[cell.emphasis]) for cell in others)
        drawn.add_row(Text(name.text, style=HEADER), *cells)
    return drawn


def _grouped(rows: Iterable[_Cells]) -> Iterator[_Cells]:
    """Yield rows with the names of group and row in one column."""
    for group, group_rows in groupby(rows, key=lambda row: row[0].text):
        first, *others = group_rows
        if first[1].text:
            yield [Cell(group), *(Cell("") for _ in first[2:])]
        else:
            yield [Cell(group), *first[2:]]
        named = [first, *others] if first[1].text else others
        yield from ([Cell(f"  {name.text}"), *cells] for _, name, *cells in named)


def report_markdown(report: Report) -> str:
    """Return a report as Markdown."""
    parts = [f"## {markdown_text(report.title)}"]
    for section, blocks in _sections(report, "markdown"):
        if section.title and not section.leads:
            parts.append(f"### {markdown_text(section.title)}")
        parts += map(_markdown_of, blocks)
    return "\n\n".join(parts) + "\n"


def _markdown_of(block: Block) -> str:
    match block:
        case Paragraph():
            lead = f"**{markdown_text(block.lead.strip())}** " if block.lead else ""
            return f"{lead}{markdown_text(block.text)}"
        case Points():
            return "\n".join(f"- {markdown_text(text)}" for text in block.texts)
        case Facts():
            return "\n".join(f"- **{markdown_text(term)}:** {markdown_text(text)}" for term, text in block.items)
        case ReportTable():
            columns, rows, total = _content(block, "markdown")
            right = [number for number, column in enumerate(columns) if column.is_number]
            texts = [[cell.text for cell in row] for row in (*rows, *([total] if total else []))]
            return markdown_table([column.title for column in columns], texts, right).rstrip("\n")
        case CodeLines():
            return "\n".join([f"```{block.language}", *map(printable, block.lines), "```"])
        case FoldedBlocks():
            summary = f"<details>\n<summary>{escape(printable(block.summary))}</summary>"
            return "\n\n".join([summary, *map(_markdown_of, block.blocks), "</details>"])


def report_csv(report: Report) -> str:
    """Return the first table of a report as CSV."""
    table = next(
        block
        for section in report.sections
        for block in section.blocks
        if isinstance(block, ReportTable) and block.is_in("csv")
    )
    columns, rows, _ = _content(table, "csv")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.key for column in columns)
    writer.writerows([csv_cell(_data(cell)) for cell in row] for row in rows)
    return out.getvalue()


def _data(cell: Cell) -> Any:
    return cell.text.replace("\n", " ") if cell.value is None else cell.value


def report_page(report: Report) -> str:
    """Render a report as one self-contained HTML file; the same report gives the same text."""
    sections = [
        Section(
            section.key,
            section.title,
            "report.html.j2",
            {"blocks": _page_blocks(blocks, section)},
            sentence=section.sentence,
            leads=section.leads,
        )
        for section, blocks in _sections(report, "page")
    ]
    return render_page(report.window_title or report.title, [report.title], "", report.subtitle, sections)


def _page_blocks(blocks: Sequence[Block], section: ReportSection) -> list[tuple[str, Any]]:
    return [(type(block).__name__, _page_content(block, section)) for block in blocks]


def _page_content(block: Block, section: ReportSection) -> Any:
    if isinstance(block, FoldedBlocks):
        return {"summary": block.summary, "blocks": _page_blocks(block.blocks, section)}
    if not isinstance(block, ReportTable):
        return block
    columns, rows, total = _content(block, "page")
    # Another name than that of the section around it, so that screen readers read them as two.
    name = block.title or f"{section.title} (table)"
    return {"table": block, "name": name, "columns": columns, "rows": rows, "total": total}


def _sections(report: Report, format: ReportFormat) -> Iterator[tuple[ReportSection, list[Block]]]:
    """Yield the sections that a format has, with their blocks in it."""
    for section in report.sections:
        blocks = [
            block
            for block in section.blocks
            if block.is_in(format) and not (isinstance(block, ReportTable) and not block.rows)
        ]
        if blocks:
            yield section, blocks


def _content(table: ReportTable, format: ReportFormat) -> tuple[list[ReportColumn], list[_Cells], _Cells]:
    """Return the columns, rows and total of a table in a format."""
    shown = [column.is_in(format) for column in table.columns]

    def cells(row: ReportRow) -> _Cells:
        of_format = [cell for cell, is_shown in zip(row, shown, strict=True) if is_shown]
        return [cell if isinstance(cell, Cell) else Cell(cell) for cell in of_format]

    columns = [column for column in table.columns if column.is_in(format)]
    return columns, [cells(row) for row in table.rows], cells(table.total) if table.total else []
