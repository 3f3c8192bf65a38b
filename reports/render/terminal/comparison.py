"""The comparison of runs as text: a table for terminals, JSON and CSV for scripts, Markdown for documents.

From `MIN_WIDTH` columns, the table has one row per assignor if that fits. Otherwise it is transposed: one row per
metric, and as many assignors side by side as fit. No metric is dropped for lack of width.
"""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.cells import COLUMNS, Cell, Column, metric_column, verdict_column
from reports.analysis.comparison import ComparisonRow, Tables, best_rows, compare_runs, rows_by_scenario
from reports.analysis.metrics import ALL_METRICS
from reports.analysis.notes import MIN_NOTED_COMPUTE_MS, Note, notes, record_keys, records
from reports.analysis.text import name_parts, printable
from reports.render.markdown import markdown_text
from reports.render.terminal.console import GOOD, HEADER, QUIET, grid, lines, terminal_width, wrapped_name
from simulator.results.files import csv_cell

_LABEL = range(18, 41)
"""Minimum and maximum width of the label column; longer labels are wrapped."""

_LEGENDS = {
    "bound": "Bound: at equal balance, deciding round.",
    "converge": "Converge: worst event.",
    "skew": "Skew: maximum minus minimum.",
}
"""Explanations by a part of the keys of the metrics that need them."""

MIN_WIDTH = 100
"""Minimum width of a terminal for a table with one row per assignor."""

WIDE = 2_000
"""Width of the text with the option `wide`."""


def draw(
    rows: Sequence[ComparisonRow],
    columns: Sequence[Column],
    notes: Sequence[Note],
    width: int | None,
    *,
    color: bool | None,
    wide: bool = False,
) -> str:
    """Draw one table per scenario with a legend and notes below.

    `wide` says whether to have one row per assignor and no line breaks, however wide the lines become.
    """
    characters = WIDE if wide else terminal_width(width)
    return lines(_parts(rows, columns, notes, characters), characters, color=color)


def _parts(
    rows: Sequence[ComparisonRow], columns: Sequence[Column], notes: Sequence[Note], width: int
) -> Iterator[RenderableType]:
    for number, (scenario, group) in enumerate(rows_by_scenario(rows).items()):
        if number:
            yield Text()
        yield _heading(scenario, group)
        yield from _table(group, columns, width)
        for note in notes:
            if note.scenario == scenario:
                yield _note(note)
    if not rows:
        yield Text("No runs.")


def _note(note: Note) -> Text:
    return Text(f"– {printable(note.text)}", overflow="fold")


def _heading(scenario: str, rows: Sequence[ComparisonRow]) -> Text:
    seeds = max(len(row.seeds) for row in rows)
    text = Text(printable(scenario), style=HEADER)
    if seeds > 1:
        text.append(f"  (median of {seeds} seeds, range below)", style=QUIET)
    return text


def _table(rows: Sequence[ComparisonRow], columns: Sequence[Column], width: int) -> Iterator[RenderableType]:
    """Yield the widest layout that fits."""
    drawn_columns = [_draw_column(rows, column) for column in columns]
    labels = [printable(row.assignor) for row in rows]
    min_label_width = min(
        _LABEL[-1], max(_LABEL[0], *(cell_len(part) for label in labels for part in name_parts(label)))
    )
    label_width = width - sum(1 + column.width() for column in drawn_columns)
    if width >= MIN_WIDTH and label_width >= min_label_width:
        yield _one_row_per_assignor(labels, drawn_columns, min(label_width, _LABEL[-1]))
        yield _legend(columns, rows)
        return
    yield from _one_row_per_metric(labels, [_draw_column(rows, verdict_column()), *drawn_columns], width)
    yield _legend(columns, rows)


def _legend(columns: Sequence[Column], rows: Sequence[ComparisonRow]) -> Text:
    keys = " ".join(column.metric.name for column in columns)
    texts = [text for part, text in _LEGENDS.items() if part in keys]
    return Text(" ".join(["*: best."] * (len(rows) > 1) + texts), style=QUIET)


def _one_row_per_assignor(labels: Sequence[str], columns: Sequence[_DrawnColumn], label_width: int) -> Table:
    table = grid()
    table.add_column(Text("assignor"))
    for column in columns:
        table.add_column(Text(column.column.header), justify="right", width=column.width())
    for row, label in enumerate(labels):
        table.add_row(Text(wrapped_name(label, label_width)), *(column.cells[row] for column in columns))
    return table


