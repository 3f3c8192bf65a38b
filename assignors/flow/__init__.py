"""Network flow as Kafka's rack-aware assignor does it: the same answers, in a thousandth of the time."""

from assignors.flow.graphs import (
    FlowEffort,
    FlowSolution,
    balance_subtopology,
    min_traffic,
    solve_balance_subtopology,
    solve_min_traffic,
)

__all__ = [
    "FlowEffort",
    "FlowSolution",
    "balance_subtopology",
    "min_traffic",
    "solve_balance_subtopology",
    "solve_min_traffic",
]
