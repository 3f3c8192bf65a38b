"""Compare a predicted bill with a provider's cost report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.analysis.bill.cost_report import BilledDay, CostReport
from reports.analysis.bill.monthly_bill import MonthlyBill, Transfers


@dataclass(frozen=True, slots=True)
class BillCheck:
    """A predicted bill next to the real one.

    Attributes:
        predicted: the metered bytes and dollars that a day is predicted to have.
        tolerance: the largest relative difference of dollars that is accepted in total.
        only_brokers: whether the report has only the resources of brokers.
    """

    report: CostReport
    predicted: Transfers
    tolerance: float
    only_brokers: bool

    @property
    def billed(self) -> Transfers:
        """The metered bytes and dollars of all days of the report."""
        return Transfers(sum(day.bytes for day in self.report.days), sum(day.usd for day in self.report.days))

    @property
    def predicted_total(self) -> Transfers:
        """The prediction for the same number of days."""
        count = len(self.report.days)
        return Transfers(self.predicted.bytes * count, self.predicted.usd * count)

    @property
    def agrees(self) -> bool:
        """Whether the dollars agree in total."""
        return self.accepts(self.billed.usd, self.predicted_total.usd)

    def accepts(self, billed: float, predicted: float) -> bool:
        """Return whether an amount is as predicted, within the tolerance."""
        return abs(billed - predicted) <= self.tolerance * abs(predicted) + 1e-9

    def accepts_day(self, day: BilledDay) -> bool:
        """Return whether the dollars of a day are as predicted."""
        return self.accepts(day.usd, self.predicted.usd)

    def record(self) -> Mapping[str, Any]:
        """Return the check as JSON-serializable data."""
        return {
            "source": self.report.source,
            "format": self.report.format,
            "lines": self.report.lines,
            "sent_bytes": self.report.sent_bytes,
            "received_bytes": self.report.received_bytes,
            "only_brokers": self.only_brokers,
            "tolerance": self.tolerance,
            "agrees": self.agrees,
            "billed_bytes": self.billed.bytes,
            "billed_usd": self.billed.usd,
            "predicted_bytes": self.predicted_total.bytes,
            "predicted_usd": self.predicted_total.usd,
            "days": [
                {
                    "day": day.day.isoformat(),
                    "billed_bytes": day.bytes,
                    "billed_usd": day.usd,
                    "predicted_bytes": self.predicted.bytes,
                    "predicted_usd": self.predicted.usd,
                    "agrees": self.accepts_day(day),
                }
                for day in self.report.days
            ],
        }


def check_bill(bill: MonthlyBill, report: CostReport, tolerance: float, *, only_brokers: bool = False) -> BillCheck:
    """Compare a bill with a cost report.

    `tolerance`: the largest relative difference that is accepted. `only_brokers` says whether the report has only the
    resources of brokers; what their clients send and receive is then metered elsewhere. Returns the prediction per day
    next to the days of the report.
    """
    billed = bill.billed(only_brokers=only_brokers)
    return BillCheck(report, Transfers(billed.bytes / bill.days, billed.usd / bill.days), tolerance, only_brokers)
