"""The result tables: their Arrow schemas, column by column.

A schema's field metadata says what the column means and in which unit; `docs/reference/tables.md` is made from it.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa


def table_schema(about: str, *fields: tuple[str, pa.DataType, str]) -> pa.Schema:
    """A table's schema: what it is about, and of each column the name, the type and the meaning, which is metadata."""
    return pa.schema(
        [pa.field(name, kind, metadata={"meaning": meaning}) for name, kind, meaning in fields],
        metadata={"about": about},
    )


_KEY = (
    ("scenario", pa.string(), "name of the scenario"),
    ("assignor", pa.string(), "label of the assignor, as the scenario or the command line gave it"),
    ("seed", pa.int64(), "seed of the run"),
)

RUNS = table_schema(
    "One row a run: a scenario with one assignor and one seed.",
    *_KEY,
    ("verdict", pa.string(), "stable, restoring, probing, cycling, never, rebalancing, failed or empty"),
    ("verdict_round", pa.int64(), "the round that proves the verdict"),
    ("repeats_round", pa.int64(), "the earlier round that it repeats, if the run is cycling"),
    ("cause", pa.string(), "why the group never comes to rest, or why the assignor failed; null otherwise"),
    ("rebalances", pa.int64(), "rebalances in the whole run, without what was there before"),
    (
        "rebalances_to_converge",
        pa.int64(),
        "the most rebalances of any event in the table convergence, without a warm start; null if one is not known",
    ),
    (
        "time_to_converge_ms",
        pa.int64(),
        "the longest time of any event in the table convergence, without a warm start; null if one is not known",
    ),
    ("slowest_event", pa.string(), "the event with that time, or that had not converged; null without events"),
    ("leader_compute_ms", pa.float64(), "the longest that Kafka's group leader would compute for an assignment"),
    ("active_moves", pa.int64(), "how often a task that ran on one client was given to another"),
    ("moves_member_lost", pa.int64(), "of these, because its client was gone"),
    ("moves_promoted", pa.int64(), "of these, to a client that had stood by or warmed up for it"),
    ("moves_returned", pa.int64(), "of these, back to a client that had run it before"),
    ("moves_rack", pa.int64(), "of these, to where fewer of its partitions are read across racks"),
    ("moves_balance", pa.int64(), "of these, for any other reason: balance"),
    ("thread_moves", pa.int64(), "how often a task was given to another thread of its client"),
    ("standby_moves", pa.int64(), "how often a client was given a standby or warm-up after the first round"),
    ("restored_bytes", pa.int64(), "bytes read from changelogs to catch up"),
    ("restored_again_bytes", pa.int64(), "what of it the same client had held before, and lost"),
    (
        "downtime_ms",
        pa.int64(),
        "time in which tasks were not processed, summed over tasks, from the first assignment on",
    ),
    ("mean_downtime_ms", pa.float64(), "the same, mean of all tasks"),
    ("p99_downtime_ms", pa.float64(), "the same, 99th percentile of all tasks"),
    ("worst_downtime_ms", pa.int64(), "the same, the worst task"),
    ("unqueryable_ms", pa.int64(), "time in which no client had a copy to query, summed over stateful tasks"),
    (
        "unavailable_partitions",
        pa.int64(),
        "partitions that tasks read or write and that for a time had no leader, or too few in-sync replicas for writes",
    ),
    ("worst_unavailable_ms", pa.int64(), "the same, total time of the worst of these partitions"),
    ("max_processing_delay_ms", pa.int64(), "the most input that ever waited before a task, in time of usual input"),
    (
        "cross_rack_source_partitions",
        pa.int64(),
        "final: source partitions read by a client without a replica in its rack, by where replicas are at the end",
    ),
    (
        "cross_rack_source_partitions_bound",
        pa.int64(),
        "final: a lower bound of that, which no assignment can undercut",
    ),
    ("cross_rack_standby_partitions", pa.int64(), "final: the same for the changelogs that standbys read"),
    ("active_cost", pa.int64(), "final: Kafka's cost of stateful actives, null where rack-aware assignment is off"),
    ("stateless_cost", pa.int64(), "final: Kafka's cost of stateless tasks"),
    ("standby_cost", pa.int64(), "final: Kafka's cost of standbys"),
    (
        "deciding_round",
        pa.int64(),
        "the rebalance that decided the final assignment: the first of the last ones that decided the same; 0 if an "
        "application that was running never rebalanced",
    ),
    (
        "total_cost",
        pa.int64(),
        "deciding round: what all copies cost against what was there before, at KIP-925's weights",
    ),
    ("total_cost_bound", pa.int64(), "deciding round: what no assignment that is as balanced costs less than"),
    ("mean_total_cost", pa.float64(), "mean of total_cost over all rebalances of which it is known"),
    ("mean_total_cost_bound", pa.float64(), "mean of total_cost_bound over the same"),
    ("worst_cost_round", pa.int64(), "the rebalance whose total_cost is furthest above total_cost_bound, the first"),
    ("worst_total_cost", pa.int64(), "that round: its total_cost"),
    ("worst_total_cost_bound", pa.int64(), "that round: its total_cost_bound"),
    (
        "cross_rack_bytes_per_s",
        pa.float64(),
        "steady state of the final assignment: bytes per second between racks once every task runs, all kinds, with "
        "leaders and replicas where they are at the end of the run; null if the rack of a client is not known",
    ),
    (
        "cross_rack_bytes",
        pa.float64(),
        "bytes between racks in the whole run, all kinds; null if it is not known where a client stands",
    ),
    ("cross_rack_usd", pa.float64(), "what these cost; null if the scenario gives no price"),
    ("load_skew", pa.float64(), "final: most minus least active + standby tasks per thread"),
    ("active_skew", pa.float64(), "final: most minus least active tasks per thread"),
    ("stateful_skew", pa.float64(), "final: most minus least stateful active tasks per thread"),
    ("stateless_skew", pa.float64(), "final: most minus least stateless active tasks per thread"),
    ("standby_skew", pa.float64(), "final: most minus least standbys and warm-ups per thread"),
    ("subtopology_skew", pa.int64(), "final: largest difference of two clients in active tasks of one subtopology"),
    ("stateful_tasks", pa.int64(), "stateful tasks of the application"),
    ("tasks_without_rack_redundancy", pa.int64(), "final: stateful tasks all of whose copies stand in one rack"),
    ("worst_rack_loss", pa.int64(), "final: the most of these in any one rack"),
    ("worst_client_loss", pa.int64(), "final: the most stateful tasks all of whose copies are on one client"),
    ("worst_pair_loss", pa.int64(), "final: the same for two clients"),
)

