"""Bills for tests of pages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import permutations

from reports.analysis.bill.cost_report import BillCheck, BilledDay, CostReport, check_bill
from reports.analysis.bill.monthly_bill import BillPart, BillPrice, MonthlyBill, OtherUser, Saving, Transfers

ZONES = ("az1", "az2", "az3")
KINDS = ("source_read", "replication", "produce", "produce_replication", "other_read")
TB = 1e12


def sample_bill(zones: Sequence[str] = ZONES, name: str = "orders", user: str = "search") -> MonthlyBill:
    """Return a bill with traffic between all zones, the first pair of which has another price."""
    pairs = list(permutations(zones, 2))
    parts = tuple(
        BillPart(kind, source, target, TB * (1 + number + 2 * row))
        for row, kind in enumerate(KINDS)
        for number, (source, target) in enumerate(pairs)
    )
    price = BillPrice("aws", 0.02, 0.01, "2026-11, example.org/prices", {pairs[0]: (0.05, 0.0)})
    bill = MonthlyBill(name, "ha", 30, 86_400_000, price, parts, (OtherUser("other_read", user, "t", parts_of(1)),), TB)
    savings = (
        Saving("follower_fetching", "Follower fetching (KIP-392)", "client.rack", Transfers(1, bill.total.usd / 2)),
        Saving("rack_aware_producing", "Rack-aware producing (KIP-1123)", "a config", None, "all records have keys"),
        Saving("compression", "Best compression", "compression.type", Transfers(1, bill.total.usd / 4)),
        Saving("all", "All changes", "", Transfers(1, bill.total.usd / 8)),
    )
    return MonthlyBill(name, "ha", 30, 86_400_000, price, parts, bill.others, TB, savings)


def parts_of(terabytes: float) -> Transfers:
    """Return an amount at $20 per terabyte."""
    return Transfers(terabytes * TB, 20 * terabytes)


def sample_check(bill: MonthlyBill, source: str = "cur.csv", factor: float = 1.05) -> BillCheck:
    """Return the comparison with a report of three days, the last of which is twice as expensive."""
    daily = bill.billed(only_brokers=False)
    days = [(factor, 0), (factor, 1), (2 * factor, 2)]
    report = CostReport(
        source=source,
        format="AWS Cost and Usage Report",
        days=tuple(
            BilledDay(date(2026, 10, 1) + timedelta(day), by * daily.bytes / 30, by * daily.usd / 30)
            for by, day in days
        ),
        lines=6,
        sent_bytes=1.0,
        received_bytes=1.0,
    )
    return check_bill(bill, report, 0.1)
