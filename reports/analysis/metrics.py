"""What assignors are compared by: each metric's name, meaning and unit."""

from __future__ import annotations

from reports.analysis.formatting import (
    format_bytes,
    format_count,
    format_duration,
    format_number,
    format_percent,
    format_rate,
    format_usd,
)
from reports.analysis.metric import (
    Cost,
    Metric,
    above_bound,
    above_bound_percent,
    column_metric,
    cross_rack_source_partitions_above_bound_percent,
    deciding_cost,
    gap,
    mean_cost,
    one_rack_percent,
    usd_per_day,
    worst_cost,
)

CROSS_RACK, MOVES, DOWNTIME = "Cross-rack", "Moves", "Downtime"
CONVERGENCE, BALANCE, SAFETY = "Convergence", "Balance", "Safety"


def _above_bound(prefix: str, which: str, of: Cost, meaning: str) -> tuple[Metric, Metric]:
    """The cost above its lower bound, and the same in per cent."""
    name, title = f"{prefix}cost_above_bound", f"Cost above lower bound ({which})"
    in_percent = "In per cent of the bound; not known where that is 0."
    return (
        Metric(name, title, CROSS_RACK, meaning, format_number, True, above_bound(of)),
        Metric(
            f"{name}_percent",
            f"{title}, in per cent",
            CROSS_RACK,
            in_percent,
            format_percent,
            False,
            above_bound_percent(of),
        ),
    )


_CROSS_RACK: tuple[Metric, ...] = (
    column_metric(
        "cross_rack_source_partitions",
        "Cross-rack partitions",
        CROSS_RACK,
        "Source partitions that, in the end, are read by a client without a replica in its rack: what rack-aware "
        "assignors count. Partitions, not bytes.",
    ),
    column_metric(
        "cross_rack_source_partitions_bound",
        "Lower bound of these",
        CROSS_RACK,
        "No assignment has fewer cross-rack partitions, however unbalanced it may be.",
        lower_is_better=False,
    ),
    Metric(
        "cross_rack_source_partitions_above_bound",
        "Gap to the bound",
        CROSS_RACK,
        "Cross-rack partitions above the lower bound; a balanced assignment may not be able to close it.",
        format_count,
        True,
        gap,
    ),
    Metric(
        "cross_rack_source_partitions_above_bound_percent",
        "Gap in per cent",
        CROSS_RACK,
        "The gap in per cent of the lower bound; not known where the bound is 0.",
        format_percent,
        False,
        cross_rack_source_partitions_above_bound_percent,
    ),
    column_metric(
        "cross_rack_bytes_per_s",
        "Cross-rack traffic (steady state)",
        CROSS_RACK,
        "Bytes per second between racks with the final assignment, once every task runs and every standby keeps up, "
        "and with leaders and replicas where they are at the end of the run: what is read, written and replicated. "
        "Reads come from the leader unless brokers serve the nearest replica, so this may be high where no partition "
        "is remote.",
        format_rate,
    ),
    Metric(
        "cross_rack_usd_per_day",
        "Cost of that, a day",
        CROSS_RACK,
        "What that traffic costs in a day; not known where the scenario gives no price.",
        format_usd,
        True,
        usd_per_day,
    ),
    column_metric(
        "cross_rack_bytes",
        "Cross-rack bytes, whole run",
        CROSS_RACK,
        "Bytes that really crossed from one rack to another, from the first assignment on: restoring and warming up "
        "too.",
        format_bytes,
    ),
    column_metric(
        "cross_rack_usd",
        "Cost of that",
        CROSS_RACK,
        "What these bytes cost; not known where the scenario gives no price.",
        format_usd,
    ),
    column_metric(
        "cross_rack_standby_partitions",
        "Cross-rack standby partitions",
        CROSS_RACK,
        "Changelog partitions that, in the end, standbys follow without a replica in their rack.",
        lower_is_better=False,
    ),
    column_metric(
        "active_cost",
        "Kafka's cost, stateful",
        CROSS_RACK,
        "What Kafka's rack-aware optimiser takes the stateful tasks to cost; depends on the configured weights, so "
        "compare it only between equal settings. Not known where rack-aware assignment is off.",
        lower_is_better=False,
    ),
    column_metric(
        "stateless_cost", "Kafka's cost, stateless", CROSS_RACK, "The same for stateless tasks.", lower_is_better=False
    ),
    column_metric(
        "standby_cost", "Kafka's cost, standbys", CROSS_RACK, "The same for standbys.", lower_is_better=False
    ),
    column_metric(
        "total_cost",
        "Cost by KIP-925 (deciding round)",
        CROSS_RACK,
        "What all copies cost, against what was there before, in the rebalance that decided the final assignment: "
        "traffic_cost for each partition read across racks, non_overlap_cost for each copy in a new place.",
        lower_is_better=False,
    ),
    column_metric(
        "total_cost_bound",
        "Lower bound of that",
        CROSS_RACK,
        "No assignment costs less in which no client has more tasks of a kind per thread than one has here.",
        lower_is_better=False,
    ),
    *_above_bound(
        "",
        "deciding round",
        deciding_cost,
        "What it costs above that bound. With standbys the bound may be lower than any assignment can come, unless the "
        "optimum was proven (run --prove). Rebalances after the deciding one have nothing left to move.",
    ),
    *_above_bound("mean_", "mean of all rounds", mean_cost, "The same, mean of all rebalances of which it is known."),
    *_above_bound("worst_", "worst round", worst_cost, "The same in the rebalance where it is most."),
)

