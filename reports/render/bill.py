"""The report of a bill of cross-rack traffic."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from reports.analysis.bill.cost_report import BillCheck
from reports.analysis.bill.monthly_bill import DAY_MS, MonthlyBill, RackPair, Saving, Transfers
from reports.analysis.cells import HEAT_STEPS, Cell
from reports.analysis.formatting import format_bytes, format_count, format_duration, format_number, format_percent
from reports.analysis.formatting import format_usd as usd
from reports.analysis.runs.breakdowns import TRAFFIC_KINDS
from reports.analysis.text import listed, printable
from reports.document import (
    Block,
    Facts,
    Paragraph,
    Report,
    ReportColumn,
    ReportFormat,
    ReportRow,
    ReportSection,
    ReportTable,
)

_MAX_PAIRS = 12
_MAX_USERS = 8
"""Maximum number of pairs of zones, and of other producers and groups, in terminals."""

_MAX_ROWS = 200
"""The same in pages and documents."""

_MAX_MATRIX = 12
"""Number of zones up to which the pairs of a page are a matrix."""

_DOCUMENTS: tuple[ReportFormat, ...] = ("markdown", "page")
_PEOPLE: tuple[ReportFormat, ...] = ("terminal", *_DOCUMENTS)

_MIN_SHARE = 1e-4
"""Smaller differences are shown as none."""

NamedTransfers = tuple[str, Transfers]


def bill_report(bill: MonthlyBill, check: BillCheck | None = None) -> Report:
    """Return the report of a bill, and of its comparison with a cost report if there is one."""
    kinds = [(part.title, part.transfers) for part in bill.kinds]
    sections = [
        ReportSection("answer", "Bill", list(_answer(bill, check)), leads=True),
        _section("kinds", "Traffic between zones", [_amounts("kinds", "Traffic", kinds, bill.total)]),
        _pairs(bill),
        _users(bill),
        _savings(bill),
        *([] if check is None else [_check(check)]),
        ReportSection("method", "Price and method", [Paragraph(" ".join(notes(bill)), "note")], has_heading=False),
    ]
    return Report(
        f"{bill.scenario}, {bill.assignor}",
        sections,
        window_title=f"Bill of {bill.scenario}",
        subtitle=f"Traffic between zones in {format_number(bill.days)} days.",
    )


def _section(key: str, title: str, tables: Sequence[ReportTable], sentence: str = "") -> ReportSection:
    return ReportSection(key, title, tables, sentence=sentence, has_heading=False)


def _answer(bill: MonthlyBill, check: BillCheck | None) -> Iterator[Paragraph | Facts]:
    yield Paragraph(f"{conclusion(bill)}.", "conclusion")
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
    yield Facts(facts, only=_DOCUMENTS)


def _with_share(part: Transfers, bill: MonthlyBill) -> str:
    return f"{usd(part.usd)} ({format_percent(100 * part.usd / bill.total.usd)})"


def _amounts(
    key: str,
    first: str,
    rows: Sequence[NamedTransfers],
    total: Transfers | None = None,
    only: tuple[ReportFormat, ...] = (),
) -> ReportTable:
    whole = total_of([part for _, part in rows])
    columns = [
        ReportColumn("kind", first),
        ReportColumn("bytes", "Bytes", is_number=True),
        ReportColumn("usd", "Cost", is_number=True, unit="US dollars"),
        ReportColumn("share", "Share", is_number=True, only=_PEOPLE),
    ]
    shown: list[ReportRow] = [[name, *_amount_cells(part, whole)] for name, part in rows]
    sums: ReportRow = [] if total is None else ["Total", *_amount_cells(total, None)]
    return ReportTable(key, columns, shown, sums, only=only)


def _amount_cells(part: Transfers, whole: Transfers | None) -> list[Cell]:
    values = (round(part.bytes), round(part.usd, 2), None)
    return [Cell(text, value=value) for text, value in zip(amount_cells(part, whole), values, strict=True)]


def _pairs(bill: MonthlyBill) -> ReportSection:
    rows, first = pair_rows(bill), "From → to"
    racks = sorted({rack for pair in bill.pairs for rack in (pair.from_rack, pair.to_rack)})
    is_matrix, sentence = len(racks) <= _MAX_MATRIX, ""
    tables = [
        _amounts("pairs", first, shortened_rows(rows, _MAX_PAIRS), only=("terminal",)),
        _amounts("pairs", first, shortened_rows(rows, _MAX_ROWS), only=("markdown",) if is_matrix else _DOCUMENTS),
    ]
    if is_matrix and rows:
        tables.append(_matrix(bill, racks))
        sentence = "Rows send, columns receive; a stronger color costs more. Traffic within a zone is not billed."
    return _section("pairs", "From zone to zone", tables, sentence)


def _matrix(bill: MonthlyBill, racks: Sequence[str]) -> ReportTable:
    found = {(pair.from_rack, pair.to_rack): pair for pair in bill.pairs}
    costs = {key: pair.transfers.usd if bill.total.usd else pair.transfers.bytes for key, pair in found.items()}
    maximum, shows_price = max(costs.values()) or 1.0, has_pair_prices(bill)

    def cell(source: str, target: str) -> Cell:
        pair = found.get((source, target))
        if pair is None:
            return Cell("–" if source == target else "0", value=0.0, heat=0)
        price = (f"${pair.usd_per_gb:g}/GB",) if shows_price else ()
        amounts = (format_bytes(pair.transfers.bytes), *price)
        heat = math.ceil(HEAT_STEPS * costs[source, target] / maximum)
        return Cell(usd(pair.transfers.usd), amounts, pair.transfers.usd, heat=heat)

    def total(pairs: Iterable[RackPair]) -> Cell:
        cost = sum(pair.transfers.usd for pair in pairs)
        return Cell(usd(cost), value=cost)

    rows: list[ReportRow] = [
        [
            source,
            *(cell(source, target) for target in racks),
            total(pair for pair in bill.pairs if pair.from_rack == source),
        ]
        for source in racks
    ]
    received = [total(pair for pair in bill.pairs if pair.to_rack == target) for target in racks]
    columns = [
        ReportColumn("from", "from \\ to", unit="US dollars"),
        *(ReportColumn(rack, rack, is_number=True) for rack in racks),
        ReportColumn("all", "all", is_number=True),
    ]
    sums: ReportRow = ["all", *received, total(bill.pairs)]
    return ReportTable("zone_to_zone", columns, rows, sums, is_matrix=True, only=("page",))


def _users(bill: MonthlyBill) -> ReportSection:
    users, first = user_rows(bill), "Producer or group"
    columns = [
        *(ReportColumn(title, title) for title in ("Traffic", first, "Topic")),
        *(ReportColumn(title, title, is_number=True) for title in ("Bytes", "Cost")),
    ]
    topics: list[ReportRow] = [
        [TRAFFIC_KINDS[user.kind], user.name or "", user.topic, *amount_cells(user.transfers, None)[:2]]
        for user in bill.others
    ]
    tables = [
        _amounts("users", first, shortened_rows(users, _MAX_USERS), only=("terminal",)),
        _amounts("users", first, shortened_rows(users, _MAX_ROWS), only=("page",)),
        ReportTable("topics", columns, topics, only=("markdown",)),
    ]
    return _section("users", "Other producers and groups", tables)


def _savings(bill: MonthlyBill) -> ReportSection:
    columns = [
        ReportColumn("title", "Change"),
        ReportColumn("change", "What to set", only=("markdown",)),
        *(ReportColumn(title, title, is_number=True) for title in ("Saves", "Share", "Bill then")),
    ]
    rows: list[ReportRow] = []
    for title, amount, share, then, change in saving_rows(bill):
        setting = change or "all of the above"
        rows.append([Cell(title, (setting,)), setting, amount, share, then])
    reasons = not_simulated(bill)
    blocks: list[Block] = [ReportTable("savings", columns, rows), Paragraph(reasons, "note")]
    sentence = "Each line is a run of its own with that change, not an estimate."
    return ReportSection("savings", "What would save (each simulated)", blocks, sentence, has_heading=False)


def _check(check: BillCheck) -> ReportSection:
    within, differs = verdict(check)
    resources = "brokers only" if check.only_brokers else "brokers and clients"
    source = (
        f"{check.report.source}: {check.report.format}, {check.report.lines:,} lines, {resources}. Metered bytes count "
        "each transfer for the sender, and for the receiver where it pays."
    )
    text: tuple[ReportFormat, ...] = ("terminal", "markdown")
    columns = [
        ReportColumn("day", "Day (UTC)"),
        ReportColumn("billed_bytes", "Metered", is_number=True, only=text),
        ReportColumn("predicted_bytes", "Predicted", is_number=True, only=text),
        ReportColumn("billed_usd", "Billed", is_number=True, unit="US dollars"),
        ReportColumn("predicted_usd", "Predicted", is_number=True, unit="US dollars"),
        ReportColumn("difference", "Difference", is_number=True, unit="%"),
    ]
    days = [
        _day(day.day.isoformat(), Transfers(day.bytes, day.usd), check.predicted, check.accepts_day(day))
        for day in check.report.days
    ]
    total = _day("Total", check.billed, check.predicted_total, check.agrees)
    blocks: list[Block] = [
        Paragraph(differs, "good" if check.agrees else "bad", within),
        ReportTable("days", columns, days, total),
        Paragraph(source, "note"),
    ]
    return ReportSection("check", "Compared with the cost report", blocks)


def _day(title: str, billed: Transfers, predicted: Transfers, is_accepted: bool) -> ReportRow:
    sizes = [format_bytes(part.bytes) for part in (billed, predicted)]
    costs = [Cell(usd(part.usd), (size,), part.usd) for part, size in zip((billed, predicted), sizes, strict=True)]
    percent = _difference_percent(billed.usd, predicted.usd)
    notes = () if is_accepted else ("outside",)
    emphasis = "good" if is_accepted else "bad"
    return [title, *sizes, *costs, Cell(difference(billed.usd, predicted.usd), notes, percent, emphasis)]


def conclusion(bill: MonthlyBill) -> str:
    """Return what the traffic costs, and which traffic is not billed, in a sentence without a full stop."""
    total, days = bill.total, format_number(bill.days)
    text = f"{usd(total.usd)} for {format_bytes(total.bytes)} between zones in {days} days"
    if not bill.unknown_bytes:
        return text
    return f"{text}; {format_bytes(bill.unknown_bytes)} from or to unknown zones are not billed"


def has_pair_prices(bill: MonthlyBill) -> bool:
    """Return whether not all pairs of zones with traffic have the same price."""
    return len({pair.usd_per_gb for pair in bill.pairs}) > 1


def pair_rows(bill: MonthlyBill) -> list[NamedTransfers]:
    """Return the bytes from each zone to each other one, with the price if not all have the same."""
    shows_price = has_pair_prices(bill)
    return [
        (
            f"{printable(pair.from_rack)} → {printable(pair.to_rack)}"
            + (f" (${pair.usd_per_gb:g}/GB)" if shows_price else ""),
            pair.transfers,
        )
        for pair in bill.pairs
    ]


def user_rows(bill: MonthlyBill) -> list[NamedTransfers]:
    """Return the bytes of each other producer and group."""
    sums: dict[str, list[Transfers]] = defaultdict(list)
    titles = {"produce": "producer", "other_read": "group"}
    for user in bill.others:
        if user.name is not None:
            sums[f"{titles.get(user.kind, user.kind)} {printable(user.name)}"].append(user.transfers)
    return [(name, total_of(parts)) for name, parts in sums.items()]


def shortened_rows(rows: Sequence[NamedTransfers], limit: int) -> list[NamedTransfers]:
    """Return the most expensive rows in their order, and the sum of the others."""
    if len(rows) <= limit:
        return list(rows)

    def by_cost(index: int) -> tuple[float, float, int]:
        part = rows[index][1]
        return -part.usd, -part.bytes, index

    kept = sorted(range(len(rows)), key=by_cost)[: limit - 1]
    rest = [part for index, (_, part) in enumerate(rows) if index not in kept]
    return [*(rows[index] for index in sorted(kept)), (f"{format_count(len(rest))} others", total_of(rest))]


def total_of(parts: Sequence[Transfers]) -> Transfers:
    """Return a sum."""
    return Transfers(sum(part.bytes for part in parts), sum(part.usd for part in parts))


def amount_cells(part: Transfers, whole: Transfers | None) -> tuple[str, str, str]:
    """Return bytes, cost, and the share of the cost of a whole, or of its bytes if it costs nothing."""
    share = ""
    if whole is not None and whole.usd:
        share = format_percent(100 * part.usd / whole.usd)
    elif whole is not None and whole.bytes:
        share = format_percent(100 * part.bytes / whole.bytes)
    return format_bytes(part.bytes), usd(part.usd), share


def saving_rows(bill: MonthlyBill) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield what each simulated change saves: title, amount, share, the bill then, and what to set."""
    for saving in bill.savings:
        if saving.after is not None:
            amount, share = _saved(bill, saving.after)
            yield saving.title, amount, share, usd(saving.after.usd), saving.change


