"""The bill of cross-rack traffic as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.bill.cost_report import BillCheck
from reports.analysis.bill.monthly_bill import MonthlyBill, Transfers
from reports.analysis.formatting import format_bytes, format_usd
from reports.analysis.text import printable
from reports.render.bill.rows import (
    NamedTransfers,
    amount_cells,
    conclusion,
    day_rows,
    kind_rows,
    not_simulated,
    notes,
    pair_rows,
    saving_rows,
    shortened_rows,
    total_of,
    user_rows,
    verdict,
)
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, lines

_MAX_PAIRS = 12
_MAX_USERS = 8


def draw(
    bill: MonthlyBill, check: BillCheck | None = None, width: int | None = None, *, color: bool | None = None
) -> str:
    """Draw a bill, and its comparison with a cost report.

    `check`: the comparison; None for none.
    """
    return lines(_parts(bill, check), width, color=color)


def _parts(bill: MonthlyBill, check: BillCheck | None) -> Iterator[RenderableType]:
    heading = Text(f"{printable(bill.scenario)}, {printable(bill.assignor)}", style=HEADER)
    heading.append(f"\n{conclusion(bill)}", style="not bold")
    yield heading
    yield Text()
    if bill.kinds:
        yield _table("Traffic between zones", kind_rows(bill), bill.total)
        yield Text()
        yield _table("From → to", shortened_rows(pair_rows(bill), _MAX_PAIRS), None)
        yield Text()
    if users := user_rows(bill):
        yield _table("Other producers and groups", shortened_rows(users, _MAX_USERS), None)
        yield Text()
    if bill.savings:
        yield from _savings(bill)
    if check is not None:
        yield _days(check)
        yield Text()
        within, differs = verdict(check)
        yield Text.assemble((within, GOOD if check.agrees else BAD), differs)
        yield Text()
    yield Text(" ".join(notes(bill)), style=QUIET)


def _table(title: str, rows: Sequence[NamedTransfers], total: Transfers | None) -> Table:
    table = _columns(title, "bytes", "cost", "share")
    whole = total_of([part for _, part in rows])
    for name, part in rows:
        table.add_row(Text(name), *amount_cells(part, whole))
    if total is not None:
        table.add_row(Text("total", style=HEADER), *amount_cells(total, None))
    return table


def _columns(*titles: str) -> Table:
    table = grid()
    table.padding = (0, 2, 0, 0)
    table.add_column(Text(titles[0]))
    for title in titles[1:]:
        table.add_column(Text(title), justify="right", no_wrap=True)
    return table


def _savings(bill: MonthlyBill) -> Iterator[RenderableType]:
    table = _columns("What would save (each simulated)", "saves", "share", "bill then")
    for title, *figures, _ in saving_rows(bill):
        table.add_row(Text(title), *figures)
    if table.row_count:
        yield table
        yield Text()
    if reasons := not_simulated(bill):
        yield Text(reasons, style=QUIET)


def _days(check: BillCheck) -> Table:
    table = _columns("Day (UTC)", "metered", "predicted", "billed", "predicted", "difference")
    for days in day_rows(check):
        title = Text("total", style=HEADER) if days.title is None else Text(days.title)
        sizes = format_bytes(days.billed.bytes), format_bytes(days.predicted.bytes)
        costs = format_usd(days.billed.usd), format_usd(days.predicted.usd)
        table.add_row(title, *sizes, *costs, Text(days.difference, style=GOOD if days.is_accepted else BAD))
    return table
