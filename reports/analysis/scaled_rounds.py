"""What caused rebalances: their triggers as text, and the decisions of autoscalers behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.analysis.comparison import Tables, table_rows
from reports.analysis.formatting import format_clock, format_count
from reports.analysis.text import printable, shortened_list
from simulator.plurals import counted

_TITLES = {"follow-up": "follow-up requested by the assignor"}
"""Full form of a trigger, by its form in the table `rounds`."""


def trigger_text(reason: str) -> str:
    """Return what triggered a rebalance, as in `pod-1 joined`; several triggers are separated by commas."""
    return printable(", ".join(_TITLES.get(part, part) for part in reason.split(", ")))


Row = Mapping[str, Any]
RoundKey = tuple[str, str, int, int]
"""Scenario, assignor, seed and number of a round."""

MAX_LISTED = 4
"""Maximum number of decisions of a round that are listed, unless all are wanted."""

_REASONS = {
    "lag": "",
    "lag within the tolerance": "",
    "stabilized": "held by the stabilization window",
    "activated": "",
    "inactive for the cooldown period": "no trigger was active for the cooldown period",
}
"""Full form of a reason, by its form in the table `scaling`; empty if the figures say it."""


def decisions_by_round(tables: Tables) -> dict[RoundKey, tuple[Row, ...]]:
    """Return the decisions that caused each round, by time.

    `tables`: must hold `scaled_rounds`.
    """
    decisions: dict[RoundKey, list[Row]] = {}
    for row in table_rows(tables, "scaled_rounds"):
        decisions.setdefault((row["scenario"], row["assignor"], row["seed"], row["round"]), []).append(row)
    return {key: tuple(rows) for key, rows in decisions.items()}


def reason_text(reason: str) -> str:
    """Return why an autoscaler decided so, in full; empty if lag and pods say it."""
    return _REASONS.get(reason, reason)


def decision_text(row: Row) -> str:
    """Return a decision with its figures.

    For example `0:01:15, HPA scales payments from 2 to 6 pods: lag 60,390 (target 10,000) asks for 13 pods (limited by
    the scaling policies)`.
    """
    pods = f"from {format_count(row['replicas_before'])} to {format_count(row['replicas'])} pods"
    text = f"{format_clock(row['decided_at_ms'])}, {row['scaler']} scales {printable(row['workload'])} {pods}: "
    lag = f"lag {format_count(row['lag'])}"
    if row["scaler"] == "HPA":
        lag += f" (target {format_count(row['target_lag'])}) asks for {counted(row['recommended'], 'pod')}"
    reason = reason_text(row["reason"])
    return f"{text}{lag} ({reason})" if reason else text + lag


def decision_texts(rows: Sequence[Row], most: int = MAX_LISTED) -> list[str]:
    """Return the decisions that caused a round as texts, and the number of others if there are more than `most`."""
    texts = [f"caused by: {decision_text(row)}" for row in rows[:most]]
    return texts if len(rows) <= most else [*texts, f"and by {len(rows) - most} more: table scaled_rounds"]


def pods_text(rows: Sequence[Row]) -> str:
    """Return decisions in short: `HPA scales payments: 4 → 2 → 6 pods`; empty without any."""
    paths: dict[str, list[int]] = {}
    scalers: dict[str, None] = {}
    for row in rows:
        scalers[row["scaler"]] = None
        path = paths.setdefault(row["workload"], [])
        path += (
            [row["replicas"]]
            if path and path[-1] == row["replicas_before"]
            else [
                row["replicas_before"],
                row["replicas"],
            ]
        )
    if not paths:
        return ""
    changes = (f"{printable(workload)}: {' → '.join(map(format_count, path))}" for workload, path in paths.items())
    return f"{' and '.join(scalers)} scales {', '.join(changes)} pods"


def cause_text(reason: str, decisions: Sequence[Row], width: int) -> str:
    """Return what caused a round: what autoscalers did comes first, then its triggers.

    A round that an autoscaler caused may have other triggers, too: a crash, or a deployment. `reason`: the triggers, as
    in the table `rounds`. `width`: maximum length of the triggers; the last ones are left out.
    """
    return ": ".join(filter(None, (pods_text(decisions), shortened_list(trigger_text(reason), width))))
