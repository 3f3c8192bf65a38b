"""Plans of replica assignors side by side, for a terminal of any width, and as JSON for scripts."""

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

FORMATS: Final = ("text", "json")
"""What `render` can make."""

_LONGEST_NAME: Final = 24
_LEGEND: Final = (
    "max−min: over brokers, below it within the worst topic. Of: least moves to even replicas. New: led by a replica "
    "to be copied first. Led: leaders changed. Lost: partitions without a leader. In brackets: not what it aims at."
)


def render(
    about: Mapping[str, Any],
    rows: Sequence[PlanRow],
    format: str = "text",
    *,
    width: int | None = None,
    color: bool | None = None,
) -> str:
    """Write plans as text that ends in a line end.

    Args:
        about: the cluster and what was asked, JSON-able; `title` and `asked` head the text.
        rows: the cluster as it stands, then a row a strategy.
        format: one of `FORMATS`; `json` has all figures in full precision.
        width: columns of the terminal; found out if None. Where a table does not fit, it goes on in another below.
        color: whether to write the codes for colours; found out if None.

    Raises:
        ValueError: an unknown format.
    """
    match format:
        case "text":
            characters = terminal_width(width)
            return lines(_parts(about, rows, characters), characters, color=color)
        case "json":
            return json.dumps({**about, "plans": records(rows)}, indent=2, ensure_ascii=False) + "\n"
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


def _parts(about: Mapping[str, Any], rows: Sequence[PlanRow], width: int) -> Iterator[RenderableType]:
    yield Text(printable(about["title"]), style=HEADER)
    if about["asked"]:
        yield Text(f"Asked: {printable(about['asked'])}.", overflow="fold")
    yield Text()
    shown = [row for row in rows if row.has_plan]
    for number, columns in enumerate(_fitting(shown, width)):
        if number:
            yield Text()
        yield _table(shown, columns)
    if any(row.strategy != TODAY for row in shown):
        yield Text(_LEGEND, style=QUIET)
    for row in rows:
        for said in remarks(row):
            yield Text(f"– {printable(row.strategy)}: {printable(said)}", overflow="fold")


def _fitting(rows: Sequence[PlanRow], width: int) -> Iterator[list[PlanColumn]]:
    """The columns, cut so that each part is not wider than the terminal, if it can be."""
    first = max((cell_len(_label(row).plain.split("\n")[0]) for row in rows), default=0)
    part: list[PlanColumn] = []
    used = first
    for column in COLUMNS:
        needed = 1 + _width(rows, column)
        if part and used + needed > width:
            yield part
            part, used = [], first
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
    if cell_len(name) > _LONGEST_NAME:
        name = f"…{name[1 - _LONGEST_NAME :]}"
    return Text(name).append(f"\n{status_words(row.status)}" if row.status else "", style=QUIET)


def _cell(row: PlanRow, column: PlanColumn) -> Text:
    """A figure, in brackets if the strategy does not aim at it; the place of the bracket is always taken."""
    figure, note = column.cell(row)
    is_aim = row.strategy == TODAY or column.criterion in row.aims
    is_bad = column.criterion == "constraints" and figure not in ("", "0")
    text = Text()
    if figure:
        text.append(f"{figure} " if is_aim else f"({figure})", style=BAD if is_bad else "")
    if note:
        text.append(f"\n{note}", style=QUIET)
    return text
