"""The parts of a bill as tables, for formats that scripts read."""

from __future__ import annotations

from reports.analysis.bill.cost_report import BillCheck
from reports.analysis.bill.monthly_bill import MonthlyBill, Saving, Transfers
from reports.analysis.runs.breakdowns import TRAFFIC_KINDS
from reports.render.bill.rows import conclusion
from reports.render.terminal.facts import FactTable


def tables(bill: MonthlyBill, check: BillCheck | None = None) -> list[FactTable]:
    """Return the kinds of traffic, pairs of zones, other producers and groups, savings and days as tables."""
    amounts = {"bytes": "bytes", "usd": "US dollars"}
    found = [
        FactTable(
            "kinds",
            f"{bill.scenario}, {bill.assignor}: {conclusion(bill)}",
            {"kind": "traffic", **amounts},
            [{"kind": part.title, **_cells(part.transfers)} for part in bill.kinds],
        ),
        FactTable(
            "rack_pairs",
            "By pair of zones",
            {"from_rack": "from", "to_rack": "to", "usd_per_gb": "US dollars per GB", **amounts},
            [
                {
                    "from_rack": pair.from_rack,
                    "to_rack": pair.to_rack,
                    "usd_per_gb": pair.usd_per_gb,
                    **_cells(pair.transfers),
                }
                for pair in bill.pairs
            ],
        ),
    ]
    if bill.others:
        columns = {"kind": "traffic", "name": "producer or group", "topic": "topic", **amounts}
        rows = [
            {"kind": TRAFFIC_KINDS[user.kind], "name": user.name, "topic": user.topic, **_cells(user.transfers)}
            for user in bill.others
        ]
        found.append(FactTable("other_traffic", "Other producers and groups", columns, rows))
    if bill.savings:
        columns = {"title": "change", "change": "what to set", "usd": "US dollars then", "saved_usd": "saved"}
        changes = [_saving_row(bill, saving) for saving in bill.savings]
        found.append(FactTable("savings", "What would save", {**columns, "reason": "does not apply"}, changes))
    if check is not None:
        columns = {
            "day": "day (UTC)",
            "billed_bytes": "bytes metered",
            "predicted_bytes": "predicted",
            "billed_usd": "US dollars billed",
            "predicted_usd": "predicted",
        }
        rows = [
            {
                "day": day.day.isoformat(),
                "billed_bytes": round(day.bytes),
                "predicted_bytes": round(check.predicted.bytes),
                "billed_usd": round(day.usd, 2),
                "predicted_usd": round(check.predicted.usd, 2),
            }
            for day in check.report.days
        ]
        found.append(FactTable("days", "Predicted and billed", columns, rows))
    return found


def _saving_row(bill: MonthlyBill, saving: Saving) -> dict[str, object]:
    after = saving.after
    usd_ = None if after is None else round(after.usd, 2)
    saved = None if after is None else round(bill.total.usd - after.usd, 2)
    return {"title": saving.title, "change": saving.change, "usd": usd_, "saved_usd": saved, "reason": saving.reason}


def _cells(transfers: Transfers) -> dict[str, float]:
    return {"bytes": round(transfers.bytes), "usd": round(transfers.usd, 2)}
