"""A comparison drawn for a terminal of a given width.

One row an assignor as long as that fits: columns that say least go first when it gets narrow. Where even what matters
does not fit, the table is turned: one row a metric, and as many assignors side by side as there is room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.cells import Cell, Column, verdict_column
from reports.analysis.comparison import ComparisonRow, best, rows_by_scenario
from reports.analysis.notes import Note
from reports.analysis.text import name_parts, printable
from reports.render.terminal.console import GOOD, HEADER, QUIET, grid, lines, terminal_width

_LABEL = range(18, 41)
"""How wide the column of labels may be; longer ones go on in the next line."""

_LEGEND = "Bound: for equal balance, deciding round. Converge: worst event. Skew: most minus least."
_DISPENSABLE = ("standby_moves", "restored_bytes", "load_skew", "rebalances_to_converge")
"""Metrics whose columns go when it gets narrow, the first one first."""


def draw(
    rows: Sequence[ComparisonRow],
    columns: Sequence[Column],
    notes: Sequence[Note],
    width: int | None,
    *,
    color: bool | None,
) -> str:
    """Draw a table for each scenario, and below it how to read it and what is to be said of it.

    Args:
        rows: the comparison.
        columns: what to show of it.
        notes: what to say of it.
        width: of the terminal, in characters; found out if None.
        color: whether to write the codes for colours; found out if None.
    """
    characters = terminal_width(width)
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
        text.append(f"  (median of {seeds} seeds, below it least–most)", style=QUIET)
    return text


def _table(rows: Sequence[ComparisonRow], columns: Sequence[Column], width: int) -> Iterator[RenderableType]:
    """The widest layout that fits."""
    drawn = [_draw_column(rows, each) for each in columns]
    labels = [printable(row.assignor) for row in rows]
    least = min(_LABEL[-1], max(_LABEL[0], *(cell_len(part) for label in labels for part in name_parts(label))))
    for dropped in range(len(_DISPENSABLE) + 1):
        gone = _DISPENSABLE[:dropped]
        kept = [each for each in drawn if each.column.metric.name not in gone]
        rest = width - sum(1 + each.width() for each in kept)
        if rest >= least:
            yield _one_row_an_assignor(labels, kept, min(rest, _LABEL[-1]))
            if gone:
                titles = ", ".join(each.title.lower() for each in columns if each.metric.name in gone)
                yield Text(f"In a wider terminal also: {titles}.", style=QUIET)
            yield _legend(f"x-rack: between racks. {_LEGEND}", rows)
            return
    yield from _one_row_a_metric(labels, [_draw_column(rows, verdict_column()), *drawn], width)
    yield _legend(_LEGEND, rows)


def _legend(text: str, rows: Sequence[ComparisonRow]) -> Text:
    return Text(f"*: best. {text}" if len(rows) > 1 else text, style=QUIET)


def _one_row_an_assignor(labels: Sequence[str], columns: Sequence[_DrawnColumn], label_width: int) -> Table:
    table = grid()
    table.add_column(Text("assignor"))
    for each in columns:
        table.add_column(Text(each.column.header), justify="right", width=each.width())
    for row, label in enumerate(labels):
        table.add_row(_wrapped(label, label_width), *(each.cells[row] for each in columns))
    return table


def _one_row_a_metric(labels: Sequence[str], columns: Sequence[_DrawnColumn], width: int) -> Iterator[RenderableType]:
    """As many assignors side by side as there is room for; the others follow below."""
    titles = [Text(each.column.title) for each in columns]
    title_width = max(title.cell_len for title in titles)
    cell_width = max(each.width() for each in columns)
    room = max(1, (width - title_width) // (1 + cell_width))
    blocks = -(-len(labels) // room)
    for number, block in enumerate(_split(len(labels), blocks)):
        if number:
            yield Text()
        table = grid()
        table.add_column(Text(""))
        for row in block:
            # One more character, where the star of the figures stands.
            label = _wrapped(labels[row], (width - title_width) // len(block) - 2)
            table.add_column(Text("\n").join(line + " " for line in label.split("\n")), justify="right")
        for title, each in zip(titles, columns, strict=True):
            table.add_row(title, *(each.cells[row] for row in block))
        yield table


def _split(count: int, blocks: int) -> Iterator[range]:
    """Blocks of nearly the same size."""
    for block in range(blocks):
        yield range(block * count // blocks, (block + 1) * count // blocks)


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnColumn:
    column: Column
    cells: tuple[Text, ...]

    def width(self) -> int:
        return max(cell_len(line) for text in (self.column.header, *map(str, self.cells)) for line in text.split("\n"))


def _draw_column(rows: Sequence[ComparisonRow], column: Column) -> _DrawnColumn:
    winners = best(rows, column.metric)
    return _DrawnColumn(column, tuple(_draw_cell(column.cell(row), row in winners) for row in rows))


def _draw_cell(cell: Cell, is_best: bool) -> Text:
    """The star takes its place in every cell, so that digits stand one below the other."""
    text = Text(cell.text, style=GOOD if is_best else "")
    text.append("*" if is_best else " ")
    for note in cell.notes:
        text.append(f"\n{note} ", style=QUIET)
    return text


def _wrapped(label: str, width: int) -> Text:
    """A label in lines of at most `width` cells, broken between its parts if they are short enough."""
    lines = [""]
    for part in name_parts(label):
        if lines[-1] and cell_len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    folded = [piece for line in lines for piece in chop_cells(line.rstrip(), max(width, 2)) or [""]]
    return Text("\n".join(folded))
