"""A bill as a page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from reports.analysis.bill.cost_report import BillCheck
from reports.analysis.bill.monthly_bill import MonthlyBill, RackPair, Transfers
from reports.analysis.cells import HEAT_STEPS, Cell
from reports.analysis.formatting import format_bytes, format_number, format_percent
from reports.analysis.formatting import format_usd as usd
from reports.render.bill.rows import (
    NamedTransfers,
    amount_cells,
    best_saving,
    conclusion,
    day_rows,
    has_pair_prices,
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
from reports.render.html.shell import Section, render_page

_MAX_MATRIX = 12
"""Number of zones up to which pairs are a matrix; more are a table of the largest pairs."""

_MAX_ROWS = 200


def page(bill: MonthlyBill, check: BillCheck | None = None) -> str:
    """Render a bill, and its comparison with a cost report, as one self-contained HTML file.

    `check`: the comparison; None for none. Returns the file; the same bill gives the same text.
    """
    sections = [Section("answer", "Bill", "bill/answer.html.j2", _answer(bill, check), leads=True)]
    if bill.parts:
        sections += [
            _amounts("kinds", "Traffic between zones", "Traffic", kind_rows(bill), bill.total),
            _pairs(bill),
        ]
    if users := user_rows(bill):
        rows = shortened_rows(users, _MAX_ROWS)
        sections.append(_amounts("users", "Other producers and groups", "Producer or group", rows, None))
    if bill.savings:
        sections.append(_savings(bill))
    if check is not None:
        sections.append(Section("check", "Compared with the cost report", "bill/check.html.j2", _check(check)))
    sections.append(Section("method", "Price and method", "bill/method.html.j2", {"notes": notes(bill)}))
    names = [f"{bill.scenario}, {bill.assignor}"]
    subtitle = f"Traffic between zones in {format_number(bill.days)} days."
    return render_page(f"Bill of {bill.scenario}", names, "", subtitle, sections)


def _answer(bill: MonthlyBill, check: BillCheck | None) -> dict[str, Any]:
    facts = []
    if bill.total.usd:
        largest = max(bill.kinds, key=lambda part: part.transfers.usd)
        facts.append(("Largest part", f"{largest.title}: {_with_share(largest.transfers, bill)}"))
        pair = max(bill.pairs, key=lambda pair: pair.transfers.usd)
        facts.append(("Most expensive pair", f"{pair.from_rack} → {pair.to_rack}: {_with_share(pair.transfers, bill)}"))
    best = best_saving(bill)
    if best is not None and best.after is not None:
        saved = bill.total.usd - best.after.usd
        share = format_percent(100 * saved / bill.total.usd)
        facts.append(("Saves most", f"{best.title}: {usd(saved)} less ({share}). Set {best.change}."))
    together = next((saving.after for saving in bill.savings if not saving.change), None)
    if together is not None:
        facts.append(("All changes", f"{usd(together.usd)} instead of {usd(bill.total.usd)}."))
    if check is not None:
        facts.append(("Cost report", "".join(verdict(check))))
    return {"conclusion": f"{conclusion(bill)}.", "facts": facts}


def _with_share(part: Transfers, bill: MonthlyBill) -> str:
    return f"{usd(part.usd)} ({format_percent(100 * part.usd / bill.total.usd)})"


def _amounts(id: str, heading: str, first: str, rows: Sequence[NamedTransfers], total: Transfers | None) -> Section:
    whole = total_of([part for _, part in rows])
    content = {
        "first": first,
        "rows": [(name, _amount_cells(part, whole)) for name, part in rows],
        "total": None if total is None else _amount_cells(total, None),
        "label": heading,
        "csv": id,
    }
    return Section(id, heading, "bill/amounts.html.j2", content)


def _amount_cells(part: Transfers, whole: Transfers | None) -> list[Cell]:
    return [
        Cell(text, value=value)
        for text, value in zip(amount_cells(part, whole), (part.bytes, part.usd, None), strict=True)
    ]


def _pairs(bill: MonthlyBill) -> Section:
    heading = "From zone to zone"
    racks = sorted({rack for pair in bill.pairs for rack in (pair.from_rack, pair.to_rack)})
    if len(racks) > _MAX_MATRIX:
        return _amounts("pairs", heading, "From → to", shortened_rows(pair_rows(bill), _MAX_ROWS), None)
    found = {(pair.from_rack, pair.to_rack): pair for pair in bill.pairs}
    costs = {key: pair.transfers.usd if bill.total.usd else pair.transfers.bytes for key, pair in found.items()}
    maximum, shows_price = max(costs.values()) or 1.0, has_pair_prices(bill)

    def cell(source: str, target: str) -> tuple[Cell, int]:
        pair = found.get((source, target))
        if pair is None:
            return Cell("–" if source == target else "0", value=0.0), 0
        price = (f"${pair.usd_per_gb:g}/GB",) if shows_price else ()
        shown = Cell(usd(pair.transfers.usd), (format_bytes(pair.transfers.bytes), *price), pair.transfers.usd)
        return shown, math.ceil(HEAT_STEPS * costs[source, target] / maximum)

    def total(pairs: Iterable[RackPair]) -> Cell:
        cost = sum(pair.transfers.usd for pair in pairs)
        return Cell(usd(cost), value=cost)

    content = {
        "racks": racks,
        "rows": [
            (
                source,
                [cell(source, target) for target in racks],
                total(pair for pair in bill.pairs if pair.from_rack == source),
            )
            for source in racks
        ],
        "received": [
            *(total(pair for pair in bill.pairs if pair.to_rack == target) for target in racks),
            total(bill.pairs),
        ],
    }
    sentence = "Rows send, columns receive; a stronger color costs more. Traffic within a zone is not billed."
    return Section("pairs", heading, "bill/pairs.html.j2", content, sentence=sentence)


def _savings(bill: MonthlyBill) -> Section:
    rows = [
        (title, change or "all of the above", (then, amount, share))
        for title, amount, share, then, change in saving_rows(bill)
    ]
    content = {"rows": rows, "note": not_simulated(bill)}
    sentence = "Each line is a run of its own with that change, not an estimate."
    return Section("savings", "What it would cost with changes", "bill/savings.html.j2", content, sentence=sentence)


def _check(check: BillCheck) -> dict[str, Any]:
    within, text = verdict(check)
    resources = "brokers only" if check.only_brokers else "brokers and clients"
    source = f"{check.report.source}: {check.report.format}, {check.report.lines:,} lines, {resources}."
    rows = [(days, _cost_cell(days.billed), _cost_cell(days.predicted)) for days in day_rows(check)]
    return {"agrees": check.agrees, "within": within, "differs": text, "rows": rows, "source": source}


def _cost_cell(part: Transfers) -> Cell:
    return Cell(usd(part.usd), (format_bytes(part.bytes),), part.usd)
