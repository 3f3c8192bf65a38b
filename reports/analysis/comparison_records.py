"""The comparison as flat records, for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reports.analysis.comparison import ComparisonRow, verdict_text
from reports.analysis.metrics import METRICS
from reports.analysis.notes import notes

RECORD_KEYS: tuple[str, ...] = (
    "scenario",
    "assignor",
    "seeds",
    "verdict",
    "cause",
    "notes",
    *(metric.name + part for metric in METRICS for part in ("", "_min", "_max", "_runs")),
)
"""The keys of a record, in order."""


def records(rows: Sequence[ComparisonRow]) -> list[dict[str, Any]]:
    """The rows as flat records, always with the same keys.

    A metric has its median, `_min`, `_max` and how many `_runs`; `cause` is the first run's that has one, and `notes`
    are those on this assignor.
    """
    every = notes(rows)
    return [
        _record(row, [each.text for each in every if each.scenario == row.scenario and row.assignor in each.assignors])
        for row in rows
    ]


def _record(row: ComparisonRow, of_row: list[str]) -> dict[str, Any]:
    cause = row.causes[0].text if row.causes else None
    about: list[Any] = [row.scenario, row.assignor, list(row.seeds), verdict_text(row), cause, of_row]
    for metric in METRICS:
        spread = row.spreads[metric.name]
        about += [spread.median, spread.least, spread.most, spread.runs] if spread else [None, None, None, 0]
    return dict(zip(RECORD_KEYS, about, strict=True))
