"""The metrics of cross-rack traffic: partitions, bytes, costs, and their lower bounds."""

from __future__ import annotations

from typing import Final

from reports.analysis.metric import (
    CostAndBound,
    Metric,
    above_bound,
    above_bound_percent,
    column_metric,
    deciding_cost,
    mean_cost,
    partitions_above_bound,
    partitions_above_bound_percent,
    run_metric,
    worst_cost,
)

CROSS_RACK = "Cross-rack"


def _cost_above_bound(prefix: str, which: str, cost: CostAndBound, meaning: str) -> tuple[Metric, Metric]:
    """Return two metrics: a cost minus its lower bound, and that difference in percent of the bound."""
    name, title = f"{prefix}cost_above_bound", f"Cost above lower bound ({which})"
    return (
        run_metric(name, title, CROSS_RACK, meaning, True, above_bound(cost)),
        run_metric(
            f"{name}_percent",
            f"{title}, percent",
            CROSS_RACK,
            "KIP-925 cost above its lower bound as a percentage of the bound; unknown if the bound is 0.",
            False,
            above_bound_percent(cost),
        ),
    )


CROSS_RACK_METRICS: Final[tuple[Metric, ...]] = (
    column_metric(
        "cross_rack_source_partitions",
        "Cross-rack source partitions",
        CROSS_RACK,
        "Source partitions that, at the end of the run, are read by a client without a replica in its rack. This is "
        "what rack-aware assignors count: partitions, not bytes.",
    ),
    column_metric(
        "cross_rack_source_partitions_bound",
        "Lower bound of cross-rack source partitions",
        CROSS_RACK,
        "No assignment has fewer cross-rack source partitions, however unbalanced it is.",
        lower_is_better=False,
    ),
    run_metric(
        "cross_rack_source_partitions_above_bound",
        "Cross-rack source partitions above lower bound",
        CROSS_RACK,
        "Difference to the lower bound. A balanced assignment may be unable to reach the bound.",
        True,
        partitions_above_bound,
    ),
    run_metric(
        "cross_rack_source_partitions_above_bound_percent",
        "Cross-rack source partitions above lower bound, percent",
        CROSS_RACK,
        "Cross-rack source partitions above their lower bound as a percentage of it; unknown if the bound is 0.",
        False,
        partitions_above_bound_percent,
    ),
    column_metric(
        "cross_rack_bytes_per_s",
        "Cross-rack traffic (steady state)",
        CROSS_RACK,
        "Bytes per second between racks with the final assignment, once every task runs and every standby keeps up, "
        "with leaders and replicas as they are at the end of the run: reads, writes and replication. Consumers read "
        "from the leader unless brokers serve the nearest replica, so this can be high without cross-rack source "
        "partitions.",
    ),
    column_metric(
        "cross_rack_usd_per_day",
        "Cross-rack cost per day",
        CROSS_RACK,
        "Cost of a day of steady-state cross-rack traffic, each pair of racks at its price; unknown if the scenario "
        "has no price.",
    ),
    column_metric(
        "cross_rack_bytes",
        "Cross-rack bytes (whole run)",
        CROSS_RACK,
        "Bytes sent from one rack to another since the first assignment, including restoration and warm-up.",
    ),
    column_metric(
        "cross_rack_usd",
        "Cross-rack cost (whole run)",
        CROSS_RACK,
        "Cost of the cross-rack bytes; unknown if the scenario has no price.",
    ),
    column_metric(
        "cross_rack_standby_partitions",
        "Cross-rack standby partitions",
        CROSS_RACK,
        "Changelog partitions that, at the end of the run, standbys read without a replica in their rack.",
        lower_is_better=False,
    ),
    column_metric(
        "stateful_cost",
        "Kafka's rack-aware cost, stateful tasks",
        CROSS_RACK,
        "Cost of the stateful active tasks as Kafka's rack-aware assignor computes it. It depends on the configured "
        "weights: compare it only between equal configs. Unknown if rack-aware assignment is off.",
        lower_is_better=False,
    ),
    column_metric(
        "stateless_cost",
        "Kafka's rack-aware cost, stateless tasks",
        CROSS_RACK,
        "Cost of stateless tasks as Kafka's rack-aware assignor computes it; comparable only between equal configs.",
        lower_is_better=False,
    ),
    column_metric(
        "standby_cost",
        "Kafka's rack-aware cost, standbys",
        CROSS_RACK,
        "Cost of standbys as Kafka's rack-aware assignor computes it; comparable only between equal configs.",
        lower_is_better=False,
    ),
    column_metric(
        "total_cost",
        "KIP-925 cost (deciding round)",
        CROSS_RACK,
        "Cost of all copies relative to the previous assignment, in the rebalance that decided the final assignment: "
        "traffic_cost for each partition read across racks, non_overlap_cost for each copy on a new client.",
        lower_is_better=False,
    ),
    column_metric(
        "total_cost_bound",
        "Lower bound of the KIP-925 cost (deciding round)",
        CROSS_RACK,
        "Lower bound of the cost of all assignments that are at least as balanced: no client has more tasks of a kind "
        "per thread than the most loaded client has here.",
        lower_is_better=False,
    ),
    *_cost_above_bound(
        "",
        "deciding round",
        deciding_cost,
        "KIP-925 cost minus its lower bound. With standbys, the bound can be lower than the cost of any assignment "
        "unless the optimum is proven (run --prove). Rebalances after the deciding one move nothing.",
    ),
    *_cost_above_bound(
        "mean_",
        "mean of all rounds",
        mean_cost,
        "KIP-925 cost minus its lower bound, mean over all rebalances with a known cost.",
    ),
    *_cost_above_bound(
        "worst_",
        "worst round",
        worst_cost,
        "KIP-925 cost minus its lower bound in the rebalance with the largest difference.",
    ),
)
"""The metrics of the group `CROSS_RACK`, in display order."""
