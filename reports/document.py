"""A report: sections of paragraphs, points, facts, tables and figures, from which `reports.render` writes every format.

A command builds its report once, so that terminals, Markdown, pages and CSV have the same figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reports.analysis.cells import Cell
from reports.analysis.text import plain_text

ReportFormat = Literal["terminal", "markdown", "page", "csv"]
Emphasis = Literal["", "heading", "conclusion", "note", "good", "bad"]
ReportRow = Sequence[Cell | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPart:
    """A part of a report; an empty text and a list or table without items are left out.

    Attributes:
        only: the formats that have it; all of them by default.
    """

    only: tuple[ReportFormat, ...] = ()

    def is_in(self, format: ReportFormat) -> bool:
        """Return whether a format has the part."""
        return not self.only or format in self.only


@dataclass(frozen=True, slots=True)
class Paragraph(ReportPart):
    """Sentences.

    Attributes:
        text: the sentences.
        emphasis: how they are set; that of the lead if there is one.
        lead: the emphasized begin, before the text.
    """

    text: str
    emphasis: Emphasis = ""
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Points(ReportPart):
    """A list of sentences; one in several parts has the others below the first."""

    texts: Sequence[str | tuple[str, ...]]
    emphasis: Emphasis = ""
    is_numbered: bool = False


@dataclass(frozen=True, slots=True)
class Facts(ReportPart):
    """Terms and a text on each of them."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ReportColumn(ReportPart):
    """A column of a table.

    Attributes:
        key: its name in CSV.
        title: its title in the other formats.
        is_number: whether it is aligned to the right.
        unit: unit of the values of its cells, where they differ from the texts.
        header: title in terminals, in several lines; by default the title.
    """

    key: str
    title: str
    is_number: bool = False
    unit: str = ""
    header: str = ""


@dataclass(frozen=True, slots=True)
class ReportTable(ReportPart):
    """A table; CSV has it without rows, too.

    Attributes:
        key: name of the CSV file that a page saves.
        columns: the columns; the first one names the row.
        rows: one cell per column. Terminals, Markdown and pages show texts, and CSV has the values of cells that have
            one. Links of cells are in pages only, and the emphasis of a cell in terminals and pages.
        total: the last row, which CSV does not have.
        is_matrix: whether rows and columns have the same names, and colors show the sizes.
        is_grouped: whether the first column names groups of rows, which the second one names: terminals have the name
            of a group once, above its rows; rows without a name of their own are on that line.
        is_list: whether terminals have the name of each row on a line, and the other cells with the headers of their
            columns below it. Texts in cells that end with `;` and a line end are paragraphs of their own, and further
            lines of a paragraph are options of the command line.
        has_notes: whether terminals and Markdown have the notes of cells, as pages do.
        is_sortable: whether the headers of a page sort its rows.
        title: its name for screen readers; by default that of the section.
    """

    key: str
    columns: Sequence[ReportColumn]
    rows: Sequence[ReportRow]
    total: ReportRow = ()
    is_matrix: bool = False
    is_grouped: bool = False
    is_list: bool = False
    has_notes: bool = False
    is_sortable: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class CodeLines(ReportPart):
    """Lines to copy, which are never broken; added and removed lines of a `diff` are emphasized."""

    lines: Sequence[str]
    language: Literal["diff", "java", "properties", "sh", "yaml"]


@dataclass(frozen=True, slots=True)
class FoldedBlocks(ReportPart):
    """Blocks that pages and Markdown fold below a summary.

    Attributes:
        key: id for links of cells, unique in a report; may be empty. A page with many rows in tables of folded blocks
            with keys has them as data, from which a script builds the tables.
    """

    summary: str
    blocks: Sequence[Block]
    key: str = ""


@dataclass(frozen=True, slots=True)
class Chart(ReportPart):
    """A figure, which only pages have.

    Attributes:
        key: prefix of ids, unique in a page.
        description: what it shows, for screen readers.
        draw: draws the content; accepts `narrow`.
        content: what it shows.
    """

    key: str
    description: str
    draw: Callable[..., Any]
    content: object

    def is_in(self, format: ReportFormat) -> bool:
        """Return whether the format is a page."""
        return format == "page"


Block = Paragraph | Points | Facts | ReportTable | CodeLines | FoldedBlocks | Chart


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of a report; a format that has none of its blocks leaves it out.

    Attributes:
        key: id for links, unique in a report.
        title: the heading; may be empty if only terminals have the section.
        blocks: its content.
        sentence: what to see in the section of a page; may be empty.
        leads: whether it is the answer, which has no heading outside of pages.
        has_heading: whether terminals have the heading; without it, the title is that of the first column of a table.
    """

    key: str
    title: str
    blocks: Sequence[Block]
    sentence: str = ""
    leads: bool = False
    has_heading: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes:
        title: the heading.
        sections: the sections in their order.
        window_title: title of the window of a page; by default the heading.
        subtitle: a sentence below the heading of a page; may be empty.
        max_width: maximum number of columns of a terminal that are used; None for all.
    """

    title: str
    sections: Sequence[ReportSection]
    window_title: str = ""
    subtitle: str = ""
    max_width: int | None = None


def records_report(title: str, keys: Iterable[str], records: Sequence[Mapping[str, Any]]) -> Report:
    """Return a report of a table of records with some of their keys as titles."""
    table = records_table("records", {key: key for key in keys}, records, ())
    return Report(title, [ReportSection("records", "", [table], leads=True)])


def records_table(
    key: str,
    columns: Mapping[str, str],
    records: Iterable[Mapping[str, Any]],
    only: tuple[ReportFormat, ...] = ("csv",),
) -> ReportTable:
    """Return a table of records, such as those of JSON; `columns` has the titles by key."""
    rows = [[plain_text(record.get(name)) for name in columns] for record in records]
    return ReportTable(key, [ReportColumn(name, title) for name, title in columns.items()], rows, only=only)
