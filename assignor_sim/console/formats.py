"""Output format of several commands."""

from __future__ import annotations

from enum import StrEnum


class TableOrJson(StrEnum):
    """Output format: a table for people, or JSON."""

    TABLE = "table"
    JSON = "json"
