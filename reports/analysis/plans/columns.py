"""The columns of the table of plans; docs/reference/plan-criteria.md has a section on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from reports.analysis.cells import UNKNOWN
from reports.analysis.formatting import format_bytes, format_count
from reports.analysis.plans.plan_row import TODAY, PlanRow

_VIOLATIONS: Final = {
    "broken_replication_factor": "factor",
    "broken_duplicate": "duplicate",
    "broken_forbidden_broker": "excluded",
    "broken_rack": "rack",
}


@dataclass(frozen=True, slots=True)
class PlanColumn:
    """A column of the table.

    Attributes:
        title: full title.
        header: short title in two lines.
        criterion: the criterion that it belongs to.
        cell: returns the value of a row and the note below it; either may be empty.
        figures: keys of the metrics whose sum is the value.
        meaning: definition, in one sentence.
    """

    title: str
    header: str
    criterion: str
    cell: Callable[[PlanRow], tuple[str, str]]
    figures: tuple[str, ...]
    meaning: str

    @property
    def full_title(self) -> str:
        """Title, and how the value is computed if the title does not say so."""
        return f"{self.title} per broker (max − min)" if self.header.endswith("max−min") else self.title

    def value(self, row: PlanRow) -> float | None:
        """Return the value without rounding; None if it is unknown or not applicable."""
        known = [value for name in self.figures if (value := row.figures.get(name)) is not None]
        return sum(known) if known else None


def violations(row: PlanRow) -> float:
    """Return the number of violated rules."""
    return sum(row.figures.get(name) or 0 for name in _VIOLATIONS)


def _storage(row: PlanRow) -> tuple[str, str]:
    storage_range, cv = row.figures.get("storage_bytes_range"), row.figures.get("storage_bytes_cv")
    return _known(storage_range, format_bytes), "" if cv is None else f"cv {cv:.2f}"


def _replicas(row: PlanRow) -> tuple[str, str]:
    return _count(row, "replicas_range"), _count(row, "topic_replicas_range")


def _broken(row: PlanRow) -> tuple[str, str]:
    counts = {word: row.figures.get(name) or 0 for name, word in _VIOLATIONS.items()}
    violated = [word for word, count in counts.items() if count]
    no_racks = "" if row.figures.get("broken_rack") is not None else "no racks"
    more = "…" if len(violated) > 1 else ""
    return format_count(violations(row)), f"{violated[0]}{more}" if violated else no_racks


def _moved(row: PlanRow) -> tuple[str, str]:
    if row.strategy == TODAY:
        return "", ""
    bound = row.figures.get("replicas_moved_bound")
    return _count(row, "replicas_moved"), "" if bound is None else f"of {format_count(bound)}"


def _copied(row: PlanRow) -> tuple[str, str]:
    return ("", "") if row.strategy == TODAY else (_known(row.figures.get("bytes_moved"), format_bytes), "")


def _leaders(row: PlanRow) -> tuple[str, str]:
    return _count(row, "leaders_range"), _count(row, "topic_leaders_range")


def _changed(row: PlanRow) -> tuple[str, str]:
    by_order, by_copy = row.figures.get("leaders_changed_by_order"), row.figures.get("leaders_changed_by_copy")
    if by_order is None or by_copy is None:
        return "", ""
    return format_count(by_order + by_copy), f"{format_count(by_copy)} new" if by_copy else ""


def _rerun(row: PlanRow) -> tuple[str, str]:
    if row.figures.get("shuffles") is None:
        return "", ""
    leaders = row.figures.get("rerun_leaders_changed")
    return _count(row, "rerun_replicas_moved"), f"{format_count(leaders)} led" if leaders else ""


def _distinct(row: PlanRow) -> tuple[str, str]:
    shuffles = row.figures.get("shuffles")
    return ("", "") if shuffles is None else (_count(row, "distinct_plans"), f"of {format_count(shuffles)}")


def _after_failure(failed: str) -> Callable[[PlanRow], tuple[str, str]]:
    def cell(row: PlanRow) -> tuple[str, str]:
        lost = row.figures.get(f"{failed}_down_leaderless")
        return _count(row, f"{failed}_down_range"), f"{format_count(lost)} lost" if lost else ""

    return cell


COLUMNS: Final = (
    PlanColumn(
        "Storage",
        "storage\nmax−min",
        "storage",
        _storage,
        ("storage_bytes_range",),
        "Maximum minus minimum bytes per broker; below, the coefficient of variation (cv).",
    ),
    PlanColumn(
        "Replicas",
        "replicas\nmax−min",
        "storage",
        _replicas,
        ("replicas_range",),
        "Maximum minus minimum replicas per broker; below, the same within the worst topic.",
    ),
    PlanColumn(
        "Rule violations",
        "rule\nviolations",
        "constraints",
        _broken,
        tuple(_VIOLATIONS),
        "Violated rules: wrong replication factor, duplicate broker, excluded broker, too many replicas in one rack; "
        "below, the first violated rule.",
    ),
    PlanColumn(
        "Replicas moved",
        "replicas\nmoved",
        "movement",
        _moved,
        ("replicas_moved",),
        "Replicas to copy to another broker; below, the minimum number of moves that balances replicas.",
    ),
    PlanColumn(
        "Bytes copied",
        "bytes\ncopied",
        "movement",
        _copied,
        ("bytes_moved",),
        "Total size of the moved replicas.",
    ),
    PlanColumn(
        "Leaders",
        "leaders\nmax−min",
        "leadership",
        _leaders,
        ("leaders_range",),
        "Maximum minus minimum preferred leaders per broker; below, the same within the worst topic.",
    ),
    PlanColumn(
        "Leaders changed",
        "leaders\nchanged",
        "movement",
        _changed,
        ("leaders_changed_by_order", "leaders_changed_by_copy"),
        "Partitions with another preferred leader; below, those that a new replica leads.",
    ),
    PlanColumn(
        "Moves when re-run",
        "moves\nre-run",
        "determinism",
        _rerun,
        ("rerun_replicas_moved",),
        "Replicas moved if the strategy runs again on the cluster after its own plan; below, leaders changed.",
    ),
    PlanColumn(
        "Different plans over shuffled input",
        "different\nplans",
        "determinism",
        _distinct,
        ("distinct_plans",),
        "Number of different plans for the same cluster with shuffled input; 1 means that the order has no influence.",
    ),
    PlanColumn(
        "Leader imbalance after broker failure",
        "broker\nfailure",
        "failover",
        _after_failure("broker"),
        ("broker_down_range",),
        "Maximum minus minimum leaders per broker if the worst broker fails; below, partitions without a leader.",
    ),
    PlanColumn(
        "Leader imbalance after rack failure",
        "rack\nfailure",
        "failover",
        _after_failure("rack"),
        ("rack_down_range",),
        "Maximum minus minimum leaders per broker if the worst rack fails; below, partitions without a leader.",
    ),
)


def _count(row: PlanRow, name: str) -> str:
    return _known(row.figures.get(name), format_count)


def _known(value: float | None, write: Callable[[float], str]) -> str:
    return UNKNOWN if value is None else write(value)
