"""The keys and units of the metrics of a run, which every output, option and expectation uses."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from simulator.results.renamed_keys import RENAMED_RUN_KEYS


class MetricUnit(StrEnum):
    """The unit of a metric; the value is its name in messages."""

    COUNT = "a number"
    NUMBER = "a number, with decimals"
    PERCENT = "percent"
    MS = "a duration"
    BYTES = "a size"
    BYTES_PER_S = "a rate"
    USD = "US dollars"


METRIC_UNITS: Final[Mapping[str, MetricUnit]] = MappingProxyType(
    {
        "cross_rack_source_partitions": MetricUnit.COUNT,
        "cross_rack_source_partitions_bound": MetricUnit.COUNT,
        "cross_rack_source_partitions_above_bound": MetricUnit.COUNT,
        "cross_rack_source_partitions_above_bound_percent": MetricUnit.PERCENT,
        "cross_rack_bytes_per_s": MetricUnit.BYTES_PER_S,
        "cross_rack_usd_per_day": MetricUnit.USD,
        "cross_rack_bytes": MetricUnit.BYTES,
        "cross_rack_usd": MetricUnit.USD,
        "cross_rack_standby_partitions": MetricUnit.COUNT,
        "stateful_cost": MetricUnit.COUNT,
        "stateless_cost": MetricUnit.COUNT,
        "standby_cost": MetricUnit.COUNT,
        "total_cost": MetricUnit.COUNT,
        "total_cost_bound": MetricUnit.COUNT,
        "cost_above_bound": MetricUnit.NUMBER,
        "cost_above_bound_percent": MetricUnit.PERCENT,
        "mean_cost_above_bound": MetricUnit.NUMBER,
        "mean_cost_above_bound_percent": MetricUnit.PERCENT,
        "worst_cost_above_bound": MetricUnit.NUMBER,
        "worst_cost_above_bound_percent": MetricUnit.PERCENT,
        "active_moves": MetricUnit.COUNT,
        "moves_member_lost": MetricUnit.COUNT,
        "moves_promoted": MetricUnit.COUNT,
        "moves_returned": MetricUnit.COUNT,
        "moves_rack": MetricUnit.COUNT,
        "moves_balance": MetricUnit.COUNT,
        "thread_moves": MetricUnit.COUNT,
        "standby_moves": MetricUnit.COUNT,
        "restored_bytes": MetricUnit.BYTES,
        "restored_again_bytes": MetricUnit.BYTES,
        "longest_downtime_ms": MetricUnit.MS,
        "worst_downtime_ms": MetricUnit.MS,
        "p99_downtime_ms": MetricUnit.MS,
        "mean_downtime_ms": MetricUnit.MS,
        "downtime_ms": MetricUnit.MS,
        "max_processing_delay_ms": MetricUnit.MS,
        "unqueryable_ms": MetricUnit.MS,
        "unavailable_partitions": MetricUnit.COUNT,
        "worst_unavailable_ms": MetricUnit.MS,
        "rebalances": MetricUnit.COUNT,
        "rebalances_to_converge": MetricUnit.COUNT,
        "time_to_converge_ms": MetricUnit.MS,
        "leader_compute_ms": MetricUnit.MS,
        "load_skew": MetricUnit.NUMBER,
        "active_skew": MetricUnit.NUMBER,
        "stateful_skew": MetricUnit.NUMBER,
        "stateless_skew": MetricUnit.NUMBER,
        "standby_skew": MetricUnit.NUMBER,
        "subtopology_skew": MetricUnit.COUNT,
        "tasks_without_rack_redundancy": MetricUnit.COUNT,
        "tasks_without_rack_redundancy_percent": MetricUnit.PERCENT,
        "worst_rack_loss": MetricUnit.COUNT,
        "worst_client_loss": MetricUnit.COUNT,
        "worst_pair_loss": MetricUnit.COUNT,
        "stateful_tasks": MetricUnit.COUNT,
        "not_converged": MetricUnit.NUMBER,
    }
)
"""The unit of each metric by key, in display order; `reports.analysis.metrics` adds titles and computes the values."""


def metric_hint(name: str, known: Sequence[str] = tuple(METRIC_UNITS)) -> str:
    """Return what may be meant by an unknown key of a metric: its new key, the closest one, or all known ones."""
    renamed = RENAMED_RUN_KEYS.get(name)
    if renamed in known:
        return f"renamed to '{renamed}'"
    close = difflib.get_close_matches(name[:100], known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"metrics: {', '.join(known)}"
