"""What assignors are compared by: each metric's name, meaning and unit."""

from __future__ import annotations

from reports.metric import (
    Cost,
    Metric,
    above_bound,
    above_bound_percent,
    column,
    deciding_cost,
    gap,
    gap_percent,
    mean_cost,
    one_rack_percent,
    usd_per_day,
    worst_cost,
)
from reports.units import (
    write_bytes,
    write_count,
    write_duration,
    write_number,
    write_percent,
    write_rate,
    write_usd,
)

CROSS_RACK, MOVES, DOWNTIME = "Cross-rack", "Moves", "Downtime"
CONVERGENCE, BALANCE, SAFETY = "Convergence", "Balance", "Safety"


def _above_bound(prefix: str, which: str, of: Cost, meaning: str) -> tuple[Metric, Metric]:
    """The cost above its lower bound, and the same in per cent."""
    name, title = f"{prefix}cost_above_bound", f"Cost above lower bound ({which})"
    in_percent = "In per cent of the bound; not known where that is 0."
    return (
        Metric(name, title, CROSS_RACK, meaning, write_number, True, above_bound(of)),
        Metric(
            f"{name}_percent",
            f"{title}, in per cent",
            CROSS_RACK,
            in_percent,
            write_percent,
            False,
            above_bound_percent(of),
        ),
    )


