"""A strategy and what its plan comes to, as plain figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

TODAY: Final = "today"
"""The name of the row about the cluster as it stands."""

CRITERIA: Final = ("storage", "constraints", "movement", "leadership", "determinism", "failover")
"""What plans are judged by."""

_DOWN = ("range", "mean_range", "most_leaders", "leaderless")

FIGURES: Final = (
    "storage_bytes_range", "storage_bytes_cv", "replicas_range", "topic_replicas_range",
    "broken_replication_factor", "broken_duplicate", "broken_forbidden_broker", "broken_rack",
    "replicas_moved", "bytes_moved", "replicas_moved_bound",
    "leaders_range", "topic_leaders_range", "leaders_out_of_sync",
    "leaders_changed_by_order", "leaders_changed_by_copy",
    "rerun_replicas_moved", "rerun_leaders_changed", "distinct_plans", "shuffles",
    *(f"{what}_down_{figure}" for what in ("broker", "rack") for figure in _DOWN),
)  # fmt: skip
"""The names of all figures, as they stand in JSON."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A strategy in the comparison.

    Attributes:
        strategy: its name, or TODAY.
        status: how it came out; empty for TODAY.
        reason: why it has no plan, if it has none.
        figures: by the names in FIGURES; what is missing or None is not known or makes no sense.
        aims: which of the CRITERIA it was made for.
        notes: what else its user should know.
        objective: what it makes as small or as large as it can, in words; empty if nothing as a whole.
        value: what the plan comes to in that.
        bound: what no plan can be better than, as it proved.
        changes: how many partitions change.
        elections: how many partitions need their preferred leader to be elected.
        batches: in how many steps the plan is written.
        folder: where its files are, if they were written.
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
        """Whether there are figures to show."""
        return bool(self.figures)


def records(rows: Sequence[PlanRow]) -> list[dict[str, Any]]:
    """The rows as mappings for scripts, always with the same keys, in full precision."""
    return [dict(_record(row)) for row in rows]


def parse_plan_rows(records: Sequence[Mapping[str, Any]]) -> list[PlanRow]:
    """Read rows back from what `records` made of them."""
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
