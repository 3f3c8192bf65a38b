"""The values of a line of a cost report: day, bytes, cost and tags."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from math import isfinite
from typing import Any, Final

from reports.analysis.bill.report_formats import CostReportError, ReportFormat
from reports.analysis.text import printable

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
