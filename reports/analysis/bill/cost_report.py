"""Read the lines of traffic between availability zones from a provider's cost report.

Formats: AWS Cost and Usage Report 2.0, the legacy report (its headers are converted to those of 2.0) and FOCUS 1.x, as
CSV, gzipped CSV or Parquet; a file, or a folder of files of one format.

AWS meters each transfer twice: for the sender and for the receiver, each at half the price. `line_item_operation` says
which, as in `InterZone-Out`. Google Cloud meters the sender.

Source: docs.aws.amazon.com/cur/latest/userguide, "Understanding data transfer charges" and "Line item columns";
focus.finops.org, columns of FOCUS 1.0 to 1.2.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from reports.analysis.bill.report_formats import CostReportError, ReportFormat, format_of
from reports.analysis.bill.report_rows import report_files, report_rows
from reports.analysis.bill.report_values import cell_text, line_tags, line_values, plain_tag

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
        day: the day.
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
        lines: the number of lines.
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

    Args:
        path: a file, or a folder whose files are read, those in folders below it included.
        chosen: which lines to include; all by default.

    Returns:
        The days of the report.

    Raises:
        CostReportError: a file is damaged or of an unknown format, a value is invalid, or no line matches.
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
