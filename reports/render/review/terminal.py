"""A review as text for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.paired_comparison import ComparisonVerdict
from reports.analysis.review.report import ReviewReport
from reports.analysis.text import printable
from reports.render.review.rows import (
    FINDING_HEADERS,
    GAP_HEADERS,
    GAP_NOTE,
    INVARIANT_HEADERS,
    METRIC_HEADERS,
    NOTES,
    finding_row,
    gap_rows,
    invariant_rows,
    metric_rows,
    remarks,
    significant,
    size,
    title,
    violation_lines,
)
from reports.render.terminal.conclusion import point
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, lines

_MAX_ROWS: Final = 40
_STYLE: Final = {ComparisonVerdict.BETTER: GOOD, ComparisonVerdict.WORSE: BAD}
# The interval is in the other forms: the table has to fit into 80 columns.
_COLUMNS: Final = tuple(number for number, header in enumerate(FINDING_HEADERS) if header != "95 % CI")


def terminal(report: ReviewReport, *, width: int | None = None, color: bool | None = None) -> str:
    """Render a review as text that ends with a newline."""
    return lines(_parts(report), width, color=color)


def _parts(report: ReviewReport) -> Iterator[RenderableType]:
    yield Text(printable(title(report)), style=HEADER)
    yield Text(printable(size(report)), style=QUIET)
    yield Text()
    if broken := invariant_rows(report):
        yield _table(INVARIANT_HEADERS, [(row, "") for row in broken], range(1, 4))
        yield Text()
        yield from map(point, violation_lines(report))
        yield Text()
    if rows := list(metric_rows(report)):
        yield _table(METRIC_HEADERS, [(row, "") for row in rows], range(1, 6))
        yield Text()
    if gaps := gap_rows(report):
        yield Text("Gap to the optimum", style=HEADER)
        headers = [header.replace(" ", "\n") for header in GAP_HEADERS]
        yield _table(headers, [(row, "") for row in gaps], range(1, len(GAP_HEADERS)))
        yield Text()
    found = significant(report)
    if found:
        cells = [([finding_row(one)[column] for column in _COLUMNS], _STYLE[one.verdict]) for one in found[:_MAX_ROWS]]
        yield _table([FINDING_HEADERS[column] for column in _COLUMNS], cells, range(2, len(_COLUMNS) - 1))
        if len(found) > _MAX_ROWS:
            yield Text(f"… and {len(found) - _MAX_ROWS} more (--out DIR, --format json)")
        yield Text()
    for note in (*remarks(report), *NOTES, *([GAP_NOTE] if gaps else [])):
        yield point(note, QUIET)
    yield Text("\nConclusion", style=HEADER)
    yield point(report.conclusion)


def timing_line(timings: Sequence[Mapping[str, Any]]) -> str:
    """Return the measured compute times of the slowest family; they differ from run to run."""
    slowest = max(timings, key=lambda one: max(one["base_ms"], one["head_ms"]))
    return (
        f"measured compute time (median per call): base {slowest['base_ms']:,.1f} ms, head "
        f"{slowest['head_ms']:,.1f} ms in {slowest['family']}, the slowest family"
    )


def _table(headers: Sequence[str], rows: Iterable[tuple[Sequence[str], str]], right: range) -> Table:
    table = grid()
    table.padding = (0, 1)
    for column, header in enumerate(headers):
        table.add_column(Text(header), justify="right" if column in right else "left")
    for row, style in rows:
        cells = [Text(printable(cell)) for cell in row]
        cells[-1].stylize(style)
        table.add_row(*cells)
    return table
