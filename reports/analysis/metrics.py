"""All metrics by which assignors are compared: one title and one key each, used by every output."""

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
    without_rack_redundancy_percent,
    worst_cost,
)
from simulator.results.verdict import Verdict

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


MOVES, DOWNTIME, CONVERGENCE = "Moves", "Downtime", "Convergence"
BALANCE, SAFETY = "Balance", "Redundancy"


_MOVES: tuple[Metric, ...] = (
    column_metric(
        "active_moves", "Active task moves", MOVES, "How often an active task was assigned to another client."
    ),
    column_metric(
        "moves_member_lost",
        "Active task moves: client lost",
        MOVES,
        "Active task moves because the client that ran the task had left.",
        lower_is_better=False,
    ),
    column_metric(
        "moves_promoted",
        "Active task moves: to a standby or warm-up",
        MOVES,
        "Active task moves to a client that had a standby or warm-up of the task.",
        lower_is_better=False,
    ),
    column_metric(
        "moves_returned",
        "Active task moves: back to an earlier client",
        MOVES,
        "Active task moves to a client that had run the task before.",
        lower_is_better=False,
    ),
    column_metric(
        "moves_rack",
        "Active task moves: fewer cross-rack partitions",
        MOVES,
        "Active task moves to a client that reads fewer of the task's partitions across racks.",
        lower_is_better=False,
    ),
    column_metric(
        "moves_balance",
        "Active task moves: balance",
        MOVES,
        "Active task moves for none of the other reasons.",
        lower_is_better=False,
    ),
    column_metric(
        "thread_moves",
        "Thread moves",
        MOVES,
        "How often a task was assigned to another thread of the same client.",
    ),
    column_metric(
        "standby_moves",
        "Standby moves",
        MOVES,
        "How often a client got a new standby or warm-up after the first round.",
    ),
    column_metric(
        "restored_bytes",
        "Restored state",
        MOVES,
        "Bytes read from changelogs to restore state.",
    ),
    column_metric(
        "restored_again_bytes",
        "Restored state that the client had lost",
        MOVES,
        "Restored bytes that the same client had held before and lost: by cleanup of its state directory, by a kill, "
        "or with its disk.",
    ),
)

_DOWNTIME: tuple[Metric, ...] = (
    column_metric(
        "longest_downtime_ms",
        "Longest task outage",
        DOWNTIME,
        "Longest single outage of a task since the first assignment: from when it was no longer processed until it was "
        "again.",
    ),
    column_metric(
        "worst_downtime_ms",
        "Worst task downtime (total)",
        DOWNTIME,
        "Total time since the first assignment in which the task with the longest downtime was not processed: the sum "
        "of its outages.",
    ),
    column_metric(
        "p99_downtime_ms",
        "Task downtime (99th percentile)",
        DOWNTIME,
        "Downtime of a task since the first assignment, 99th percentile over all tasks.",
    ),
    column_metric(
        "mean_downtime_ms",
        "Task downtime (mean)",
        DOWNTIME,
        "Downtime of a task since the first assignment, mean over all tasks.",
    ),
    column_metric(
        "downtime_ms",
        "Task downtime (sum)",
        DOWNTIME,
        "Downtime since the first assignment, sum over all tasks.",
    ),
    column_metric(
        "max_processing_delay_ms",
        "Maximum processing delay",
        DOWNTIME,
        "Maximum unprocessed input of a task, as the time in which that much input usually arrives.",
    ),
    column_metric(
        "unqueryable_ms",
        "Time without a queryable copy",
        DOWNTIME,
        "Time in which no client had a copy that serves interactive queries, sum over the stateful tasks.",
    ),
    column_metric(
        "unavailable_partitions",
        "Unavailable partitions",
        DOWNTIME,
        "Partitions used by the application that temporarily had no leader, or too few in-sync replicas for writes. "
        "Tasks that need such a partition are down until it is available again.",
        lower_is_better=False,
    ),
    column_metric(
        "worst_unavailable_ms",
        "Worst partition unavailability (total)",
        DOWNTIME,
        "Total time of the partition that was unavailable longest.",
        lower_is_better=False,
    ),
)