ROUNDS = table_schema(
    "One row a rebalance, and one for what was there of an application that was running already.",
    *_KEY,
    ("round", pa.int64(), "number of the rebalance, from 1; 0 for what was there of an application that was running"),
    ("requested_at_ms", pa.int64(), "when it was asked for"),
    ("at_ms", pa.int64(), "when its assignment was handed out"),
    ("until_ms", pa.int64(), "until when this assignment held"),
    ("reason", pa.string(), "what called for it"),
    ("members", pa.int64(), "clients in the group"),
    ("followup_delay_ms", pa.int64(), "in how long the assignor asked for another rebalance, null if it did not"),
    ("leader_compute_ms", pa.float64(), "how long Kafka's group leader would compute for it"),
    ("active_moves", pa.int64(), "tasks that another client is to run than the round before"),
    ("thread_moves", pa.int64(), "tasks that another thread of the same client is to run"),
    ("withheld_tasks", pa.int64(), "tasks that their new owners get only in the next round, once they are given back"),
    ("standby_moves", pa.int64(), "standbys and warm-ups that were not there the round before"),
    ("displaced_tasks", pa.int64(), "tasks that run elsewhere than in the last round of the run"),
    ("restoring_tasks", pa.int64(), "tasks that were not processed right after the rebalance"),
    ("warming_up", pa.int64(), "standbys and warm-ups that were behind right after the rebalance"),
    ("standbys", pa.int64(), "standby and warm-up copies"),
    ("restored_bytes", pa.int64(), "bytes read from changelogs to catch up until the next round"),
    ("downtime_ms", pa.int64(), "time in which tasks were not processed until the next round, summed over tasks"),
    ("cross_rack_source_partitions", pa.int64(), "source partitions read by a client without a replica in its rack"),
    ("cross_rack_source_partitions_bound", pa.int64(), "a lower bound of that, which no assignment can undercut"),
    ("cross_rack_standby_partitions", pa.int64(), "the same for the changelogs that standbys read"),
    ("active_cost", pa.int64(), "Kafka's cost of stateful actives, null where rack-aware assignment is off"),
    ("stateless_cost", pa.int64(), "Kafka's cost of stateless tasks"),
    ("standby_cost", pa.int64(), "Kafka's cost of standbys"),
    (
        "total_cost",
        pa.int64(),
        "what all copies cost against what was there before: traffic_cost for each partition read across racks and "
        "non_overlap_cost for each copy in a new place, 1 and 0 for stateless tasks; null if racks are not known",
    ),
    (
        "total_cost_bound",
        pa.int64(),
        "what no assignment costs less than in which no client has more tasks of a kind per thread than one has here",
    ),
    (
        "cross_rack_bytes_per_s",
        pa.float64(),
        "steady state: bytes per second between racks once every task runs, with leaders and replicas where they are "
        "when the round begins; when it ends, if it is the last or reassigned partitions moved in it; null if the rack "
        "of a client is not known",
    ),
    (
        "cross_rack_bytes",
        pa.float64(),
        "bytes between racks until the next round; null if it is not known where a client stands",
    ),
    ("load_skew", pa.float64(), "most minus least active + standby tasks per thread"),
    ("active_skew", pa.float64(), "most minus least active tasks per thread"),
    ("stateful_skew", pa.float64(), "most minus least stateful active tasks per thread"),
    ("stateless_skew", pa.float64(), "most minus least stateless active tasks per thread"),
    ("standby_skew", pa.float64(), "most minus least standbys and warm-ups per thread"),
    ("subtopology_skew", pa.int64(), "largest difference of two clients in active tasks of one subtopology"),
    ("tasks_without_rack_redundancy", pa.int64(), "stateful tasks all of whose copies stand in one rack"),
)

