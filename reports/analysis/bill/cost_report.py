"""Compare a predicted bill with the traffic between availability zones in a provider's cost report.

Formats: AWS Cost and Usage Report 2.0, the legacy report (its headers are converted to those of 2.0) and FOCUS 1.x, as
CSV, gzipped CSV or Parquet; a file, or a folder of files of one format.

AWS meters each transfer twice: for the sender and for the receiver, each at half the price. `line_item_operation` says
which, as in `InterZone-Out`. Google Cloud meters the sender.

Source: docs.aws.amazon.com/cur/latest/userguide, "Understanding data transfer charges" and "Line item columns";
focus.finops.org, columns of FOCUS 1.0 to 1.2.
"""

from __future__ import annotations

import csv
import fnmatch
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from math import isfinite
from pathlib import Path
from typing import IO, Any, Final

from reports.analysis.bill.monthly_bill import MonthlyBill, Transfers
from reports.analysis.text import printable
from simulator.results.files import open_regular


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


_UNITS: Final = {
    "B": 1.0,
    "BYTE": 1.0,
    "BYTES": 1.0,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "GBS": 1e9,
    "GIGABYTE": 1e9,
    "GIGABYTES": 1e9,
    "TB": 1e12,
    "KIB": 2.0**10,
    "KIBIBYTE": 2.0**10,
    "MIB": 2.0**20,
    "MEBIBYTE": 2.0**20,
    "GIB": 2.0**30,
    "GIBIBYTE": 2.0**30,
    "TIB": 2.0**40,
    "TEBIBYTE": 2.0**40,
}


def line_values(row: Mapping[str, Any], format_: ReportFormat, place: str) -> tuple[date, float, float]:
    """Return the day, the bytes and the cost of a line."""
    currency = cell_text(row.get(format_.currency)) or "USD"
    if currency != "USD":
        raise CostReportError(f"{place}: {format_.currency} is {printable(currency)}; only USD is supported")
    unit = cell_text(row.get(format_.unit)) if format_.unit else ""
    factor = _UNITS.get((unit or "GB").upper())
    if factor is None:
        raise CostReportError(f"{place}: {format_.unit} is {_shown(unit)}, expected a unit of bytes, such as GB")
    amount, usd = (_number(row, name, place) for name in (format_.amount, format_.cost))
    return _day(row, format_.start, place), amount * factor, usd


def _number(row: Mapping[str, Any], name: str, place: str) -> float:
    value = row[name]
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number):
        raise CostReportError(f"{place}: {name} is {_shown(value)}, expected a number")
    return number


def _day(row: Mapping[str, Any], name: str, place: str) -> date:
    value = row[name]
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip().replace("Z", "+00:00").replace(" UTC", "+00:00"))
        if isinstance(value, datetime):
            return (value if value.tzinfo is None else value.astimezone(UTC)).date()
    except (ValueError, OverflowError):
        value = None
    if isinstance(value, date):
        return value
    raise CostReportError(f"{place}: {name} is {_shown(row[name])}, expected a time such as 2026-10-01T00:00:00Z")


def line_tags(row: Mapping[str, Any], format_: ReportFormat, place: str) -> dict[str, str]:
    """Return the tags of a line by their names without prefix and in lower case."""
    own = row.get(format_.tags)
    if isinstance(own, str):
        own = _tags_in_json(own, format_.tags, place)
    # Parquet has maps as lists of pairs.
    listed = own.items() if isinstance(own, dict) else own if isinstance(own, list) else ()
    pairs = [pair for pair in listed if isinstance(pair, tuple)]
    pairs += [(name, value) for name, value in row.items() if name.startswith(("resource_tags_", "resourceTags/"))]
    return {plain_tag(str(name)): cell_text(value) for name, value in pairs}


def _tags_in_json(text: str, name: str, place: str) -> dict[str, Any] | None:
    """Return the tags in a column of CSV; None for an empty one."""
    if not text.strip():
        return None
    try:
        tags = json.loads(text)
    except (ValueError, RecursionError):
        tags = text
    if not isinstance(tags, dict | None):
        raise CostReportError(f"{place}: {name} is {_shown(text)}, expected an object in JSON")
    return tags


def plain_tag(name: str) -> str:
    """Return a tag's name: reports prefix it, as in `resource_tags_user_app`, `resourceTags/user:App` or `user_app`."""
    bare = re.sub(r"^resource_?tags[_/]", "", name, flags=re.IGNORECASE)
    return re.sub(r"^user[_:]", "", bare).lower()


def cell_text(value: object) -> str:
    """Return a cell as text, empty if it is null."""
    return "" if value is None else str(value)


def _shown(value: object) -> str:
    return "empty" if value in (None, "") else f"'{printable(str(value))[:40]}'"


_SUFFIXES: Final = (".csv", ".csv.gz", ".parquet")
csv.field_size_limit(2**24)


def report_files(path: Path) -> list[Path]:
    """Return the files of a report: the file itself, or those of a folder; raise CostReportError if there is none."""
    if not path.exists():
        raise CostReportError(f"{path}: no such file or folder")
    if not path.is_dir():
        if not path.name.lower().endswith(_SUFFIXES):
            raise CostReportError(f"{path}: unknown type of file (files: {', '.join(_SUFFIXES)})")
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name.lower().endswith(_SUFFIXES))
    if not files:
        raise CostReportError(f"{path}: no cost report in this folder (files: {', '.join(_SUFFIXES)})")
    return files


