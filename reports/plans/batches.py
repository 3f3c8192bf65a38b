"""The batches of a plan as the cells of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from reports.cells import UNKNOWN, Cell
from reports.page.details import Grid
from reports.plans.results import PlanResults
from reports.units import Writer, write_bytes, write_count, write_duration

_COLUMNS: Final[Mapping[str, tuple[str, Writer]]] = {
    "partitions": ("Partitions", write_count),
    "replicas": ("Replicas to copy", write_count),
    "bytes": ("Bytes to copy", write_bytes),
    "elections": ("Elections", write_count),
    "least_ms": ("Time, at least", write_duration),
}


def batch_grid(results: PlanResults, strategy: str) -> Grid:
    """Return a line per batch of a plan; the time is left out where no batch has one."""
    rows = [row for row in results.tables["batches"].to_pylist() if row["strategy"] == strategy]
    shown = [name for name in _COLUMNS if name != "least_ms" or any(row[name] is not None for row in rows)]
    lines = tuple((str(row["batch"]), tuple(_cell(row[name], _COLUMNS[name][1]) for name in shown)) for row in rows)
    return Grid(tuple(_COLUMNS[name][0] for name in shown), lines)


def _cell(value: Any, write: Callable[[float], str]) -> Cell:
    return Cell(UNKNOWN) if value is None else Cell(write(value), (), value)
