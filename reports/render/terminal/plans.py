"""Plans of replica assignors side by side, as text for terminals of any width and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.plans.columns import COLUMNS, PlanColumn
from reports.analysis.plans.plan_row import TODAY, PlanRow, records
from reports.analysis.plans.remarks import remarks, status_words
from reports.analysis.text import printable
from reports.render.terminal.console import BAD, HEADER, QUIET, grid, lines, terminal_width
from reports.render.terminal.facts import FactTable
from reports.render.terminal.facts import render as render_tables

FORMATS: Final = ("text", "json", "csv", "markdown")
"""Formats of `render`."""

_MAX_NAME_CHARS: Final = 24
_LEGEND: Final = (
    "max−min: over brokers; below: within the worst topic. of N: fewest moves that balance replicas. N new: leaders "
    "that must be copied first. N led: leaders changed. N lost: partitions without a leader. (…): not an objective of "
    "this strategy."
)


def render(
    about: Mapping[str, Any],
    rows: Sequence[PlanRow],
    format: str = "text",
    *,
    width: int | None = None,
    color: bool | None = None,
) -> str:
    """Render plans as text that ends with a newline.

    `about`: the cluster and the request, JSON-serializable; `title` and `asked` are the heading. `rows`: the current
    cluster, then one row per strategy. `format`: one of `FORMATS`; `json` and `csv` have all figures in full precision,
    `markdown` those of the text. `width`: columns of the terminal; detected by default. A table that does not fit is
    continued below. Raises ValueError if the format is unknown.
    """
    match format:
        case "text":
            characters = terminal_width(width)
            return lines(_parts(about, rows, characters), characters, color=color)
        case "json":
            return json.dumps({**about, "plans": records(rows)}, indent=2, ensure_ascii=False) + "\n"
        case "csv":
            return render_tables(
                [FactTable("plans", "Plans", {key: key for key in records(rows)[0]}, records(rows))], "csv"
            )
        case "markdown":
            return render_tables([_figure_table(rows)], "markdown")
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


def _figure_table(rows: Sequence[PlanRow]) -> FactTable:
    """Return the figures as one table, with the notes of their cells behind them."""
    columns = {"strategy": "strategy", "status": "status"}
    columns |= {str(number): " ".join(column.header.split()) for number, column in enumerate(COLUMNS)}
    shown = [
        {
            "strategy": row.strategy,
            "status": status_words(row.status) if row.status else "",
            **{str(number): " ".join(_cell(row, column).plain.split()) for number, column in enumerate(COLUMNS)},
        }
        for row in rows
        if row.has_plan
    ]
    return FactTable("plans", "Plans", columns, shown, note=_LEGEND)


def _parts(about: Mapping[str, Any], rows: Sequence[PlanRow], width: int) -> Iterator[RenderableType]:
    yield Text(printable(about["title"]), style=HEADER)
    if about["asked"]:
        yield Text(f"Requested: {printable(about['asked'])}.", overflow="fold")
    yield Text()
    rows_with_figures = [row for row in rows if row.has_plan]
    for number, columns in enumerate(_fitting(rows_with_figures, width)):
        if number:
            yield Text()
        yield _table(rows_with_figures, columns)
    if any(row.strategy != TODAY for row in rows_with_figures):
        yield Text(_LEGEND, style=QUIET)
    for row in rows:
        for remark in remarks(row):
            yield Text(f"– {printable(row.strategy)}: {printable(remark)}", overflow="fold")


def _fitting(rows: Sequence[PlanRow], width: int) -> Iterator[list[PlanColumn]]:
    """Yield the columns in parts that fit into the terminal, if possible."""
    label_width = max((cell_len(_label(row).plain.split("\n")[0]) for row in rows), default=0)
    part: list[PlanColumn] = []
    used = label_width
    for column in COLUMNS:
        needed = 1 + _width(rows, column)
        if part and used + needed > width:
            yield part
            part, used = [], label_width
        part.append(column)
        used += needed
    yield part


def _width(rows: Sequence[PlanRow], column: PlanColumn) -> int:
    texts = [column.header, *(_cell(row, column).plain for row in rows)]
    return max(cell_len(line) for text in texts for line in text.split("\n"))


def _table(rows: Sequence[PlanRow], columns: Sequence[PlanColumn]) -> Table:
    table = grid()
    table.add_column(Text("strategy"))
    for column in columns:
        table.add_column(Text(column.header), justify="right", width=_width(rows, column))
    for row in rows:
        table.add_row(_label(row), *(_cell(row, column) for column in columns))
    return table


def _label(row: PlanRow) -> Text:
    name = printable(row.strategy)
    if cell_len(name) > _MAX_NAME_CHARS:
        name = f"…{name[1 - _MAX_NAME_CHARS :]}"
    return Text(name).append(f"\n{status_words(row.status)}" if row.status else "", style=QUIET)


def _cell(row: PlanRow, column: PlanColumn) -> Text:
    """Return a figure, in brackets if it is not an objective of the strategy; every cell has room for the bracket."""
    figure, note = column.cell(row)
    is_aim = row.strategy == TODAY or column.criterion in row.aims
    is_bad = column.criterion == "constraints" and figure not in ("", "0")
    text = Text()
    if figure:
        text.append(f"{figure} " if is_aim else f"({figure})", style=BAD if is_bad else "")
    if note:
        text.append(f"\n{note}", style=QUIET)
    return text