def report_rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Read a file.

    Returns the file and its columns, then the place and the columns of each row. Raises CostReportError if the file is
    damaged.
    """
    return _parquet_rows(file) if file.name.lower().endswith(".parquet") else _csv_rows(file)


def _csv_rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the columns, then each row with its place."""
    try:
        with _open_text(file) as text:
            reader = csv.reader(text, strict=True)
            header = [_column(name) for name in next(reader, [])]
            yield str(file), dict.fromkeys(header)
            for row in reader:
                if len(row) != len(header):
                    fields = f"{len(row)} fields, but the header has {len(header)}"
                    raise CostReportError(f"{file}:{reader.line_num}: {fields}")
                yield f"{file}:{reader.line_num}", dict(zip(header, row, strict=True))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise CostReportError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _open_text(file: Path) -> IO[str]:
    if file.suffix.lower() == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def _parquet_rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the columns, then each row with its place; only the needed columns are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    needed = {name for format_ in (CUR, FOCUS) for name in columns_of(format_)}
    try:
        with open_regular(file) as opened:
            parquet = pq.ParquetFile(opened)
            names = parquet.schema_arrow.names
            yield str(file), dict.fromkeys(names)
            columns = [name for name in names if name in needed or name.startswith("resource_tags_")]
            first = 0
            for batch in parquet.iter_batches(columns=columns, use_threads=False):
                for number, row in enumerate(batch.to_pylist(), start=first):
                    yield f"{file}, row {number}", row
                first += batch.num_rows
    except (OSError, ValueError, TypeError, NotImplementedError, OverflowError, pa.ArrowException) as error:
        reason = str(getattr(error, "strerror", None) or error).split("\n")[0]
        raise CostReportError(f"{file}: cannot be read as Parquet: {printable(reason)}") from None


def _column(name: str) -> str:
    """Return the name of a column in CUR 2.0 for one of the legacy report, such as `lineItem/UsageType`."""
    if "/" not in name or name.startswith("resourceTags/"):
        return name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("/", "_")).lower().replace("__", "_")


_REGIONAL: Final = re.compile(r"(?:^|[-: ])DataTransfer-Regional-Bytes$")
_DESCRIBED: Final = re.compile(r"regional data transfer|inter[- ]zone (?:data transfer|egress)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LineFilter:
    """Which lines of a report are of the cluster and the application.

    Attributes:
        resources: patterns of resource ids, any of which must match; empty for all.
        tags: names and values, all of which must be equal.
    """

    resources: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()

    def includes(self, resource: str, tags: Mapping[str, str]) -> bool:
        """Return whether a line is included."""
        is_listed = not self.resources or any(fnmatch.fnmatchcase(resource, pattern) for pattern in self.resources)
        return is_listed and all(tags.get(plain_tag(name)) == value for name, value in self.tags)


@dataclass(frozen=True, slots=True)
class BilledDay:
    """The metered traffic of one day (UTC).

    Attributes:
        bytes: bytes sent plus bytes received, as metered.
        usd: their cost.
    """

    day: date
    bytes: float
    usd: float


@dataclass(frozen=True, slots=True)
class CostReport:
    """The traffic between zones in a cost report.

    Attributes:
        source: the file or folder.
        format: name of the format.
        days: the days with lines, in order.
        sent_bytes: the part that was metered at senders.
        received_bytes: the part that was metered at receivers.
    """

    source: str
    format: str
    days: tuple[BilledDay, ...]
    lines: int
    sent_bytes: float
    received_bytes: float


def read_cost_report(path: Path, chosen: LineFilter | None = None) -> CostReport:
    """Read the lines of traffic between zones.

    `path`: a file, or a folder whose files are read, those in folders below it included. `chosen`: which lines to
    include; all by default. Returns the days of the report. Raises CostReportError if a file is damaged or of an
    unknown format, a value is invalid, or no line matches.
    """
    chosen = chosen or LineFilter()
    by_day: dict[date, tuple[float, float]] = {}
    totals = {"In": 0.0, "Out": 0.0, "": 0.0}
    lines, formats, seen = 0, dict[str, None](), 0
    for file in report_files(path):
        for place, row, format_ in _matching_rows(file):
            seen += 1
            formats[format_.name] = None
            if not chosen.includes(cell_text(row.get(format_.resource)), line_tags(row, format_, place)):
                continue
            day, amount, usd = line_values(row, format_, place)
            before = by_day.get(day, (0.0, 0.0))
            by_day[day] = before[0] + amount, before[1] + usd
            totals[_direction(row, format_)] += amount
            lines += 1
    if not lines:
        reason = f"none of its {seen:,} lines has the resources and tags" if seen else "no line of its usage"
        raise CostReportError(f"{path}: no traffic between zones: {reason} (DataTransfer-Regional-Bytes)")
    unknown = totals[""] / 2
    return CostReport(
        source=str(path),
        format=" and ".join(formats),
        days=tuple(BilledDay(day, *by_day[day]) for day in sorted(by_day)),
        lines=lines,
        sent_bytes=totals["Out"] + unknown,
        received_bytes=totals["In"] + unknown,
    )


def _matching_rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any], ReportFormat]]:
    """Yield the place, the columns and the format of each line of traffic between zones."""
    rows = report_rows(file)
    columns = next(rows)[1]
    format_ = format_of(file, list(columns))
    for place, row in rows:
        category = row.get(format_.category)
        if category not in (None, "") and category not in format_.usage_categories:
            continue
        usage = next((cell_text(row[name]) for name in format_.usage if row.get(name)), "")
        if _REGIONAL.search(usage) or any(_DESCRIBED.search(cell_text(row.get(name))) for name in format_.described):
            yield place, row, format_


def _direction(row: Mapping[str, Any], format_: ReportFormat) -> str:
    """Return `In` or `Out`, or nothing if the line does not say."""
    found = re.search(r"-(In|Out)$", cell_text(row.get(format_.operation)))
    return found[1] if found else ""


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