_MOVES: tuple[Metric, ...] = (
    column_metric(
        "active_moves", "Tasks moved", MOVES, "How often a task that ran on one client was given to another."
    ),
    column_metric(
        "moves_member_lost",
        "– client lost",
        MOVES,
        "Of these, because the client that ran it was gone.",
        lower_is_better=False,
    ),
    column_metric(
        "moves_promoted",
        "– to a copy",
        MOVES,
        "Of these, to a client that had stood by or warmed up for it.",
        lower_is_better=False,
    ),
    column_metric(
        "moves_returned", "– back", MOVES, "Of these, to a client that had run it before.", lower_is_better=False
    ),
    column_metric(
        "moves_rack",
        "– nearer",
        MOVES,
        "Of these, to where fewer of its partitions are read across racks.",
        lower_is_better=False,
    ),
    column_metric(
        "moves_balance", "– balance", MOVES, "Of these, for none of these reasons: balance.", lower_is_better=False
    ),
    column_metric(
        "thread_moves",
        "Tasks to other threads",
        MOVES,
        "How often a task was given to another thread of the client that it was on.",
    ),
    column_metric(
        "standby_moves", "Standby moves", MOVES, "How often a client was given a standby or warm-up after round one."
    ),
    column_metric("restored_bytes", "State restored", MOVES, "Bytes read from changelogs to catch up.", format_bytes),
    column_metric(
        "restored_again_bytes",
        "– for the second time",
        MOVES,
        "What of it the same client had held before, and lost when its disk was cleaned up.",
        format_bytes,
    ),
)

_DOWNTIME: tuple[Metric, ...] = (
    column_metric(
        "worst_downtime_ms",
        "Worst task's downtime",
        DOWNTIME,
        "For how long the task was not processed that was so for longest, from the first assignment on.",
        format_duration,
    ),
    column_metric(
        "p99_downtime_ms",
        "Downtime, 99th percentile",
        DOWNTIME,
        "The same: 99 of 100 tasks were down for no longer.",
        format_duration,
    ),
    column_metric("mean_downtime_ms", "Downtime, mean", DOWNTIME, "The same, mean of all tasks.", format_duration),
    column_metric("downtime_ms", "Downtime, all tasks", DOWNTIME, "The same, summed over the tasks.", format_duration),
    column_metric(
        "max_processing_delay_ms",
        "Processing lag, at most",
        DOWNTIME,
        "The most input that ever waited before a task, in the time in which as much usually comes in.",
        format_duration,
    ),
    column_metric(
        "unqueryable_ms",
        "No copy to query",
        DOWNTIME,
        "Time in which no client had a copy to answer interactive queries from, summed over the stateful tasks.",
        format_duration,
    ),
    column_metric(
        "unavailable_partitions",
        "Unavailable partitions",
        DOWNTIME,
        "Partitions that the application uses and that for a time had no leader, or too few in-sync replicas "
        "for writes. Tasks that need one are down meanwhile.",
        lower_is_better=False,
    ),
    column_metric(
        "worst_unavailable_ms",
        "Worst partition unavailability (total)",
        DOWNTIME,
        "Total time of the partition that was unavailable longest.",
        format_duration,
        lower_is_better=False,
    ),
)

