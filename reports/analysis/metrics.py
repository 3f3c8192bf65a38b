"""All metrics by which assignors are compared: one title and one key each, used by every output."""

from __future__ import annotations

from typing import Final

from reports.analysis.cross_rack_metrics import CROSS_RACK_METRICS
from reports.analysis.metric import (
    Metric,
    column_metric,
    run_metric,
    without_rack_redundancy_percent,
)
from simulator.results.verdict import Verdict

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
