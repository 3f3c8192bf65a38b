"""A strategy with the metrics of its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

TODAY: Final = "today"
"""Name of the row on the current cluster."""

CRITERIA: Final = ("storage", "constraints", "movement", "leadership", "determinism", "failover")
"""Criteria by which plans are compared."""

_FAILURE_FIGURES = ("range", "mean_range", "most_leaders", "leaderless")

FIGURES: Final = (
    "storage_bytes_range", "storage_bytes_cv", "replicas_range", "topic_replicas_range",
    "broken_replication_factor", "broken_duplicate", "broken_forbidden_broker", "broken_rack",
    "replicas_moved", "bytes_moved", "replicas_moved_bound",
    "leaders_range", "topic_leaders_range", "leaders_out_of_sync",
    "leaders_changed_by_order", "leaders_changed_by_copy",
    "rerun_replicas_moved", "rerun_leaders_changed", "distinct_plans", "shuffles",
    *(f"{failed}_down_{figure}" for failed in ("broker", "rack") for figure in _FAILURE_FIGURES),
)  # fmt: skip
"""Keys of all metrics of plans."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A strategy in the comparison.

    Attributes:
        strategy: name of the strategy, or TODAY.
        status: status of the plan; empty for TODAY.
        reason: why there is no plan; empty if there is one.
        figures: metrics by the keys FIGURES; missing or None if unknown or not applicable.
        aims: the CRITERIA that the strategy optimizes.
        notes: further notes for the user.
        objective: description of the objective; empty without a single objective.
        value: value of the objective.
        bound: proven bound of the objective.
        changes: number of changed partitions.
        elections: number of partitions that need a preferred leader election.
        batches: number of batches of the plan.
        folder: folder with the files of the plan; None if they were not written.
    """

    strategy: str
    status: str = ""
    reason: str = ""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    aims: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    objective: str = ""
    value: float | None = None
    bound: float | None = None
    changes: int | None = None
    elections: int | None = None
    batches: int | None = None
    folder: str | None = None

    @property
    def has_plan(self) -> bool:
        """Whether there are metrics to show."""
        return bool(self.figures)


def records(rows: Sequence[PlanRow]) -> list[dict[str, Any]]:
    """Return the rows as records for JSON, with the same keys for all rows."""
    return [dict(_record(row)) for row in rows]


def parse_plan_rows(records: Sequence[Mapping[str, Any]]) -> list[PlanRow]:
    """Return rows from their records."""
    return [_row(record) for record in records]


def _row(record: Mapping[str, Any]) -> PlanRow:
    return PlanRow(
        strategy=record["strategy"],
        status=record["status"] or "",
        reason=record["reason"] or "",
        figures={name: record[name] for name in FIGURES if record.get(name) is not None},
        aims=frozenset(record["aims"]),
        notes=tuple(record["notes"]),
        objective=record["objective"] or "",
        value=record["value"],
        bound=record["bound"],
        changes=record["changes"],
        elections=record["elections"],
        batches=record["batches"],
        folder=record["folder"],
    )


def _record(row: PlanRow) -> Iterator[tuple[str, Any]]:
    yield from (("strategy", row.strategy), ("status", row.status or None), ("reason", row.reason or None))
    yield from ((name, row.figures.get(name)) for name in FIGURES)
    yield "aims", [criterion for criterion in CRITERIA if criterion in row.aims]
    yield from (("objective", row.objective or None), ("value", row.value), ("bound", row.bound))
    yield from (("changes", row.changes), ("elections", row.elections), ("batches", row.batches))
    yield from (("folder", row.folder), ("notes", list(row.notes)))