TASKS = table_schema(
    "One row a task of the application.",
    *_KEY,
    ("task", pa.string(), "task id"),
    ("stateful", pa.bool_(), "whether it has a changelog"),
    ("downtime_ms", pa.int64(), "time in which it was not processed, from the first assignment on"),
    ("unqueryable_ms", pa.int64(), "time in which no client had a copy of it to query, null without state"),
    ("max_processing_delay_ms", pa.int64(), "the most input that ever waited before it, in time of usual input"),
    ("active_moves", pa.int64(), "how often it was given to another client"),
)

ASSIGNMENTS = table_schema(
    "One row a copy of a task in a round.",
    *_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    ("task", pa.string(), "task id"),
    ("client", pa.string(), "name of the client"),
    ("role", pa.string(), "active or standby; a warm-up is a standby"),
)

MOVES = table_schema(
    "One row a task that changed its place from one round to the next.",
    *_KEY,
    ("round", pa.int64(), "the round in which it came to its new place"),
    ("at_ms", pa.int64(), "when"),
    ("task", pa.string(), "task id"),
    ("role", pa.string(), "active or standby"),
    ("from_client", pa.string(), "who ran it before; null if nobody did, and for standbys, which come from nowhere"),
    ("to_client", pa.string(), "who has it now, null if nobody runs it"),
    ("reason", pa.string(), "of actives: member_lost, promoted, returned, rack or balance; null for standbys"),
)

TASK_STATES = table_schema(
    "One row per state of a task.",
    *_KEY,
    ("at_ms", pa.int64(), "when"),
    ("task", pa.string(), "task id"),
    ("state", pa.string(), "unassigned, assigned, restoring, running, blocked or revoked, from then on"),
    ("client", pa.string(), "the client it is on, null if on none"),
)

