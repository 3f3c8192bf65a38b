"""Breakdowns of sums by assignor, for bar charts and tables.

Each part is the mean over seeds, so that the parts still add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.analysis.comparison import Tables, table, table_rows
from reports.analysis.formatting import NumberFormat, format_bytes, format_count

Key = tuple[str, str]
"""Scenario and assignor."""

MOVE_REASONS = {
    "moves_member_lost": "client lost",
    "moves_promoted": "to a standby or warm-up",
    "moves_returned": "back to an earlier client",
    "moves_rack": "fewer cross-rack partitions",
    "moves_balance": "balance",
}
"""Reasons of active task moves, by their column in the table `runs`."""

TRAFFIC_KINDS = {
    "source_read": "source reads",
    "repartition_read": "repartition reads",
    "repartition_write": "repartition writes",
    "result_write": "result writes",
    "changelog_write": "changelog writes",
    "standby_read": "standby reads",
    "warmup_read": "warm-up reads",
    "restore_read": "restoration reads",
    "replication": "replication",
    "reassignment": "partition reassignment",
    "produce": "other producers",
    "produce_replication": "replication of produced topics",
    "other_read": "other groups' reads",
}
"""Titles of the kinds of traffic, by their key in the table `traffic`."""

_DOWN_UNTIL_MS = ((0, "none"), (1e3, "up to 1 s"), (10e3, "up to 10 s"), (60e3, "up to 1 min"), (600e3, "up to 10 min"))
DOWN_CLASSES = (*(name for _, name in _DOWN_UNTIL_MS), "longer")
"""Classes of downtime, in ascending order."""


@dataclass(frozen=True, slots=True)
class BreakdownBar:
    """The parts of the sum of one assignor.

    Attributes:
        label: label of the assignor.
        values: values in the order of `Breakdown.parts`; None if unknown.
    """

    label: str
    values: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The same sum of several assignors, broken down into parts.

    Attributes:
        title: title of the sum.
        parts: titles of the parts.
        bars: one bar per assignor, in the order of the table `runs`.
        write: formats a value.
        rising: whether the parts are classes from best to worst; the sums are equal then and not shown.
    """

    title: str
    parts: tuple[str, ...]
    bars: tuple[BreakdownBar, ...]
    write: NumberFormat
    rising: bool = False

    def present(self) -> list[int]:
        """Return the indices of the parts that are not 0 in all bars."""
        known = [bar.values for bar in self.bars if bar.values]
        return [part for part in range(len(self.parts)) if any(values[part] for values in known)]


def runs_by_assignor(tables: Tables) -> dict[Key, list[dict[str, Any]]]:
    """Return the rows of the table `runs` by scenario and assignor, in their order."""
    runs: dict[Key, list[dict[str, Any]]] = {}
    for run in table_rows(tables, "runs"):
        runs.setdefault((run["scenario"], run["assignor"]), []).append(run)
    return runs


def assignor_label(key: Key, keys: Iterable[Key]) -> str:
    """Return the label of an assignor, with its scenario if there are several."""
    return ": ".join(key) if len({scenario for scenario, _ in keys}) > 1 else key[1]


def moves_by_reason(tables: Tables) -> Breakdown:
    """Return the number of active task moves by reason."""
    runs = runs_by_assignor(tables)
    counts = {
        key: [sum(run[name] or 0 for run in assignor_runs) for name in MOVE_REASONS]
        for key, assignor_runs in runs.items()
    }
    return Breakdown("Active task moves by reason", tuple(MOVE_REASONS.values()), _bars(runs, counts), format_count)


def tasks_by_downtime(tables: Tables) -> Breakdown:
    """Return the number of tasks by class of downtime."""
    import numpy as np

    runs = runs_by_assignor(tables)
    counts = {key: [0] * len(DOWN_CLASSES) for key in runs}
    grouped = table(tables, "tasks").group_by(["scenario", "assignor"], use_threads=False)
    for row in grouped.aggregate([("downtime_ms", "list")]).to_pylist():
        classes = np.searchsorted([until for until, _ in _DOWN_UNTIL_MS], row["downtime_ms_list"])
        counts[row["scenario"], row["assignor"]] = np.bincount(classes, minlength=len(DOWN_CLASSES)).tolist()
    return Breakdown("Tasks by downtime", DOWN_CLASSES, _bars(runs, counts), format_count, rising=True)


def cross_rack_by_kind(tables: Tables) -> Breakdown:
    """Return the cross-rack bytes of the whole run by kind of traffic."""
    runs = runs_by_assignor(tables)
    sums: dict[Key, list[float]] = {
        key: [0.0] * len(TRAFFIC_KINDS)
        for key, assignor_runs in runs.items()
        if all(run["cross_rack_bytes"] is not None for run in assignor_runs)
    }
    columns = {kind: column for column, kind in enumerate(TRAFFIC_KINDS)}
    for key, kind, source, target, bytes_ in traffic_bytes(tables):
        if key in sums and source != target and source is not None and target is not None:
            sums[key][columns[kind]] += bytes_
    return Breakdown(
        "Cross-rack bytes (whole run) by kind", tuple(TRAFFIC_KINDS.values()), _bars(runs, sums), format_bytes
    )


def traffic_bytes(tables: Tables) -> list[tuple[Key, str, str | None, str | None, float]]:
    """Return the bytes of all rounds and seeds as tuples (assignor, kind, source rack, target rack, bytes)."""
    keys = ["scenario", "assignor", "kind", "from_rack", "to_rack"]
    summed = table(tables, "traffic").group_by(keys, use_threads=False).aggregate([("bytes", "sum")])
    return [
        ((row["scenario"], row["assignor"]), row["kind"], row["from_rack"], row["to_rack"], row["bytes_sum"])
        for row in summed.to_pylist()
    ]


def _bars(runs: Mapping[Key, Sequence[object]], sums: Mapping[Key, Sequence[float]]) -> tuple[BreakdownBar, ...]:
    """Return one bar per assignor with the mean over its runs; unknown without a sum."""
    return tuple(
        BreakdownBar(
            assignor_label(key, runs), tuple(value / len(assignor_runs) for value in sums[key]) if key in sums else None
        )
        for key, assignor_runs in runs.items()
    )
