"""Sums and what they are made of, one an assignor: what bars show and tables tell.

Of several seeds each part is the mean, so that parts still add up.
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
    "moves_promoted": "to a copy",
    "moves_returned": "back to where it was",
    "moves_rack": "nearer to its data",
    "moves_balance": "balance",
}
"""Why tasks move, by the column of `runs` that counts it."""

TRAFFIC_KINDS = {
    "source_read": "sources read",
    "repartition_read": "repartition topics read",
    "repartition_write": "repartition topics written",
    "result_write": "results written",
    "changelog_write": "changelogs written",
    "standby_read": "standbys keep up",
    "warmup_read": "copies warm up",
    "restore_read": "tasks restore",
    "replication": "replication of these",
    "reassignment": "partitions reassigned",
}
"""What travels, by its kind in `traffic`."""

_DOWN_UNTIL_MS = ((0, "none"), (1e3, "up to 1 s"), (10e3, "up to 10 s"), (60e3, "up to 1 min"), (600e3, "up to 10 min"))
DOWN_CLASSES = (*(name for _, name in _DOWN_UNTIL_MS), "longer")
"""Downtimes, from good to bad."""


@dataclass(frozen=True, slots=True)
class BreakdownBar:
    """The parts of an assignor's sum, along `Stack.parts`; None if they are not known."""

    label: str
    values: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Sums of several assignors.

    Attributes:
        title: what is added up.
        parts: what each sum is made of.
        bars: one an assignor, in the order of `runs`.
        write: how the numbers are written.
        rising: whether each part is worse than the one before; all sums are the same then.
    """

    title: str
    parts: tuple[str, ...]
    bars: tuple[BreakdownBar, ...]
    write: NumberFormat
    rising: bool = False

    def present(self) -> list[int]:
        """The parts that are not nothing everywhere."""
        known = [bar.values for bar in self.bars if bar.values]
        return [part for part in range(len(self.parts)) if any(values[part] for values in known)]


def runs_by_assignor(tables: Tables) -> dict[Key, list[dict[str, Any]]]:
    """The rows of `runs` of each assignor, in their order.

    Raises:
        TableError: there is no such table.
    """
    found: dict[Key, list[dict[str, Any]]] = {}
    for run in table_rows(tables, "runs"):
        found.setdefault((run["scenario"], run["assignor"]), []).append(run)
    return found


def assignor_label(key: Key, keys: Iterable[Key]) -> str:
    """Names an assignor, and its scenario if there are several."""
    return ": ".join(key) if len({scenario for scenario, _ in keys}) > 1 else key[1]


def moves_by_reason(tables: Tables) -> Breakdown:
    """How many active tasks moved for which reason.

    Raises:
        TableError: there is no table `runs`.
    """
    runs = runs_by_assignor(tables)
    counts = {key: [sum(run[name] for run in of_one) for name in MOVE_REASONS] for key, of_one in runs.items()}
    return Breakdown("Tasks moved, by reason", tuple(MOVE_REASONS.values()), _bars(runs, counts), format_count)


def tasks_by_downtime(tables: Tables) -> Breakdown:
    """How many tasks were down for how long.

    Raises:
        TableError: there is no table `runs` or `tasks`.
    """
    import numpy as np

    runs = runs_by_assignor(tables)
    counts = {key: [0] * len(DOWN_CLASSES) for key in runs}
    grouped = table(tables, "tasks").group_by(["scenario", "assignor"], use_threads=False)
    for row in grouped.aggregate([("downtime_ms", "list")]).to_pylist():
        classes = np.searchsorted([until for until, _ in _DOWN_UNTIL_MS], row["downtime_ms_list"])
        counts[row["scenario"], row["assignor"]] = np.bincount(classes, minlength=len(DOWN_CLASSES)).tolist()
    return Breakdown("Tasks by downtime", DOWN_CLASSES, _bars(runs, counts), format_count, rising=True)


def cross_rack_by_kind(tables: Tables) -> Breakdown:
    """How many bytes of which kind went from one rack to another in the whole run.

    Raises:
        TableError: there is no table `runs` or `traffic`.
    """
    runs = runs_by_assignor(tables)
    sums: dict[Key, list[float]] = {
        key: [0.0] * len(TRAFFIC_KINDS)
        for key, of_one in runs.items()
        if all(run["cross_rack_bytes"] is not None for run in of_one)
    }
    places = {kind: place for place, kind in enumerate(TRAFFIC_KINDS)}
    for key, kind, source, target, carried in traffic_bytes(tables):
        if key in sums and source != target and source is not None and target is not None:
            sums[key][places[kind]] += carried
    return Breakdown("Bytes between racks, whole run", tuple(TRAFFIC_KINDS.values()), _bars(runs, sums), format_bytes)


def traffic_bytes(tables: Tables) -> list[tuple[Key, str, str | None, str | None, float]]:
    """Bytes of all rounds and seeds: by assignor, kind, from which rack and to which.

    Raises:
        TableError: there is no table `traffic`.
    """
    keys = ["scenario", "assignor", "kind", "from_rack", "to_rack"]
    summed = table(tables, "traffic").group_by(keys, use_threads=False).aggregate([("bytes", "sum")])
    return [
        ((row["scenario"], row["assignor"]), row["kind"], row["from_rack"], row["to_rack"], row["bytes_sum"])
        for row in summed.to_pylist()
    ]


def _bars(runs: Mapping[Key, Sequence[object]], sums: Mapping[Key, Sequence[float]]) -> tuple[BreakdownBar, ...]:
    """The mean over the runs of each assignor; not known where there is no sum."""
    return tuple(
        BreakdownBar(
            assignor_label(key, runs), tuple(value / len(of_one) for value in sums[key]) if key in sums else None
        )
        for key, of_one in runs.items()
    )
