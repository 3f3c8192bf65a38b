"""The batches of a plan as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from reports.analysis.cells import UNKNOWN, Cell, Grid
from reports.analysis.formatting import NumberFormat, format_bytes, format_count, format_duration
from reports.analysis.plans.results import PlanResults

_COLUMNS: Final[Mapping[str, tuple[str, NumberFormat]]] = {
    "partitions": ("Partitions", format_count),
    "replicas": ("Replicas to copy", format_count),
    "bytes": ("Bytes to copy", format_bytes),
    "elections": ("Elections", format_count),
    "min_copy_ms": ("Minimum time", format_duration),
}


def batch_grid(results: PlanResults, strategy: str) -> Grid:
    """Return one line per batch of a plan; without the column of minimum times if no batch has one."""
    rows = [row for row in results.tables["batches"].to_pylist() if row["strategy"] == strategy]
    columns = [name for name in _COLUMNS if name != "min_copy_ms" or any(row[name] is not None for row in rows)]
    lines = tuple((str(row["batch"]), tuple(_cell(row[name], _COLUMNS[name][1]) for name in columns)) for row in rows)
    return Grid(tuple(_COLUMNS[name][0] for name in columns), lines)


def _cell(value: Any, write: Callable[[float], str]) -> Cell:
    return Cell(UNKNOWN) if value is None else Cell(write(value), (), value)
