"""Cells of CSV tables that spreadsheets do not calculate."""

from __future__ import annotations

import re
from typing import Any

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


def csv_cell(value: Any) -> Any:
    """Return a value of a CSV table; text that a spreadsheet would read as a formula begins with an apostrophe."""
    is_formula = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value
