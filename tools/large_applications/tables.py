"""The table of the measured figures, with goals and peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

NONE = "–"
DUCKDB = {"ingest": "ingest_by_duckdb", "long_ingest": "long_ingest_by_duckdb"}
"""The figures of the peer of each ingest."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table.

    Attributes:
        workload: name of a function of `workloads.py`.
        what: what is measured.
        goal: the goal in words.
        reached: whether figures, with those of all workloads, reach it.
        peer: the peer's cell, from the figures and those of all workloads.
    """

    workload: str
    what: str
    goal: str
    reached: Callable[[Json, Mapping[str, Json]], bool]
    peer: Callable[[Json, Mapping[str, Json]], str] = lambda figures, others: NONE


def _below(seconds: float, gigabytes: float | None = None) -> Callable[[Json, Mapping[str, Json]], bool]:
    def reached(figures: Json, _: Mapping[str, Json]) -> bool:
        return bool(figures["seconds"] < seconds and (gigabytes is None or figures["peak_bytes"] < gigabytes * 1e9))

    return reached


def _ingest(workload: str, what: str) -> Row:
    """Return the row of an ingest, whose peer is DuckDB."""

    def peer(figures: Json, others: Mapping[str, Json]) -> str:
        duckdb = others.get(DUCKDB[workload], {})
        if "seconds" not in duckdb:
            return f"DuckDB {duckdb['failed']}" if "failed" in duckdb else NONE
        return f"DuckDB {_time(duckdb['seconds'])}, ratio {figures['seconds'] / duckdb['seconds']:.2f}"

    def reached(figures: Json, others: Mapping[str, Json]) -> bool:
        duckdb = others.get(DUCKDB[workload], {})
        is_near = "seconds" in duckdb and figures["seconds"] < 1.5 * duckdb["seconds"]
        return bool(is_near and figures["rows"] / figures["seconds"] > 500_000)

    return Row(workload, what, "500,000 readings/s, 1.5 × DuckDB", reached, peer)


ROWS = (
    Row(
        "rebalance",
        "rebalance of 5,000 tasks on 600 clients, 1 standby, `min_traffic`: the assignor with predicted leader time",
        "0.15 s",
        _below(0.15),
        lambda figures, _: f"Kafka {figures['predicted_seconds'] / 3600:.0f} h (predicted)",
    ),
    Row(
        "rolling_restart",
        "a day with a scale-out from 500 to 600 clients and a rolling restart of 500, 5,000 tasks",
        "3 min, 2 GB",
        _below(180, 2),
    ),
    Row("day", "a day of bounces and churn, 1,000 tasks on 100 clients", "5 s", _below(5)),
    Row("cold_start", "`cold_start`, a run of 24 rebalances, with its tables", "40 ms", _below(0.04)),
    Row(
        "largest",
        "20,000 tasks on 2,000 clients, 1 standby: loading, first assignment, a scale-out of 200 clients",
        "60 s, 4 GB",
        _below(60, 4),
    ),
    _ingest("ingest", "ingest by Spark, 2 cores"),
    _ingest("long_ingest", "ingest of a longer history by Spark, 2 cores"),
    Row(
        "sweep",
        "a sweep of 1,000 small runs by Spark, 2 cores",
        "1.05 × the pool",
        lambda figures, _: bool(figures["seconds"] < 1.05 * figures["pool_seconds"]),
        lambda figures, _: (
            f"pool {_time(figures['pool_seconds'])}, ratio {figures['seconds'] / figures['pool_seconds']:.2f}"
        ),
    ),
    Row("assignment", "`balance_subtopology`, 3,000 tasks on 300 clients, fresh: one assignment", "1 s", _below(1)),
    Row("page", "the page of that day of 1,000 tasks, from stored results", "10 s", _below(10)),
)

HEAD = ("what", "before", "now", "goal", "reached", "peer")


def table(figures: Mapping[str, Mapping[str, Json]]) -> str:
    """Return the Markdown table.

    `figures`: the figures of each workload by name, for `now` and, if it was measured, `before`. Returns a row for each
    measured workload.
    """
    now, before = figures["now"], figures.get("before", {})
    lines = [HEAD, tuple("---" for _ in HEAD)]
    for row in ROWS:
        if row.workload not in now:
            continue
        measured = now[row.workload]
        is_known = "failed" not in measured
        lines.append(
            (
                row.what + _size(measured),
                _cell(before.get(row.workload)),
                _cell(measured),
                row.goal,
                "yes" if is_known and row.reached(measured, now) else "no",
                row.peer(measured, now) if is_known else NONE,
            )
        )
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _size(figures: Json) -> str:
    """Return the number of readings or rebalances, where a workload counts them."""
    if "rows" in figures:
        return f", {figures['rows']:,} readings"
    return f", {figures['rebalances']:,} rebalances" if "rebalances" in figures else ""


def _cell(figures: Json | None) -> str:
    if figures is None:
        return NONE
    if "failed" in figures:
        return str(figures["failed"])
    cell = _time(figures["seconds"])
    if "pool_seconds" in figures or "rows" in figures:  # Spark's processes are not counted.
        rate = figures.get("rows", 0) / figures["seconds"]
        return f"{cell} ({rate:,.0f}/s)" if rate else f"{cell} ({figures['seconds'] / figures['pool_seconds']:.2f})"
    if "bytes" in figures:
        return f"{cell}, {figures['bytes'] / 1e6:.1f} MB of HTML"
    return f"{cell}, {figures['peak_bytes'] / 1e9:.2f} GB"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