_CROSS_RACK: tuple[Metric, ...] = (
    column(
        "remote_source_partitions",
        "Cross-rack partitions",
        CROSS_RACK,
        "Source partitions that, in the end, are read by a client without a replica in its rack: what rack-aware "
        "assignors count. Partitions, not bytes.",
    ),
    column(
        "least_remote_source_partitions",
        "Lower bound of these",
        CROSS_RACK,
        "No assignment has fewer cross-rack partitions, however unbalanced it may be.",
        less_is_better=False,
    ),
    Metric(
        "gap_partitions",
        "Gap to the bound",
        CROSS_RACK,
        "Cross-rack partitions above the lower bound; a balanced assignment may not be able to close it.",
        write_count,
        True,
        gap,
    ),
    Metric(
        "gap_percent",
        "Gap in per cent",
        CROSS_RACK,
        "The gap in per cent of the lower bound; not known where the bound is 0.",
        write_percent,
        False,
        gap_percent,
    ),
    column(
        "cross_rack_bytes_per_s",
        "Cross-rack traffic (steady state)",
        CROSS_RACK,
        "Bytes per second between racks with the final assignment, once every task runs and every standby keeps up, "
        "and with leaders and replicas where they are at the end of the run: what is read, written and replicated. "
        "Reads come from the leader unless brokers serve the nearest replica, so this may be high where no partition "
        "is remote.",
        write_rate,
    ),
    Metric(
        "cross_rack_usd_per_day",
        "Cost of that, a day",
        CROSS_RACK,
        "What that traffic costs in a day; not known where the scenario gives no price.",
        write_usd,
        True,
        usd_per_day,
    ),
    column(
        "cross_rack_bytes",
        "Cross-rack bytes, whole run",
        CROSS_RACK,
        "Bytes that really crossed from one rack to another, from the first assignment on: restoring and warming up "
        "too.",
        write_bytes,
    ),
    column(
        "cross_rack_usd",
        "Cost of that",
        CROSS_RACK,
        "What these bytes cost; not known where the scenario gives no price.",
        write_usd,
    ),
    column(
        "remote_standby_partitions",
        "Cross-rack standby partitions",
        CROSS_RACK,
        "Changelog partitions that, in the end, standbys follow without a replica in their rack.",
        less_is_better=False,
    ),
    column(
        "active_cost",
        "Kafka's cost, stateful",
        CROSS_RACK,
        "What Kafka's rack-aware optimiser takes the stateful tasks to cost; depends on the configured weights, so "
        "compare it only between equal settings. Not known where rack-aware assignment is off.",
        less_is_better=False,
    ),
    column(
        "stateless_cost", "Kafka's cost, stateless", CROSS_RACK, "The same for stateless tasks.", less_is_better=False
    ),
    column("standby_cost", "Kafka's cost, standbys", CROSS_RACK, "The same for standbys.", less_is_better=False),
    column(
        "total_cost",
        "Cost by KIP-925 (deciding round)",
        CROSS_RACK,
        "What all copies cost, against what was there before, in the rebalance that decided the final assignment: "
        "traffic_cost for each partition read across racks, non_overlap_cost for each copy in a new place.",
        less_is_better=False,
    ),
    column(
        "least_total_cost",
        "Lower bound of that",
        CROSS_RACK,
        "No assignment costs less in which no client has more tasks of a kind per thread than one has here.",
        less_is_better=False,
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
    column("active_moves", "Tasks moved", MOVES, "How often a task that ran on one client was given to another."),
    column(
        "moves_member_lost",
        "– client lost",
        MOVES,
        "Of these, because the client that ran it was gone.",
        less_is_better=False,
    ),
    column(
        "moves_promoted",
        "– to a copy",
        MOVES,
        "Of these, to a client that had stood by or warmed up for it.",
        less_is_better=False,
    ),
    column("moves_returned", "– back", MOVES, "Of these, to a client that had run it before.", less_is_better=False),
    column(
        "moves_rack",
        "– nearer",
        MOVES,
        "Of these, to where fewer of its partitions are read across racks.",
        less_is_better=False,
    ),
    column("moves_balance", "– balance", MOVES, "Of these, for none of these reasons: balance.", less_is_better=False),
    column(
        "thread_moves",
        "Tasks to other threads",
        MOVES,
        "How often a task was given to another thread of the client that it was on.",
    ),
    column(
        "standby_moves", "Standby moves", MOVES, "How often a client was given a standby or warm-up after round one."
    ),
    column("restored_bytes", "State restored", MOVES, "Bytes read from changelogs to catch up.", write_bytes),
    column(
        "restored_again_bytes",
        "– for the second time",
        MOVES,
        "What of it the same client had held before, and lost when its disk was cleaned up.",
        write_bytes,
    ),
)

_DOWNTIME: tuple[Metric, ...] = (
    column(
        "worst_down_ms",
        "Worst task's downtime",
        DOWNTIME,
        "For how long the task was not processed that was so for longest, from the first assignment on.",
        write_duration,
    ),
    column(
        "p99_down_ms",
        "Downtime, 99th percentile",
        DOWNTIME,
        "The same: 99 of 100 tasks were down for no longer.",
        write_duration,
    ),
    column("mean_down_ms", "Downtime, mean", DOWNTIME, "The same, mean of all tasks.", write_duration),
    column("down_ms", "Downtime, all tasks", DOWNTIME, "The same, summed over the tasks.", write_duration),
    column(
        "most_waiting_ms",
        "Processing lag, at most",
        DOWNTIME,
        "The most input that ever waited before a task, in the time in which as much usually comes in.",
        write_duration,
    ),
    column(
        "out_of_reach_ms",
        "No copy to query",
        DOWNTIME,
        "Time in which no client had a copy to answer interactive queries from, summed over the stateful tasks.",
        write_duration,
    ),
    column(
        "unavailable_partitions",
        "Unavailable partitions",
        DOWNTIME,
        "Partitions that the application uses and that for a time had no leader, or too few in-sync replicas "
        "for writes. Tasks that need one are down meanwhile.",
        less_is_better=False,
    ),
    column(
        "worst_unavailable_ms",
        "Worst partition unavailability (total)",
        DOWNTIME,
        "Total time of the partition that was unavailable longest.",
        write_duration,
        less_is_better=False,
    ),
)

_CONVERGENCE: tuple[Metric, ...] = (
    column("rounds", "Rebalances", CONVERGENCE, "Rebalances in the whole run.", less_is_better=False),
    column(
        "rebalances_to_converge",
        "Rebalances to converge (worst event)",
        CONVERGENCE,
        "The most rebalances after an event until the group had converged; the start counts too, unless it is warm. 0 "
        "if no event led to a rebalance; not known if the group had not converged after one.",
    ),
    column(
        "time_to_converge_ms",
        "Time to converge (worst event)",
        CONVERGENCE,
        "The longest time from an event until the last rebalance that it led to had settled, every task ran and all "
        "standbys and warm-ups had caught up; for which events and when it is not known, as in the line above.",
        write_duration,
    ),
    column(
        "computing_ms",
        "Leader computes, at most",
        CONVERGENCE,
        "The longest that Kafka's group leader would compute for an assignment, as predicted from the work that it "
        "does. Nobody gets new tasks meanwhile, and past max.poll.interval.ms the leader is put out of the group.",
        write_duration,
    ),
)

_BALANCE: tuple[Metric, ...] = (
    column(
        "load_skew",
        "Load skew",
        BALANCE,
        "Most minus least tasks per thread between clients in the end, standbys included.",
        write_number,
    ),
    column("active_skew", "Active skew", BALANCE, "The same, active tasks only.", write_number),
    column("stateful_skew", "Stateful skew", BALANCE, "The same, active tasks with state only.", write_number),
    column("stateless_skew", "Stateless skew", BALANCE, "The same, active tasks without state only.", write_number),
    column("standby_skew", "Standby skew", BALANCE, "The same, standbys and warm-ups only.", write_number),
    column(
        "subtopology_skew",
        "Subtopology skew",
        BALANCE,
        "Largest difference between two clients in active tasks of one subtopology, in the end.",
    ),
)

_SAFETY: tuple[Metric, ...] = (
    column(
        "tasks_in_one_rack",
        "Tasks in one rack",
        SAFETY,
        "Stateful tasks all of whose copies stand in one rack in the end; if it fails, they must be restored.",
    ),
    Metric(
        "tasks_in_one_rack_percent",
        "Tasks in one rack, share",
        SAFETY,
        "The same in per cent of all stateful tasks.",
        write_percent,
        False,
        one_rack_percent,
    ),
    column("worst_rack_loss", "Lost with the worst rack", SAFETY, "The most of these that stand in the same rack."),
    column(
        "worst_client_loss",
        "Lost with the worst client",
        SAFETY,
        "Stateful tasks all of whose copies are on one client in the end, for the client where they are most.",
    ),
    column("worst_two_client_loss", "Lost with the worst two", SAFETY, "The same for two clients that fail together."),
    column("stateful_tasks", "Stateful tasks", SAFETY, "Stateful tasks of the application.", less_is_better=False),
)

METRICS = (*_CROSS_RACK, *_MOVES, *_DOWNTIME, *_CONVERGENCE, *_BALANCE, *_SAFETY)
"""Every metric, in the order in which they are shown."""

METRIC: dict[str, Metric] = {metric.name: metric for metric in METRICS}
"""Every metric by its name."""
