"""Output formats of commands."""

from __future__ import annotations

from enum import StrEnum


class TableOrJson(StrEnum):
    """Output format: a table for people, or JSON."""

    TABLE = "table"
    JSON = "json"


class FactFormat(StrEnum):
    """Output format of lists of facts, as in `reports.render.terminal.facts`."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