_CONVERGENCE: tuple[Metric, ...] = (
    column_metric("rebalances", "Rebalances", CONVERGENCE, "Rebalances in the whole run.", lower_is_better=False),
    column_metric(
        "rebalances_to_converge",
        "Rebalances to converge (worst event)",
        CONVERGENCE,
        "Maximum number of rebalances from an event until the group converged. The start of the run counts as an event "
        "unless it is warm. 0 if no event triggered a rebalance; unknown if the group did not converge after an event.",
    ),
    column_metric(
        "time_to_converge_ms",
        "Time to converge (worst event)",
        CONVERGENCE,
        "Maximum time from an event until its last rebalance was complete, every task ran and all standbys and "
        "warm-ups had caught up. Events and unknown values as for the rebalances to converge.",
    ),
    column_metric(
        "leader_compute_ms",
        "Leader compute time (max)",
        CONVERGENCE,
        "Maximum time that Kafka's group leader needs to compute an assignment: (edge scans of the rack-aware search "
        "x 8.5 ns + time of the other operations, or 0 if it is less than 50 ms) / "
        "leader_speed. 0 if the broker computes, in streams groups, and for assignors that do not count their work. "
        "Members wait for their tasks until then; after max.poll.interval.ms, the leader is removed from the group.",
    ),
)

_BALANCE: tuple[Metric, ...] = (
    column_metric(
        "load_skew",
        "Load skew",
        BALANCE,
        "Maximum minus minimum tasks per thread over clients at the end of the run, standbys included.",
    ),
    column_metric(
        "active_skew",
        "Active skew",
        BALANCE,
        "Maximum minus minimum active tasks per thread over clients at the end of the run.",
    ),
    column_metric(
        "stateful_skew",
        "Stateful skew",
        BALANCE,
        "Maximum minus minimum stateful active tasks per thread over clients at the end of the run.",
    ),
    column_metric(
        "stateless_skew",
        "Stateless skew",
        BALANCE,
        "Maximum minus minimum stateless active tasks per thread over clients at the end of the run.",
    ),
    column_metric(
        "standby_skew",
        "Standby skew",
        BALANCE,
        "Maximum minus minimum standbys and warm-ups per thread over clients at the end of the run.",
    ),
    column_metric(
        "subtopology_skew",
        "Subtopology skew",
        BALANCE,
        "Maximum difference between two clients in active tasks of one subtopology at the end of the run.",
    ),
)

_SAFETY: tuple[Metric, ...] = (
    column_metric(
        "tasks_without_rack_redundancy",
        "Tasks without rack redundancy",
        SAFETY,
        "Stateful tasks with all copies in one rack at the end of the run. If that rack fails, they must be restored.",
    ),
    run_metric(
        "tasks_without_rack_redundancy_percent",
        "Tasks without rack redundancy, percent",
        SAFETY,
        "Stateful tasks with all copies in one rack as a percentage of all stateful tasks.",
        False,
        without_rack_redundancy_percent,
    ),
    column_metric(
        "worst_rack_loss",
        "Tasks lost if the worst rack fails",
        SAFETY,
        "Maximum number of stateful tasks with all copies in the same rack, at the end of the run.",
    ),
    column_metric(
        "worst_client_loss",
        "Tasks lost if the worst client fails",
        SAFETY,
        "Maximum number of stateful tasks with all copies on the same client, at the end of the run.",
    ),
    column_metric(
        "worst_pair_loss",
        "Tasks lost if the worst pair of clients fails",
        SAFETY,
        "Maximum number of stateful tasks with all copies on the same two clients, at the end of the run.",
    ),
    column_metric(
        "stateful_tasks", "Stateful tasks", SAFETY, "Stateful tasks of the application.", lower_is_better=False
    ),
)

METRICS: Final = (*CROSS_RACK_METRICS, *_MOVES, *_DOWNTIME, *_CONVERGENCE, *_BALANCE, *_SAFETY)
"""All metrics in display order."""

METRIC: Final[dict[str, Metric]] = {metric.name: metric for metric in METRICS}
"""All metrics by key."""

NOT_CONVERGED: Final = run_metric(
    "not_converged",
    "Runs that did not converge",
    CONVERGENCE,
    "1 if the run did not converge, else 0. The time to converge is compared only between runs that converged.",
    True,
    lambda run: float(run["verdict"] != Verdict.STABLE),
)

ALL_METRICS: Final[dict[str, Metric]] = {metric.name: metric for metric in (*METRICS, NOT_CONVERGED)}
"""All metrics by key, with that of runs that did not converge, which comparisons show on request only."""

COMPARABLE_METRICS: Final[dict[str, Metric]] = {
    name: metric for name, metric in ALL_METRICS.items() if metric.lower_is_better
}
"""Metrics of which lower values are better, by key: those that significance tests can compare."""
