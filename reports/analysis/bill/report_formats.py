"""The columns of cost reports: AWS Cost and Usage Report 2.0 and FOCUS 1.x."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reports.analysis.text import printable


class CostReportError(ValueError):
    """A cost report that cannot be read or has no line of traffic between zones; the message says what and where."""


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """The columns of a kind of cost report.

    Attributes:
        usage: columns of which the first that the file has names the usage.
        described: columns with a description of the charge, used if `usage` does not match.
        operation: the column that names the direction.
        start: the column of the start of usage.
        amount: the column of the amount.
        unit: the column of its unit; the amounts are gigabytes without it.
        cost: the column of the cost.
        currency: the column of its currency.
        category: the column of the category of a line.
        resource: the column of the resource.
        tags: the column of the tags: a map, or JSON.
    """

    name: str
    usage: tuple[str, ...]
    described: tuple[str, ...]
    operation: str
    start: str
    amount: str
    unit: str | None
    cost: str
    currency: str
    category: str
    usage_categories: frozenset[str]
    resource: str
    tags: str

    @property
    def required(self) -> tuple[str, ...]:
        """The columns without which a file is not of this format."""
        return self.start, self.amount, self.cost


CUR: Final = ReportFormat(
    name="AWS Cost and Usage Report",
    usage=("line_item_usage_type",),
    described=(),
    operation="line_item_operation",
    start="line_item_usage_start_date",
    amount="line_item_usage_amount",
    unit="pricing_unit",
    cost="line_item_unblended_cost",
    currency="line_item_currency_code",
    category="line_item_line_item_type",
    usage_categories=frozenset({"Usage", "DiscountedUsage"}),
    resource="line_item_resource_id",
    tags="resource_tags",
)
FOCUS: Final = ReportFormat(
    name="FOCUS",
    usage=("x_UsageType", "SkuMeter"),
    described=("ChargeDescription", "SkuMeter"),
    operation="x_Operation",
    start="ChargePeriodStart",
    amount="ConsumedQuantity",
    unit="ConsumedUnit",
    cost="BilledCost",
    currency="BillingCurrency",
    category="ChargeCategory",
    usage_categories=frozenset({"Usage"}),
    resource="ResourceId",
    tags="Tags",
)


def format_of(file: Path, columns: Sequence[str]) -> ReportFormat:
    """Return the format of a file; raise CostReportError if it lacks columns of every format."""
    for format_ in (CUR, FOCUS):
        if all(name in columns for name in format_.required):
            if any(name in columns for name in (*format_.usage, *format_.described)):
                return format_
            names = ", ".join((*format_.usage, *format_.described))
            raise CostReportError(f"{file}: {format_.name} without a column that names the usage ({names})")
    found = printable(", ".join(columns[:6])) + (", …" if len(columns) > 6 else "")
    expected = " or ".join(f"{', '.join(format_.required)} ({format_.name})" for format_ in (CUR, FOCUS))
    raise CostReportError(f"{file}: unknown columns ({found}); expected {expected}")


def columns_of(format_: ReportFormat) -> Iterator[str]:
    """Yield the columns that are read."""
    yield from (*format_.usage, *format_.described, *format_.required)
    yield from (format_.operation, format_.currency, format_.category, format_.resource, format_.tags)
    if format_.unit is not None:
        yield format_.unit