TRAFFIC = table_schema(
    "One row a kind of traffic and a pair of racks in a round.",
    *_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    ("kind", pa.string(), "what travelled; see the explanation of the model"),
    ("from_rack", pa.string(), "where the bytes come from, null if that has no rack"),
    ("to_rack", pa.string(), "where they go, null if that has no rack"),
    ("bytes", pa.float64(), "bytes until the next round"),
)

CLIENTS = table_schema(
    "One row a stay of a client in the group; a client that never was a member has one row without rounds.",
    *_KEY,
    ("client", pa.string(), "name of the client"),
    ("rack", pa.string(), "where it stands, null if that is not known"),
    ("threads", pa.int64(), "num.stream.threads"),
    ("from_round", pa.int64(), "the first round that it took part in; null if it never did"),
    ("until_round", pa.int64(), "the first round after that without it; null if it stayed to the end"),
)

REASONS = table_schema(
    "One row a step by which a copy came to a new place in a round; empty unless reasons were asked for.",
    *_KEY,
    ("round", pa.int64(), "number of the round; in the first, every copy is new"),
    ("task", pa.string(), "task id"),
    ("role", pa.string(), "active or standby; a warm-up is a standby"),
    ("from_client", pa.string(), "who ran it the round before; null if nobody did, and for standbys"),
    ("to_client", pa.string(), "who has it in the end"),
    ("step", pa.int64(), "number of the step, from 1; the last one ends at to_client"),
    ("kind", pa.string(), "what happened in it; see the explanation of reasons"),
    ("step_from", pa.string(), "who had the copy before the step, null if nobody"),
    ("step_to", pa.string(), "who had it then, null if nobody"),
    ("load_from", pa.float64(), "tasks per thread of step_from before the step, where they count"),
    ("load_to", pa.float64(), "the same of step_to; only active tasks if the kind is fewest_actives"),
    ("load_from_after", pa.float64(), "tasks per thread of step_from after a step of balance"),
    ("load_to_after", pa.float64(), "the same of step_to"),
    ("held", pa.int64(), "tasks that step_to, or its thread in a streams group, had before, where there is a limit"),
    ("room", pa.int64(), "that limit"),
    ("lag_from", pa.int64(), "records that step_from is behind, where lags count; -2 if it runs, -3 if not known"),
    ("lag_to", pa.int64(), "the same of step_to"),
    ("acceptable_lag", pa.int64(), "acceptable.recovery.lag, where lags count"),
    ("tags", pa.string(), "what step_to has of rack.aware.assignment.tags, where tags count"),
    ("cycle", pa.int64(), "the cycle that the step was a part of, as in the table cycles; null if of none"),
    (
        "break_even",
        pa.int64(),
        "of active tasks: the rack.aware.assignment.non_overlap_cost next to the present one that would have left it",
    ),
    (
        "no_break_even",
        pa.string(),
        "why there is none: new, member_lost, no_racks, any_cost or untold; not_asked if nobody has looked for one",
    ),
)

CYCLES = table_schema(
    "One row a move of a cycle along which rack-aware optimisation moved tasks; empty unless reasons were asked for.",
    *_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    ("cycle", pa.int64(), "number of the cycle in the round, from 1"),
    ("edge", pa.int64(), "number of the move in the cycle, from 1; it begins at the client where the one before ends"),
    ("role", pa.string(), "active or standby"),
    ("task", pa.string(), "task id"),
    ("from_client", pa.string(), "who had the task before"),
    ("to_client", pa.string(), "who has it after"),
    ("traffic_from", pa.int64(), "what the task costs there, by rack.aware.assignment.traffic_cost"),
    ("traffic_to", pa.int64(), "what it costs here"),
    ("non_overlap_cost", pa.int64(), "what it costs to move it"),
    ("cost", pa.int64(), "what the move changes in the total: traffic_to - traffic_from + non_overlap_cost"),
    ("cycle_cost", pa.int64(), "the sum over the cycle; negative is saved, the rest is paid to even out subtopologies"),
    ("cycle_break_even", pa.int64(), "the least non_overlap_cost with which the cycle saves nothing; null if it pays"),
)

