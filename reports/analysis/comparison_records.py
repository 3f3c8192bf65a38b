"""The comparison as flat records for JSON, CSV and data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reports.analysis.comparison import ComparisonRow, verdict_text
from reports.analysis.metrics import METRIC
from reports.analysis.notes import notes

_LABEL_KEYS = (
    "scenario",
    "assignor",
    "broker_release",
    "client_release",
    "protocol",
    "seeds",
    "verdict",
    "cause",
    "notes",
)


def record_keys(metrics: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the keys of a record in order, with those of the given metrics; by default of all."""
    names = metrics or tuple(METRIC)
    return (*_LABEL_KEYS, *(name + part for name in names for part in ("", "_min", "_max", "_runs")))


def records(rows: Sequence[ComparisonRow], metrics: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the rows as flat records with the keys `record_keys`.

    Each metric has its median, `_min`, `_max` and the number of `_runs` in which it is known. `cause` is the first
    problem of a run, `notes` are the notes on the assignor. If other applications ran at the same time, `neighbors` has
    their medians.
    """
    all_notes = notes(rows)
    return [
        _record(row, metrics, [n.text for n in all_notes if n.scenario == row.scenario and row.assignor in n.assignors])
        for row in rows
    ]


def _record(row: ComparisonRow, metrics: Sequence[str], row_notes: list[str]) -> dict[str, Any]:
    cause = row.problems[0].text if row.problems else None
    values: list[Any] = [row.scenario, row.assignor, row.broker_release, row.client_release, row.protocol]
    values += [list(row.seeds), verdict_text(row), cause, row_notes]
    for name in metrics or METRIC:
        spread = row.spreads[name]
        values += [spread.median, spread.minimum, spread.maximum, spread.runs] if spread else [None, None, None, 0]
    record = dict(zip(record_keys(metrics), values, strict=True))
    if row.neighbors:
        record["neighbors"] = [neighbor.record() for neighbor in row.neighbors]
    return record
