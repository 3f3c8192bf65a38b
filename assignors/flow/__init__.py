"""Network flow as Kafka's rack-aware assignor does it: the same answers, in a thousandth of the time."""

from assignors.flow.graphs import (
    FlowEffort,
    FlowSolution,
    balance_subtopology,
    min_traffic,
    min_traffic_effort,
    solve_balance_subtopology,
    solve_min_traffic,
)
from assignors.flow.memory import remembering, solved

__all__ = [
    "FlowEffort",
    "FlowSolution",
    "balance_subtopology",
    "min_traffic",
    "min_traffic_effort",
    "remembering",
    "solve_balance_subtopology",
    "solve_min_traffic",
    "solved",
]