PROOFS = table_schema(
    "One row a round whose total_cost_bound was proven by an exact search; empty unless that was asked for.",
    *_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    (
        "total_cost_bound",
        pa.int64(),
        "as in the table rounds: raised from relaxed_total_cost_bound as far as was proven",
    ),
    (
        "relaxed_total_cost_bound",
        pa.int64(),
        "the bound by flows, which total_cost_bound is where no proof was asked for",
    ),
    (
        "best_known_total_cost",
        pa.int64(),
        "what the cheapest of the assignments of the bound costs that is known; the proven optimum if equal to it",
    ),
)

LOSSES = table_schema(
    "One row a rack: what its loss would take with it in the end.",
    *_KEY,
    ("rack", pa.string(), "name of the rack"),
    ("stateful_tasks", pa.int64(), "stateful tasks all of whose copies stand there: they would have to be restored"),
)

UNAVAILABLE_PARTITIONS = table_schema(
    "One row a time in which a partition that tasks read or write was unavailable.",
    *_KEY,
    ("topic", pa.string(), "name of the topic"),
    ("partition", pa.int64(), "number of the partition"),
    (
        "reason",
        pa.string(),
        "no_leader: it could be neither read nor written; too_few_in_sync: it had fewer in-sync replicas than "
        "min.insync.replicas and could not be written",
    ),
    ("from_ms", pa.int64(), "since when"),
    ("until_ms", pa.int64(), "until when; the end of the run if it was still unavailable then"),
)

EVENTS = table_schema(
    "One row a change that the scenario made.",
    *_KEY,
    ("at_ms", pa.int64(), "when"),
    ("event", pa.string(), "what happened"),
    ("number", pa.int64(), "number of the event in the table convergence; null for traffic"),
)

CONVERGENCE = table_schema(
    "One row for the start of a run and for each event that led to rebalances: how the group converged after it.",
    *_KEY,
    ("number", pa.int64(), "number of the event by time, 0 for the start; events without rebalances have no row"),
    ("event", pa.string(), "what happened, as in the scenario: all changes of a rolling bounce are one event"),
    ("at_ms", pa.int64(), "its first change that called for a rebalance"),
    ("rebalances", pa.int64(), "rebalances until the group had converged, or up to the end of the run"),
    (
        "time_to_converge_ms",
        pa.int64(),
        "time from its first change until the group had converged; the longest, if it converged between changes of the "
        "event; null if it had not converged when the run ended",
    ),
    (
        "observed_ms",
        pa.int64(),
        "the same; if the group had not converged when the run ended, the time up to then",
    ),
    ("verdict", pa.string(), "stable, or the verdict of the run if the group had not converged when it ended"),
    (
        "cut_short_by",
        pa.int64(),
        "number of the first other event that called for a rebalance before the group had converged; the time goes on "
        "until it has converged after that one too",
    ),
)

SCHEMAS: dict[str, pa.Schema] = {
    "runs": RUNS,
    "rounds": ROUNDS,
    "tasks": TASKS,
    "assignments": ASSIGNMENTS,
    "moves": MOVES,
    "task_states": TASK_STATES,
    "traffic": TRAFFIC,
    "clients": CLIENTS,
    "reasons": REASONS,
    "cycles": CYCLES,
    "proofs": PROOFS,
    "losses": LOSSES,
    "unavailable_partitions": UNAVAILABLE_PARTITIONS,
    "events": EVENTS,
    "convergence": CONVERGENCE,
}
"""Every result table by its name."""


def concat_tables(parts: Iterable[dict[str, pa.Table]]) -> dict[str, pa.Table]:
    """Put the tables of several runs one below the other, in the order given."""
    every = list(parts)
    return {
        name: pa.concat_tables([part[name] for part in every]) if every else schema.empty_table()
        for name, schema in SCHEMAS.items()
    }
