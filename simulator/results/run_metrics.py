"""The keys and units of the metrics of a run, which every output, option and expectation uses."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from simulator.results.renamed_keys import RENAMED_RUN_KEYS


class Unit(StrEnum):
    """The unit of a metric; the value is its name in messages."""

    COUNT = "a number"
    NUMBER = "a number, with decimals"
    PERCENT = "percent"
    MS = "a duration"
    BYTES = "a size"
    BYTES_PER_S = "a rate"
    USD = "US dollars"


METRIC_UNITS: Final[Mapping[str, Unit]] = MappingProxyType(
    {
        "cross_rack_source_partitions": Unit.COUNT,
        "cross_rack_source_partitions_bound": Unit.COUNT,
        "cross_rack_source_partitions_above_bound": Unit.COUNT,
        "cross_rack_source_partitions_above_bound_percent": Unit.PERCENT,
        "cross_rack_bytes_per_s": Unit.BYTES_PER_S,
        "cross_rack_usd_per_day": Unit.USD,
        "cross_rack_bytes": Unit.BYTES,
        "cross_rack_usd": Unit.USD,
        "cross_rack_standby_partitions": Unit.COUNT,
        "stateful_cost": Unit.COUNT,
        "stateless_cost": Unit.COUNT,
        "standby_cost": Unit.COUNT,
        "total_cost": Unit.COUNT,
        "total_cost_bound": Unit.COUNT,
        "cost_above_bound": Unit.NUMBER,
        "cost_above_bound_percent": Unit.PERCENT,
        "mean_cost_above_bound": Unit.NUMBER,
        "mean_cost_above_bound_percent": Unit.PERCENT,
        "worst_cost_above_bound": Unit.NUMBER,
        "worst_cost_above_bound_percent": Unit.PERCENT,
        "active_moves": Unit.COUNT,
        "moves_member_lost": Unit.COUNT,
        "moves_promoted": Unit.COUNT,
        "moves_returned": Unit.COUNT,
        "moves_rack": Unit.COUNT,
        "moves_balance": Unit.COUNT,
        "thread_moves": Unit.COUNT,
        "standby_moves": Unit.COUNT,
        "restored_bytes": Unit.BYTES,
        "restored_again_bytes": Unit.BYTES,
        "worst_downtime_ms": Unit.MS,
        "p99_downtime_ms": Unit.MS,
        "mean_downtime_ms": Unit.MS,
        "downtime_ms": Unit.MS,
        "max_processing_delay_ms": Unit.MS,
        "unqueryable_ms": Unit.MS,
        "unavailable_partitions": Unit.COUNT,
        "worst_unavailable_ms": Unit.MS,
        "rebalances": Unit.COUNT,
        "rebalances_to_converge": Unit.COUNT,
        "time_to_converge_ms": Unit.MS,
        "leader_compute_ms": Unit.MS,
        "load_skew": Unit.NUMBER,
        "active_skew": Unit.NUMBER,
        "stateful_skew": Unit.NUMBER,
        "stateless_skew": Unit.NUMBER,
        "standby_skew": Unit.NUMBER,
        "subtopology_skew": Unit.COUNT,
        "tasks_without_rack_redundancy": Unit.COUNT,
        "tasks_without_rack_redundancy_percent": Unit.PERCENT,
        "worst_rack_loss": Unit.COUNT,
        "worst_client_loss": Unit.COUNT,
        "worst_pair_loss": Unit.COUNT,
        "stateful_tasks": Unit.COUNT,
        "not_converged": Unit.NUMBER,
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