def _one_row_per_metric(labels: Sequence[str], columns: Sequence[_DrawnColumn], width: int) -> Iterator[RenderableType]:
    """Yield transposed tables with as many assignors side by side as fit."""
    titles = [Text(column.column.title) for column in columns]
    title_width = max(title.cell_len for title in titles)
    cell_width = max(column.width() for column in columns)
    per_block = max(1, (width - title_width) // (1 + cell_width))
    blocks = -(-len(labels) // per_block)
    for number, block in enumerate(_split(len(labels), blocks)):
        if number:
            yield Text()
        table = grid()
        table.add_column(Text(""))
        for row in block:
            # One more character for the star of the values.
            label = wrapped_name(labels[row], (width - title_width) // len(block) - 2)
            table.add_column(Text("".join(f"{line} \n" for line in label.split("\n"))[:-1]), justify="right")
        for title, column in zip(titles, columns, strict=True):
            table.add_row(title, *(column.cells[row] for row in block))
        yield table


def _split(count: int, blocks: int) -> Iterator[range]:
    """Yield ranges of nearly equal size."""
    for block in range(blocks):
        yield range(block * count // blocks, (block + 1) * count // blocks)


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnColumn:
    column: Column
    cells: tuple[Text, ...]

    def width(self) -> int:
        return max(cell_len(line) for text in (self.column.header, *map(str, self.cells)) for line in text.split("\n"))


def _draw_column(rows: Sequence[ComparisonRow], column: Column) -> _DrawnColumn:
    winners = best_rows(rows, column.metric)
    return _DrawnColumn(column, tuple(_draw_cell(column.cell(row), row in winners) for row in rows))


def _draw_cell(cell: Cell, is_best: bool) -> Text:
    """Return a cell; every cell has room for the star, so that digits are aligned."""
    text = Text(cell.text, style=GOOD if is_best else "")
    text.append("*" if is_best else " ")
    for note in cell.notes:
        text.append(f"\n{note} ", style=QUIET)
    return text


FORMATS = ("table", "json", "csv", "markdown")
"""Formats of `render`."""

_HEADER_WIDTH = 10
_SHOWN_FROM = {"cross_rack_usd_per_day": 0, "leader_compute_ms": MIN_NOTED_COMPUTE_MS}
"""Metrics that are shown only if an assignor reaches this value."""


def columns_for(rows: Sequence[ComparisonRow], metrics: Sequence[str] = ()) -> list[Column]:
    """Return the columns of the given metrics, or by default the relevant columns for rows."""
    if metrics:
        known = {column.metric.name: column for column in COLUMNS}
        return [known.get(name) or metric_column(name, _header(ALL_METRICS[name].title)) for name in metrics]

    def maximum(name: str) -> float:
        return max((spread.maximum for row in rows if (spread := row.spreads[name])), default=-1)

    return [
        column
        for column in COLUMNS
        if column.metric.name not in _SHOWN_FROM or maximum(column.metric.name) >= _SHOWN_FROM[column.metric.name]
    ]


def _header(title: str) -> str:
    """Return a title in several short lines."""
    return "\n".join(textwrap.wrap(title.lower(), _HEADER_WIDTH, break_long_words=False))


def render(
    tables: Tables,
    format: str = "table",
    *,
    width: int | None = None,
    color: bool | None = None,
    wide: bool = False,
    metrics: Sequence[str] = (),
) -> str:
    """Render the comparison as text that ends with a newline; raise ValueError if the format is unknown.

    Args:
        tables: must contain `runs`.
        format: one of `FORMATS`. `json` is a list of records and `csv` has the same keys, both with every metric in
            full precision; `table` and `markdown` have the most important metrics, rounded, and notes below.
        width: columns of the terminal; detected by default. Used for `table` only.
        color: whether to color the best values; detected by default. They have a star in any case.
        wide: whether a `table` has one row per assignor, however wide it becomes.
        metrics: keys of the metrics to show; by default the most important ones, and in `json` and `csv` all.
    """
    rows = compare_runs(tables)
    match format:
        case "table":
            return draw(rows, columns_for(rows, metrics), notes(rows), width, color=color, wide=wide)
        case "json":
            return json.dumps(records(rows, metrics), indent=2, ensure_ascii=False) + "\n"
        case "csv":
            return _csv(rows, metrics)
        case "markdown":
            return _markdown(rows, metrics)
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


_LISTS = ("seeds", "notes")


def _csv(rows: Sequence[ComparisonRow], metrics: Sequence[str]) -> str:
    """Return CSV; lists are separated by spaces, and unknown values are empty."""
    out = io.StringIO()
    flat = [{**record, **{key: " ".join(map(str, record[key])) for key in _LISTS}} for record in records(rows, metrics)]
    writer = csv.DictWriter(out, fieldnames=record_keys(metrics), extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: csv_cell(value) for key, value in row.items()} for row in flat)
    return out.getvalue()


def _markdown(rows: Sequence[ComparisonRow], metrics: Sequence[str]) -> str:
    groups, columns = rows_by_scenario(rows), columns_for(rows, metrics)
    parts = []
    for scenario, group in groups.items():
        title = f"**{markdown_text(scenario)}**\n\n" if len(groups) > 1 else ""
        note_lines = "".join(f"- {markdown_text(note.text)}\n" for note in notes(group))
        parts.append(title + _markdown_table(group, columns) + ("\n" + note_lines if note_lines else ""))
    return "\n".join(parts) or "No runs.\n"


def _markdown_table(rows: Sequence[ComparisonRow], columns: Sequence[Column]) -> str:
    winners = [best_rows(rows, column.metric) for column in columns]
    lines = [
        ["assignor", *(column.title for column in columns)],
        ["---", *("---:" for _ in columns)],
    ]
    for row in rows:
        cells = [str(column.cell(row)) for column in columns]
        marked = [f"**{cell}**" if row in winning else cell for cell, winning in zip(cells, winners, strict=True)]
        lines.append([markdown_text(row.assignor), *marked])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
