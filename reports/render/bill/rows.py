"""What terminal and page show of a bill: sentences, and rows with the same figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.analysis.bill.cost_report import BillCheck
from reports.analysis.bill.monthly_bill import DAY_MS, MonthlyBill, Saving, Transfers
from reports.analysis.formatting import format_bytes, format_count, format_duration, format_number, format_percent
from reports.analysis.formatting import format_usd as usd
from reports.analysis.text import listed, printable

MIN_SHARE = 1e-4
"""Smaller differences are shown as none."""

NamedTransfers = tuple[str, Transfers]


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


def kind_rows(bill: MonthlyBill) -> list[NamedTransfers]:
    """Return the bytes of each kind of traffic."""
    return [(part.title, part.transfers) for part in bill.kinds]


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
    if best is None or bill.total.usd - costs[best.key] <= MIN_SHARE * bill.total.usd:
        return None
    return best


def _saved(bill: MonthlyBill, after: Transfers) -> tuple[str, str]:
    saved, total = bill.total.usd - after.usd, bill.total.usd
    if abs(saved) <= MIN_SHARE * total:
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


@dataclass(frozen=True, slots=True)
class ComparedDays:
    """A day of a cost report, or all of them, next to the prediction.

    Attributes:
        title: the day; None for all days.
        billed: metered bytes and dollars in the report.
        predicted: the same as predicted.
        is_accepted: whether the dollars are within the tolerance.
    """

    title: str | None
    billed: Transfers
    predicted: Transfers
    is_accepted: bool

    @property
    def difference(self) -> str:
        """The relative difference of the dollars."""
        return difference(self.billed.usd, self.predicted.usd)

    @property
    def difference_percent(self) -> float | None:
        """The relative difference of the dollars as a number; None if nothing was predicted."""
        return _difference_percent(self.billed.usd, self.predicted.usd)


def day_rows(check: BillCheck) -> Iterator[ComparedDays]:
    """Yield each day, and the sum of all days."""
    for day in check.report.days:
        billed = Transfers(day.bytes, day.usd)
        yield ComparedDays(day.day.isoformat(), billed, check.predicted, check.accepts_day(day))
    yield ComparedDays(None, check.billed, check.predicted_total, check.agrees)


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