_CONVERGENCE: tuple[Metric, ...] = (
    column_metric("rebalances", "Rebalances", CONVERGENCE, "Rebalances in the whole run.", lower_is_better=False),
    column_metric(
        "rebalances_to_converge",
        "Rebalances to converge (worst event)",
        CONVERGENCE,
        "The most rebalances after an event until the group had converged; the start counts too, unless it is warm. 0 "
        "if no event led to a rebalance; not known if the group had not converged after one.",
    ),
    column_metric(
        "time_to_converge_ms",
        "Time to converge (worst event)",
        CONVERGENCE,
        "The longest time from an event until the last rebalance that it led to had settled, every task ran and all "
        "standbys and warm-ups had caught up; for which events and when it is not known, as in the line above.",
        format_duration,
    ),
    column_metric(
        "leader_compute_ms",
        "Leader computes, at most",
        CONVERGENCE,
        "The longest that Kafka's group leader would compute for an assignment, as predicted from the work that it "
        "does. Nobody gets new tasks meanwhile, and past max.poll.interval.ms the leader is put out of the group.",
        format_duration,
    ),
)

_BALANCE: tuple[Metric, ...] = (
    column_metric(
        "load_skew",
        "Load skew",
        BALANCE,
        "Most minus least tasks per thread between clients in the end, standbys included.",
        format_number,
    ),
    column_metric("active_skew", "Active skew", BALANCE, "The same, active tasks only.", format_number),
    column_metric("stateful_skew", "Stateful skew", BALANCE, "The same, active tasks with state only.", format_number),
    column_metric(
        "stateless_skew", "Stateless skew", BALANCE, "The same, active tasks without state only.", format_number
    ),
    column_metric("standby_skew", "Standby skew", BALANCE, "The same, standbys and warm-ups only.", format_number),
    column_metric(
        "subtopology_skew",
        "Subtopology skew",
        BALANCE,
        "Largest difference between two clients in active tasks of one subtopology, in the end.",
    ),
)

_SAFETY: tuple[Metric, ...] = (
    column_metric(
        "tasks_without_rack_redundancy",
        "Tasks in one rack",
        SAFETY,
        "Stateful tasks all of whose copies stand in one rack in the end; if it fails, they must be restored.",
    ),
    Metric(
        "tasks_without_rack_redundancy_percent",
        "Tasks in one rack, share",
        SAFETY,
        "The same in per cent of all stateful tasks.",
        format_percent,
        False,
        one_rack_percent,
    ),
    column_metric(
        "worst_rack_loss", "Lost with the worst rack", SAFETY, "The most of these that stand in the same rack."
    ),
    column_metric(
        "worst_client_loss",
        "Lost with the worst client",
        SAFETY,
        "Stateful tasks all of whose copies are on one client in the end, for the client where they are most.",
    ),
    column_metric("worst_pair_loss", "Lost with the worst two", SAFETY, "The same for two clients that fail together."),
    column_metric(
        "stateful_tasks", "Stateful tasks", SAFETY, "Stateful tasks of the application.", lower_is_better=False
    ),
)

METRICS = (*_CROSS_RACK, *_MOVES, *_DOWNTIME, *_CONVERGENCE, *_BALANCE, *_SAFETY)
"""Every metric, in the order in which they are shown."""

METRIC: dict[str, Metric] = {metric.name: metric for metric in METRICS}
"""Every metric by its name."""
