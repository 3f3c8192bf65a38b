"""Small result tables, so that reports can be tested without a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from simulator.results.tables import SCHEMAS, concat_tables

MINUTE_MS = 60_000
MANIFEST: dict[str, Any] = {
    "scenario": {"name": "rack_outage", "text": "name: rack_outage\n", "sha256": "ab" * 32, "overrides": []},
    "assignors": [
        {
            "label": "sticky",
            "assignor": "sticky",
            "kafka_version": "4.1",
            "parameters": {},
            "configs": {"num_standby_replicas": 1},
        }
    ],
    "seeds": [7],
    "command": "assignor-sim run rack_outage --seed 7",
    "versions": {"python": "3.11.7", "assignor-sim": "0.1.0"},
}

RUN: dict[str, Any] = {
    "scenario": "rack_outage",
    "assignor": "sticky",
    "seed": 7,
    "verdict": "stable",
    "verdict_round": 3,
    "repeats_round": None,
    "cause": None,
    "rebalances": 3,
    "deciding_round": 3,
    "mean_total_cost": 52.5,
    "mean_total_cost_bound": 42.0,
    "worst_cost_round": 2,
    "worst_total_cost": 80,
    "worst_total_cost_bound": 50,
    "rebalances_to_converge": 2,
    "time_to_converge_ms": 12 * MINUTE_MS,
    "leader_compute_ms": 220.5,
    "active_moves": 18,
    "moves_member_lost": 6,
    "moves_promoted": 8,
    "moves_returned": 1,
    "moves_rack": 0,
    "moves_balance": 3,
    "thread_moves": 5,
    "standby_moves": 24,
    "restored_bytes": 52_400_000_000,
    "restored_again_bytes": 0,
    "downtime_ms": 95_000,
    "mean_downtime_ms": 1_319.4,
    "p99_downtime_ms": 24_000.0,
    "longest_downtime_ms": 20_000,
    "worst_downtime_ms": 25_000,
    "unqueryable_ms": 0,
    "max_processing_delay_ms": 6_000,
    "cross_rack_source_partitions": 48,
    "cross_rack_source_partitions_bound": 36,
    "cross_rack_standby_partitions": 20,
    "stateful_cost": 480,
    "stateless_cost": 12,
    "standby_cost": 200,
    "total_cost": 48,
    "total_cost_bound": 36,
    "cross_rack_bytes_per_s": 41_250_000.0,
    "cross_rack_bytes": 3.1e11,
    "cross_rack_usd_per_day": None,
    "cross_rack_usd": None,
    "load_skew": 0.5,
    "active_skew": 0.25,
    "stateful_skew": 0.25,
    "stateless_skew": 0.0,
    "standby_skew": 0.5,
    "subtopology_skew": 2,
    "stateful_tasks": 48,
    "tasks_without_rack_redundancy": 3,
    "worst_rack_loss": 2,
    "worst_client_loss": 0,
    "worst_pair_loss": 5,
}

ROUND: dict[str, Any] = {
    "scenario": "rack_outage",
    "assignor": "sticky",
    "seed": 7,
    "round": 1,
    "requested_at_ms": 0,
    "at_ms": 3_000,
    "until_ms": 60 * MINUTE_MS,
    "reason": "client-1 joined",
    "members": 6,
    "followup_delay_ms": None,
    "leader_compute_ms": 220.5,
    "active_moves": 0,
    "thread_moves": 1,
    "withheld_tasks": 4,
    "standby_moves": 0,
    "displaced_tasks": 0,
    "restoring_tasks": 0,
    "warming_up": 7,
    "standbys": 48,
    "restored_bytes": 1_200_000_000,
    "downtime_ms": 5_000,
    "cross_rack_source_partitions": 48,
    "cross_rack_source_partitions_bound": 36,
    "cross_rack_standby_partitions": 20,
    "stateful_cost": 480,
    "stateless_cost": 12,
    "standby_cost": 200,
    "total_cost": 48,
    "total_cost_bound": 36,
    "cross_rack_bytes_per_s": 41_250_000.0,
    "cross_rack_bytes": 1.5e11,
    "load_skew": 0.5,
    "active_skew": 0.25,
    "stateful_skew": 0.25,
    "stateless_skew": 0.0,
    "standby_skew": 0.5,
    "subtopology_skew": 2,
    "tasks_without_rack_redundancy": 3,
}

PROOF: dict[str, Any] = {
    "scenario": "rack_outage",
    "assignor": "sticky",
    "seed": 7,
    "round": 3,
    "total_cost_bound": 36,
    "relaxed_total_cost_bound": 30,
    "best_known_total_cost": 36,
}

TASK: dict[str, Any] = {
    "scenario": "rack_outage",
    "assignor": "sticky",
    "seed": 7,
    "task": "0_0",
    "stateful": True,
    "downtime_ms": 0,
    "longest_downtime_ms": 0,
    "unqueryable_ms": 0,
    "max_processing_delay_ms": 0,
    "active_moves": 1,
}

TRAFFIC: dict[str, Any] = {
    "scenario": "rack_outage",
    "assignor": "sticky",
    "seed": 7,
    "round": 1,
    "kind": "source_read",
    "from_rack": "az1",
    "to_rack": "az2",
    "bytes": 1e9,
}

HOSTILE = (
    "<script>alert(1)</script>",
    "\"quoted\" & 'quoted'",
    "]]> --> </style></title>",
    "[bold]not markup[/bold] [link=https://example.org]",
    "$\\frac{1}{2}$ | `a` *b* _c_",
    "\u202eturned around",
    "שלום עולם",
    "🦊 fox",
    "line\nend \x1b[31mred\x07",
    "a_very_long_name." * 8,
    "=1+1",
)
"""Names that contain markup, formulas, control characters or direction marks."""

CONVERGENCE: dict[str, Any] = {
    **{key: RUN[key] for key in ("scenario", "assignor", "seed")},
    "number": 1,
    "event": "outage of rack az1",
    "at_ms": 10 * MINUTE_MS,
    "rebalances": 2,
    "time_to_converge_ms": 12 * MINUTE_MS,
    "observed_ms": 12 * MINUTE_MS,
    "verdict": "stable",
    "cut_short_by": None,
}
"""Convergence after an event."""

Point = tuple[int, float | None, int]
"""Minute of a round, cross-rack bytes per second, and displaced tasks."""


def tables(
    runs: Sequence[Mapping[str, Any]] = ({},),
    rounds: Sequence[Mapping[str, Any]] = ({},),
    events: Sequence[Mapping[str, Any]] = (),
    tasks: Sequence[Mapping[str, Any]] = (),
    traffic: Sequence[Mapping[str, Any]] = (),
    proofs: Sequence[Mapping[str, Any]] = (),
    convergence: Sequence[Mapping[str, Any]] = (),
) -> dict[str, pa.Table]:
    """Return tables of the given rows; defaults are `RUN`, `ROUND`, `CONVERGENCE` and so on."""
    empty = concat_tables([])
    rows = {
        "runs": [{**RUN, **row} for row in runs],
        "rounds": [{**ROUND, **row} for row in rounds],
        "tasks": [{**TASK, **row} for row in tasks],
        "traffic": [{**TRAFFIC, **row} for row in traffic],
        "proofs": [{**PROOF, **row} for row in proofs],
        "convergence": [{**CONVERGENCE, **row} for row in convergence],
        "events": [{**{key: RUN[key] for key in ("scenario", "assignor", "seed")}, **row} for row in events],
    }
    return {**empty, **{name: pa.Table.from_pylist(rows[name], schema=SCHEMAS[name]) for name in rows}}


def run_rounds(assignor: str, points: Sequence[Point], until_min: int = 60, **same: Any) -> list[dict[str, Any]]:
    """Return the rounds of a run."""
    ends = [minute for minute, _, _ in points[1:]] + [until_min]
    return [
        {
            **same,
            "assignor": assignor,
            "round": number,
            "at_ms": minute * MINUTE_MS,
            "until_ms": end * MINUTE_MS,
            "cross_rack_bytes_per_s": rate,
            "cross_rack_bytes": None if rate is None else rate * (end - minute) * 60,
            "displaced_tasks": displaced,
            "active_moves": 0 if number == 1 else 2,
            "reason": "client-1 joined" if number == 1 else "probing",
            "followup_delay_ms": 10 * MINUTE_MS if displaced else None,
        }
        for number, ((minute, rate, displaced), end) in enumerate(zip(points, ends, strict=True), 1)
    ]


def four_assignors() -> dict[str, pa.Table]:
    """Return a comparison of three configurations of Kafka's assignor with its predecessor in a rack outage."""
    names = ("HA none", "HA min_traffic", "HA balance_subtopology", "sticky")
    figures: tuple[dict[str, Any], ...] = (
        {
            "cross_rack_source_partitions": 52,
            "total_cost": 52,
            "cross_rack_bytes_per_s": 48.3e6,
            "active_moves": 18,
            "subtopology_skew": 1,
        },
        {
            "cross_rack_source_partitions": 36,
            "total_cost": 36,
            "cross_rack_bytes_per_s": 30.1e6,
            "active_moves": 26,
            "subtopology_skew": 5,
        },
        {
            "cross_rack_source_partitions": 39,
            "total_cost": 39,
            "cross_rack_bytes_per_s": 32.6e6,
            "active_moves": 24,
            "subtopology_skew": 1,
        },
        {
            "cross_rack_source_partitions": 52,
            "total_cost": 52,
            "cross_rack_bytes_per_s": 48.3e6,
            "active_moves": 12,
            "rebalances_to_converge": 1,
            "time_to_converge_ms": 45_000,
            "downtime_ms": 5_400_000,
            "worst_downtime_ms": 900_000,
            "stateful_cost": None,
            "tasks_without_rack_redundancy": 11,
        },
    )
    points_by_assignor: tuple[tuple[Point, ...], ...] = (
        ((0, 41e6, 12), (20, 55e6, 18), (30, 52e6, 9), (40, 50e6, 2), (50, 48.3e6, 0)),
        ((0, 41e6, 12), (20, 44e6, 22), (30, 38e6, 12), (40, 33e6, 4), (50, 30.1e6, 0)),
        ((0, 41e6, 12), (20, 44e6, 20), (30, 38e6, 10), (40, 34e6, 4), (50, 32.6e6, 0)),
        ((0, 41e6, 12), (20, 48.3e6, 0)),
    )
    events = [
        {"assignor": name, "at_ms": minute * MINUTE_MS, "event": event}
        for name in names
        for minute, event in ((18, "broker 3 down"), (18, "client-5 down"), (18, "client-6 down"), (45, "broker 3 up"))
    ]
    downtimes = ((0, 500, 25_000), (0, 500, 25_000), (0, 0, 25_000), (300_000, 700_000, 900_000))
    return tables(
        [{"assignor": name, **figure} for name, figure in zip(names, figures, strict=True)],
        [row for name, points in zip(names, points_by_assignor, strict=True) for row in run_rounds(name, points)],
        events,
        [
            {"assignor": name, "task": f"0_{number}", "downtime_ms": downtime_ms}
            for name, downtimes_ms in zip(names, downtimes, strict=True)
            for number, downtime_ms in enumerate(downtimes_ms)
        ],
        [
            {"assignor": name, "kind": kind, "from_rack": source, "to_rack": target, "bytes": (number + 1) * 1e9}
            for number, name in enumerate(names)
            for kind, source, target in (
                ("source_read", "az1", "az1"),
                ("source_read", "az1", "az2"),
                ("replication", "az2", "az1"),
                ("restore_read", None, "az2"),
            )
        ],
    )
