"""Result tables of runs with an autoscaler."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import MINUTE_MS, RUN, run_rounds, tables

TARGET = 1_000
LABELS = ("eager", "calm")


def step(minute: float, before: int, after: int, lag: int, wanted: int, **other: Any) -> dict[str, Any]:
    """Return a row of the table `scaling`."""
    return {
        "at_ms": round(minute * MINUTE_MS),
        "workload": "shop",
        "scaler": "HPA",
        "lag": lag,
        "target_lag": TARGET * before,
        "recommended": wanted,
        "replicas_before": before,
        "replicas": after,
        "ready": before,
        "reason": "lag",
        **other,
    }


STEPS = {
    "eager": [
        step(0, 2, 2, 500, 1, reason="limited by the minimum of replicas"),
        step(5, 2, 4, 9_000, 9, reason="limited by the scaling policies"),
        step(10, 4, 6, 12_000, 12, reason="limited by the maximum of replicas"),
        step(20, 6, 6, 800, 1, reason="stabilized"),
        step(30, 6, 3, 900, 1, reason="stabilized"),
        step(40, 3, 5, 5_000, 5),
        step(44, 5, 3, 100, 1, reason="stabilized"),
        step(48, 3, 5, 4_800, 5),
        step(52, 5, 4, 3_900, 4),
        step(56, 4, 5, 4_800, 5),
    ],
    "calm": [step(0, 2, 2, 1_900, 2, reason="lag within the tolerance")],
}
CAUSED = {2: (1,), 3: (2,), 5: (4, 5)}
"""Indices of the decisions behind each round of the first assignor."""


def scaled_runs(workload: str = "shop", labels: tuple[str, ...] = LABELS) -> dict[str, pa.Table]:
    """Return two runs: an autoscaler that thrashes, and one that never changes the number of pods."""
    about = {key: RUN[key] for key in ("scenario", "seed")}
    steps, behind = [], []
    for label, rows in zip(labels, STEPS.values(), strict=True):
        steps += [{**about, **row, "assignor": label, "workload": workload} for row in rows]
    for number, indices in CAUSED.items():
        for index in indices:
            row = {**STEPS["eager"][index], "workload": workload}
            behind.append({**about, **row, "assignor": labels[0], "round": number, "decided_at_ms": row["at_ms"]})
    points: list[tuple[int, float | None, int]] = [(0, 1e6, 0), (6, 2e6, 3), (11, 2e6, 2), (21, 2e6, 0), (45, 1e6, 0)]
    made = tables(
        [{"assignor": label} for label in labels],
        [row for label in labels for row in run_rounds(label, points)],
    )
    scaling = pa.Table.from_pylist(steps, schema=SCHEMAS["scaling"])
    rounds = pa.Table.from_pylist(behind, schema=SCHEMAS["scaled_rounds"])
    return {**made, "scaling": scaling, "scaled_rounds": rounds}