def not_simulated(bill: MonthlyBill) -> str:
    """Return why changes are not simulated; empty if all are."""
    reasons = [
        f"{saving.title[:1].lower()}{saving.title[1:]}: {saving.reason}"
        for saving in bill.savings
        if saving.after is None
    ]
    return f"Not simulated: {'; '.join(reasons)}." if reasons else ""


def best_saving(bill: MonthlyBill) -> Saving | None:
    """Return the single change that saves most; None if none saves anything."""
    costs = {saving.key: saving.after.usd for saving in bill.savings if saving.after is not None}
    single = [saving for saving in bill.savings if saving.key in costs and saving.change]
    best = min(single, key=lambda saving: costs[saving.key], default=None)
    if best is None or bill.total.usd - costs[best.key] <= _MIN_SHARE * bill.total.usd:
        return None
    return best


def _saved(bill: MonthlyBill, after: Transfers) -> tuple[str, str]:
    saved, total = bill.total.usd - after.usd, bill.total.usd
    if abs(saved) <= _MIN_SHARE * total:
        return "nothing", ""
    share = format_percent(100 * saved / total) if total else ""
    return f"−{usd(-saved)}" if saved < 0 else usd(saved), share


def difference(billed: float, predicted: float) -> str:
    """Return the relative difference of what is billed from what is predicted."""
    percent = _difference_percent(billed, predicted)
    if percent is None:
        return "n/a"
    return f"{percent:+.1f} %" if predicted else "0 %"


