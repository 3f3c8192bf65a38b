"""Reports in every format: text for terminals, Markdown for documents, CSV for scripts, and pages."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import count, groupby, repeat
from operator import attrgetter
from typing import Any, Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.analysis.cells import Cell
from reports.analysis.text import printable
from reports.document import (
    Block,
    Chart,
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
from reports.render.html.inline_figures import inline_figure
from reports.render.html.shell import Section, render_page
from reports.render.markdown import markdown_table, markdown_text
from reports.render.terminal.conclusion import point
from reports.render.terminal.console import (
    BAD,
    GOOD,
    HEADER,
    QUIET,
    breakable,
    grid,
    keep_figures,
    lines,
    terminal_width,
)
from simulator.results.files import csv_cell

_STYLES: Final = {"": "", "conclusion": "", "heading": HEADER, "note": QUIET, "good": GOOD, "bad": BAD}
_DIFF_STYLES: Final = {"+": GOOD, "-": BAD}

FORMATS: Final = ("table", "json", "csv", "markdown")
"""Formats of `render_report`."""

MAX_FOLDED_ROWS: Final = 1_000
"""Number of rows in folded tables up to which a page has them in its markup; more are data, shown on demand."""

_MIN_LONG_CHARS: Final = 32
"""Length of a text from which on its column is wide in pages."""

_Cells = list[Cell]


def render_report(
    report: Report, record: Callable[[], Any], format: str, width: int | None = None, *, color: bool | None = None
) -> str:
    """Return a report in a format as text that ends with a newline.

    `record`: returns the JSON-serializable record. `format`: one of `FORMATS`; CSV has the first table. `width`,
    `color`: as in `report_text`. Raises ValueError if the format is unknown.
    """
    match format:
        case "table":
            return report_text(report, width, color=color)
        case "json":
            return json.dumps(record(), indent=2, ensure_ascii=False) + "\n"
        case "csv":
            return report_csv(report)
        case "markdown":
            return report_markdown(report)
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


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
        for before, block in zip([None, *blocks], blocks, strict=False):
            if before is not None and not _is_heading(before):
                yield Text()
            yield from _text_of(block, "" if section.has_heading else section.title)


def _is_heading(block: Block) -> bool:
    return isinstance(block, Paragraph) and block.emphasis == "heading"


def _text_of(block: Block, first_title: str) -> Iterator[RenderableType]:
    match block:
        case Paragraph():
            style = _STYLES[block.emphasis]
            lead = (keep_figures(printable(block.lead)), style)
            text = (keep_figures(printable(block.text)), "" if block.lead else style)
            yield Text.assemble(*(part for part in (lead, text) if part[0]))
        case Points():
            for mark, (first, *others) in zip(_marks(block, "– "), _parts_of(block), strict=False):
                yield point(first, _STYLES[block.emphasis], mark)
                yield from (_further(part, len(mark)) for part in others)
        case Facts():
            yield from (Text(keep_figures(f"{term}: {printable(text)}")) for term, text in block.items)
        case ReportTable(is_list=True):
            yield from _listed(block)
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
        case Chart():
            pass


def _further(text: str, indent: int) -> RenderableType:
    """Return a further part of a point; options of the command line are never broken, so that they can be copied."""
    if text.startswith("--"):
        return Text(" " * indent + printable(text), no_wrap=True, overflow="ignore")
    return Padding(Text(keep_figures(printable(text))), (0, 0, 0, indent))


def _marks(points: Points, bullet: str) -> Iterator[str]:
    return (f"{number}. " for number in count(1)) if points.is_numbered else repeat(bullet)


def _parts_of(points: Points) -> list[tuple[str, ...]]:
    return [(text,) if isinstance(text, str) else text for text in points.texts]


def _listed(table: ReportTable) -> Iterator[RenderableType]:
    columns, rows, _ = _content(table, "terminal")
    for name, *cells in rows:
        # Names and options are never broken, so that they can be copied.
        yield Text(printable(name.text), style=HEADER, no_wrap=True, overflow="ignore")
        for column, cell in zip(columns[1:], cells, strict=True):
            for paragraph in filter(None, cell.text.split(";\n")):
                text, *options = map(printable, paragraph.split("\n"))
                yield Padding(Text((f"{column.header}: " if column.header else "") + breakable(text)), (0, 0, 0, 2))
                yield from (Text(f"    {option}", no_wrap=True, overflow="ignore") for option in options)


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
        drawn.add_row(*(_cell_text(cell, has_notes=table.has_notes) for cell in row))
    if total:
        name, *others = total
        drawn.add_row(Text(name.text, style=HEADER), *(_cell_text(cell, has_notes=False) for cell in others))
    return drawn


def _cell_text(cell: Cell, *, has_notes: bool) -> Text:
    text = Text(breakable(printable(cell.text)), style=_STYLES[cell.emphasis])
    for note in cell.notes if has_notes else ():
        text.append(f"\n{printable(note)}", style=QUIET)
    return text


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
        case Paragraph(emphasis="heading"):
            return f"#### {markdown_text(block.text)}"
        case Paragraph():
            lead = f"**{markdown_text(block.lead.strip())}** " if block.lead else ""
            return f"{lead}{markdown_text(block.text)}"
        case Points():
            return "\n".join(
                f"{mark}{markdown_text(first)}"
                + "".join(f"\n{' ' * len(mark)}- {markdown_text(part)}" for part in others)
                for mark, (first, *others) in zip(_marks(block, "- "), _parts_of(block), strict=False)
            )
        case Facts():
            return "\n".join(f"- **{markdown_text(term)}:** {markdown_text(text)}" for term, text in block.items)
        case ReportTable():
            columns, rows, total = _content(block, "markdown")
            right = [number for number, column in enumerate(columns) if column.is_number]
            write = str if block.has_notes else attrgetter("text")
            texts = [list(map(write, row)) for row in (*rows, *([total] if total else []))]
            if block.is_list:
                texts = [[text.replace("\n", " ") for text in row] for row in texts]
            return markdown_table([column.title for column in columns], texts, right).rstrip("\n")
        case CodeLines():
            return "\n".join([f"```{block.language}", *map(printable, block.lines), "```"])
        case FoldedBlocks():
            summary = f"<details>\n<summary>{escape(printable(block.summary))}</summary>"
            return "\n\n".join([summary, *map(_markdown_of, block.blocks), "</details>"])
        case Chart():
            return ""


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
    sections = [_page_section(section, blocks) for section, blocks in _sections(report, "page")]
    return render_page(report.window_title or report.title, [report.title], "", report.subtitle, sections)


def _page_section(section: ReportSection, blocks: Sequence[Block]) -> Section:
    linked = {block.key: block.blocks for block in blocks if isinstance(block, FoldedBlocks) and block.key}
    tables = {key: table for key, parts in linked.items() for table in parts if isinstance(table, ReportTable)}
    has_data = sum(len(table.rows) for table in tables.values()) > MAX_FOLDED_ROWS
    return Section(
        section.key,
        section.title,
        "report.html.j2",
        {"blocks": _page_blocks(blocks, section.title, tables if has_data else {}), "has_data": has_data},
        {f"{section.key}-folded": _table_data(tables)} if has_data else None,
        section.sentence,
        section.leads,
    )


def _table_data(tables: Mapping[str, ReportTable]) -> dict[str, Any]:
    """Return the tables of folded blocks by their keys for the script: texts once, and cells as their indices."""
    texts: dict[str, int] = {}
    data = {}
    for key, table in tables.items():
        columns, rows, _ = _content(table, "page")
        cells = [[texts.setdefault(printable(cell.text), len(texts)) for cell in row] for row in rows]
        data[key] = {
            "key": table.key,
            "name": table.title,
            "heads": [column.title for column in columns],
            "rows": cells,
        }
    return {"texts": list(texts), "tables": data}


def _page_blocks(blocks: Sequence[Block], title: str, data: Mapping[str, ReportTable]) -> list[tuple[str, Any]]:
    return [(type(block).__name__, _page_content(block, title, data)) for block in blocks]


def _page_content(block: Block, title: str, data: Mapping[str, ReportTable]) -> Any:
    match block:
        case FoldedBlocks():
            blocks = [part for part in block.blocks if part is not data.get(block.key)]
            return {"folded": block, "blocks": _page_blocks(blocks, title, data), "has_data": block.key in data}
        case Chart():
            return inline_figure(block.draw, block.content, block.key, block.description)
        case ReportTable():
            columns, rows, total = _content(block, "page")
            # Another name than that of the section around it, so that screen readers read them as two.
            name = block.title or f"{title} (table)"
            kinds = [_kind(column, [row[at] for row in rows]) for at, column in enumerate(columns)]
            return {"table": block, "name": name, "columns": columns, "kinds": kinds, "rows": rows, "total": total}
    return block


def _kind(column: ReportColumn, cells: Sequence[Cell]) -> str:
    """Return the class of the cells of a column."""
    if column.is_number:
        return ""
    return "words long" if any(len(cell.text) >= _MIN_LONG_CHARS for cell in cells) else "words"


def _sections(report: Report, format: ReportFormat) -> Iterator[tuple[ReportSection, list[Block]]]:
    """Yield the sections that a format has, with their blocks in it."""
    for section in report.sections:
        blocks = [block for block in section.blocks if block.is_in(format) and _has_content(block)]
        if blocks:
            yield section, blocks


def _has_content(block: Block) -> bool:
    match block:
        case Paragraph():
            return bool(block.text)
        case Points():
            return bool(block.texts)
        case Facts():
            return bool(block.items)
        case ReportTable():
            return bool(block.rows)
    return True


def _content(table: ReportTable, format: ReportFormat) -> tuple[list[ReportColumn], list[_Cells], _Cells]:
    """Return the columns, rows and total of a table in a format."""
    shown = [column.is_in(format) for column in table.columns]

    def cells(row: ReportRow) -> _Cells:
        of_format = [cell for cell, is_shown in zip(row, shown, strict=True) if is_shown]
        return [cell if isinstance(cell, Cell) else Cell(cell) for cell in of_format]

    columns = [column for column in table.columns if column.is_in(format)]
    return columns, [cells(row) for row in table.rows], cells(table.total) if table.total else []