def _difference_percent(billed: float, predicted: float) -> float | None:
    if not predicted:
        return None if billed else 0.0
    return 100 * (billed - predicted) / predicted


def verdict(check: BillCheck) -> tuple[str, str]:
    """Return whether the cost report agrees, and by how much it differs."""
    billed, predicted = check.billed, check.predicted_total
    within = "Within" if check.agrees else "Outside"
    differs = difference(billed.bytes, predicted.bytes)
    return (
        f"{within} the tolerance of {format_percent(100 * check.tolerance)}: ",
        f"billed dollars differ by {difference(billed.usd, predicted.usd)}, metered bytes by {differs}.",
    )


def notes(bill: MonthlyBill) -> list[str]:
    """Return how the bill is computed, a sentence each."""
    price, found = bill.price, []
    times = bill.days * DAY_MS / bill.simulated_ms
    if times != 1:
        found.append(f"{format_duration(bill.simulated_ms)} simulated, times {format_number(times)}.")
    received = f", ${price.received_usd_per_gb:g} of it to receive" if price.received_usd_per_gb else ""
    others = "; the scenario states other prices for some pairs of zones" if price.pairs else ""
    found.append(f"Price of {printable(price.provider)}: ${price.usd_per_gb:g} per GB (10⁹ bytes){received}{others}.")
    found.append(f"Source: {printable(price.as_of)}.")
    if bill.unbilled:
        groups = listed([printable(group) for group in bill.unbilled])
        found.append(f"Alongside, and not part of the bill: {groups}. State their traffic in other_traffic.")
    return found
