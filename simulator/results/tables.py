"""The Arrow schemas of the result tables.

The metadata of each field has the meaning and unit of the column; `docs/reference/tables.md` is generated from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from simulator.results.run_metrics import BALANCE, MOVES, RUN_METRICS

INT, FLOAT, TEXT, BOOL = pa.int64(), pa.float64(), pa.string(), pa.bool_()


def table_schema(about: str, *fields: tuple[str, pa.DataType, str]) -> pa.Schema:
    """Return the schema of a table.

    `about`: the meaning of a row of the table, stored as metadata. `fields`: name, type and meaning of each column; the
    meaning is stored as metadata.
    """
    return pa.schema(
        [pa.field(name, kind, metadata={"meaning": meaning}) for name, kind, meaning in fields],
        metadata={"about": about},
    )


RUN_KEY = (
    ("scenario", TEXT, "name of the scenario"),
    ("assignor", TEXT, "label of the assignor, from the scenario or the command line"),
    ("seed", INT, "seed of the run"),
)
"""The first columns of every table of a run."""


TIME_RANGES = table_schema(
    "One row per run of `run` whose outcome depends on client times (application.times) within their uncertainty.",
    *RUN_KEY,
    ("rebalances_to_converge", INT, "as in runs"),
    ("time_to_converge_ms", INT, "as in runs"),
    *(
        (f"{case}_{name}", INT, f"the same if copies begin to read {case}: {times}")
        for case, times in (
            ("early", "open_store, restore_start / uncertainty; rejoin * uncertainty"),
            ("late", "open_store, restore_start * uncertainty; rejoin / uncertainty"),
        )
        for name in ("rebalances_to_converge", "time_to_converge_ms")
    ),
    ("uncertainty", FLOAT, "the factor by which client times may differ"),
    ("round", INT, "first rebalance that decides differently; null if none does"),
    ("task", TEXT, "a task that it moves or not, depending on when its copy has caught up; null if unknown"),
    ("client", TEXT, "the client with that copy"),
    ("caught_up_after_ms", INT, "when that copy has caught up, from the assignment of that rebalance on"),
)


NEIGHBORS = table_schema(
    "One row per other application that ran on the cluster at the same time (alongside); empty without any.",
    *RUN_KEY,
    ("application", TEXT, "application.id"),
    ("neighbor", TEXT, "name of its scenario"),
    ("verdict", TEXT, "how it ended, as in runs"),
    ("cause", TEXT, "as in runs"),
    ("rebalances", INT, "rebalances in the whole run, without the initial state"),
    ("rebalances_to_converge", INT, "as in runs"),
    ("time_to_converge_ms", INT, "as in runs"),
    ("active_moves", INT, "how often an active task moved to another client"),
    ("restored_bytes", INT, "bytes read from changelogs to catch up"),
    ("restored_again_bytes", INT, "the part of restored_bytes that the same client had held before and lost"),
    ("downtime_ms", INT, "time in which tasks were not processed, summed over tasks"),
    ("worst_downtime_ms", INT, "maximum over tasks"),
    ("unqueryable_ms", INT, "time without a queryable copy, summed over stateful tasks"),
    ("max_processing_delay_ms", INT, "maximum over tasks"),
)


REASONS = table_schema(
    "One row per step of a copy that moved in a round; empty unless explanations were requested.",
    *RUN_KEY,
    ("round", INT, "number of the round; in the first, every copy is new"),
    ("task", TEXT, "task id"),
    ("role", TEXT, "active or standby; a warm-up is a standby"),
    ("from_client", TEXT, "client that ran it in the round before; null if none, and for standbys"),
    ("to_client", TEXT, "client that has it after the round"),
    ("step", INT, "number of the step, from 1; the last one ends at to_client"),
    ("kind", TEXT, "kind of the step; see the explanation of reasons"),
    ("step_from", TEXT, "client that had the copy before the step, null if none"),
    ("step_to", TEXT, "client that has it after the step, null if none"),
    ("load_from", FLOAT, "tasks per thread of step_from before the step; null if the step does not depend on loads"),
    ("load_to", FLOAT, "tasks per thread of step_to before the step; only active tasks if the kind is fewest_actives"),
    ("load_from_after", FLOAT, "tasks per thread of step_from after a balancing step"),
    ("load_to_after", FLOAT, "tasks per thread of step_to after a balancing step"),
    (
        "held",
        INT,
        "tasks of step_to, or of its thread in a streams group, before the step; null if the step has no limit",
    ),
    ("room", INT, "maximum of held"),
    ("lag_from", INT, "lag of step_from in records, if the step depends on lags; -2 if it runs, -3 if unknown"),
    ("lag_to", INT, "lag of step_to in records; null, -2 and -3 as in lag_from"),
    ("acceptable_lag", INT, "acceptable.recovery.lag, if the step depends on lags"),
    ("tags", TEXT, "rack.aware.assignment.tags of step_to, if the step depends on tags"),
    ("cycle", INT, "number of the cycle of the step, as in the table cycles; null if none"),
    (
        "break_even",
        INT,
        "for active tasks: the rack.aware.assignment.non_overlap_cost closest to the current one at which it stays",
    ),
    (
        "no_break_even",
        TEXT,
        "why there is no break_even: new, member_lost, no_racks, any_cost or not_recorded; not_requested if none was",
    ),
)

CYCLES = table_schema(
    "One row per move of a cycle along which rack-aware optimization moved tasks; empty unless requested.",
    *RUN_KEY,
    ("round", INT, "number of the rebalance"),
    ("cycle", INT, "number of the cycle in the round, from 1"),
    ("edge", INT, "number of the move in the cycle, from 1; it starts at the client where the previous move ends"),
    ("role", TEXT, "active or standby"),
    ("task", TEXT, "task id"),
    ("from_client", TEXT, "client that had the task before"),
    ("to_client", TEXT, "client that has it after"),
    ("traffic_from", INT, "traffic cost of the task on from_client, by rack.aware.assignment.traffic_cost"),
    ("traffic_to", INT, "traffic cost of the task on to_client"),
    ("non_overlap_cost", INT, "cost of moving it"),
    ("cost", INT, "change of the total cost: traffic_to - traffic_from + non_overlap_cost"),
    ("cycle_cost", INT, "sum over the cycle; negative if it saves, otherwise the price of balanced subtopologies"),
    (
        "cycle_break_even",
        INT,
        "smallest non_overlap_cost at which the cycle saves nothing; null if it saves nothing now",
    ),
)

PROOFS = table_schema(
    "One row per round whose total_cost_bound was proven by an exact search; empty unless requested.",
    *RUN_KEY,
    ("round", INT, "number of the rebalance"),
    ("total_cost_bound", INT, "as in the table rounds: relaxed_total_cost_bound, raised to the proven bound"),
    ("relaxed_total_cost_bound", INT, "lower bound by flows; equal to total_cost_bound if no proof was requested"),
    (
        "best_known_total_cost",
        INT,
        "lowest known cost of the assignments that the bound covers; the proven optimum if equal to total_cost_bound",
    ),
)


def _metric_columns(*names: str) -> Iterator[tuple[str, pa.DataType, str]]:
    """Yield the columns of metrics."""
    for name in names:
        metric = RUN_METRICS[name]
        yield name, INT if metric.type is int else FLOAT, metric.column or metric.meaning


def _final_columns(*names: str) -> Iterator[tuple[str, pa.DataType, str]]:
    """Yield the columns of the table `rounds` whose last value is a metric."""
    return ((name, kind, meaning.removeprefix("final: ")) for name, kind, meaning in _metric_columns(*names))


def _names_in(group: str) -> list[str]:
    """Return the keys of the metrics of a group that have a column."""
    return [name for name, metric in RUN_METRICS.items() if metric.group == group and metric.type is not None]


_RUN_COLUMNS = (
    *RUN_KEY,
    ("broker_release", TEXT, "Kafka release of the brokers at the start"),
    ("client_release", TEXT, "Kafka release of the clients at the start"),
    ("protocol", TEXT, "group protocol at the start: classic, streams or consumer"),
    ("verdict", TEXT, "stable, restoring, probing, cycling, never, rebalancing, failed, stopped or empty"),
    ("verdict_round", INT, "the round that proves the verdict"),
    ("repeats_round", INT, "the earlier round that it repeats, if the run is cycling"),
    ("cause", TEXT, "why the group never converges, the assignor failed or the run was stopped; null otherwise"),
    *_metric_columns("rebalances", "rebalances_to_converge", "time_to_converge_ms"),
    (
        "slowest_event",
        TEXT,
        "event with the longest time to converge, or up to the end of the run; null without events",
    ),
    *_metric_columns("leader_compute_ms", *_names_in(MOVES)),
    *_metric_columns("downtime_ms", "mean_downtime_ms", "p99_downtime_ms", "longest_downtime_ms", "worst_downtime_ms"),
    *_metric_columns("unqueryable_ms", "unavailable_partitions", "worst_unavailable_ms", "max_processing_delay_ms"),
    *_metric_columns("cross_rack_source_partitions", "cross_rack_source_partitions_bound"),
    *_metric_columns("cross_rack_standby_partitions", "stateful_cost", "stateless_cost", "standby_cost"),
    (
        "deciding_round",
        INT,
        "first of the last rebalances that all have the final assignment; 0 if a running application never rebalanced",
    ),
    *_metric_columns("total_cost", "total_cost_bound"),
    ("mean_total_cost", FLOAT, "mean of total_cost over all rebalances for which it is known"),
    ("mean_total_cost_bound", FLOAT, "mean of total_cost_bound over the same rebalances"),
    ("worst_cost_round", INT, "first rebalance whose total_cost exceeds total_cost_bound the most"),
    ("worst_total_cost", INT, "total_cost of worst_cost_round"),
    ("worst_total_cost_bound", INT, "total_cost_bound of worst_cost_round"),
    *_metric_columns("cross_rack_bytes_per_s", "cross_rack_bytes", "cross_rack_usd_per_day", "cross_rack_usd"),
    *_metric_columns(*_names_in(BALANCE), "stateful_tasks"),
)
"""The first columns of `runs`, in the order that results have had so far; all other metrics follow them."""

_FIRST = frozenset(name for name, _, _ in _RUN_COLUMNS)

RUNS = table_schema(
    "One row per run: a scenario with one assignor and one seed.",
    *_RUN_COLUMNS,
    *_metric_columns(*(name for name, metric in RUN_METRICS.items() if metric.type is not None and name not in _FIRST)),
)

ROUNDS = table_schema(
    "One row per rebalance, and one for the initial state of a running application.",
    *RUN_KEY,
    ("round", INT, "number of the rebalance, from 1; 0 for the initial state of a running application"),
    ("requested_at_ms", INT, "when it was requested"),
    ("at_ms", INT, "when its assignment took effect"),
    ("until_ms", INT, "when the next assignment took effect, or the end of the run"),
    ("reason", TEXT, "why it was requested"),
    ("members", INT, "clients in the group"),
    ("followup_delay_ms", INT, "delay of the follow-up rebalance that the assignor requested, null if none"),
    ("leader_compute_ms", FLOAT, "time that Kafka's group leader would need for the assignment"),
    ("active_moves", INT, "tasks that move to another client"),
    ("thread_moves", INT, "tasks that move to another thread of the same client"),
    ("withheld_tasks", INT, "tasks that their new owners get only in the next round, after they are revoked"),
    ("standby_moves", INT, "new standbys and warm-ups"),
    ("displaced_tasks", INT, "tasks on other clients than in the last round of the run"),
    ("restoring_tasks", INT, "tasks that were not processed right after the rebalance"),
    ("warming_up", INT, "standbys and warm-ups that were behind right after the rebalance"),
    ("standbys", INT, "standby and warm-up copies"),
    ("restored_bytes", INT, "bytes read from changelogs to catch up until the next round"),
    ("downtime_ms", INT, "time in which tasks were not processed until the next round, summed over tasks"),
    (
        "cross_rack_source_partitions",
        INT,
        "source partitions without a replica in the rack of the client that reads them; null if racks are unknown",
    ),
    ("cross_rack_source_partitions_bound", INT, "lower bound of cross_rack_source_partitions, or null"),
    (
        "cross_rack_standby_partitions",
        INT,
        "changelog partitions without a replica in the rack of the standby that reads them; null if racks are unknown",
    ),
    *_final_columns("stateful_cost", "stateless_cost", "standby_cost"),
    (
        "total_cost",
        INT,
        "cost of all copies and moves: traffic_cost for each partition read across racks and non_overlap_cost for each "
        "copy on a new client, 1 and 0 for stateless tasks; null if racks are unknown",
    ),
    (
        "total_cost_bound",
        INT,
        "lower bound of total_cost for assignments with the same maximum number of tasks of a kind per thread",
    ),
    (
        "cross_rack_bytes_per_s",
        FLOAT,
        "steady state: bytes per second between racks once every task runs, with the leaders and replicas at the start "
        "of the round; at its end, if it is the last or reassigned partitions moved in it; null if a rack is unknown",
    ),
    ("cross_rack_bytes", FLOAT, "bytes between racks until the next round; null if the rack of a client is unknown"),
    *_final_columns(*_names_in(BALANCE)),
    ("tasks_without_rack_redundancy", INT, "stateful tasks with all copies in one rack; null if unknown"),
)

TASKS = table_schema(
    "One row per task of the application.",
    *RUN_KEY,
    ("task", TEXT, "task id"),
    ("stateful", BOOL, "whether it has a changelog"),
    ("downtime_ms", INT, "time in which it was not processed, from the first assignment on"),
    ("longest_downtime_ms", INT, "longest single outage in that time"),
    ("unqueryable_ms", INT, "time without a queryable copy, null if stateless"),
    ("max_processing_delay_ms", INT, "maximum waiting input, as the time in which that much input usually arrives"),
    ("active_moves", INT, "how often it moved to another client"),
)

ASSIGNMENTS = table_schema(
    "One row per copy of a task in a round.",
    *RUN_KEY,
    ("round", INT, "number of the rebalance"),
    ("task", TEXT, "task id"),
    ("client", TEXT, "name of the client"),
    ("role", TEXT, "active or standby; a warm-up is a standby"),
)

MOVES = table_schema(
    "One row per task that moved from one round to the next.",
    *RUN_KEY,
    ("round", INT, "round of the move"),
    ("at_ms", INT, "time of the move"),
    ("task", TEXT, "task id"),
    ("role", TEXT, "active or standby"),
    ("from_client", TEXT, "client that ran it before; null if none, and for standbys"),
    ("to_client", TEXT, "client that has it now, null if unassigned"),
    ("reason", TEXT, "for active tasks: member_lost, promoted, returned, rack or balance; null for standbys"),
)

TASK_STATES = table_schema(
    "One row per state of a task.",
    *RUN_KEY,
    ("at_ms", INT, "time of the transition"),
    ("task", TEXT, "task id"),
    ("state", TEXT, "new state: unassigned, assigned, restoring, running, blocked or revoked"),
    ("client", TEXT, "client of the task, null if none"),
)

TRAFFIC = table_schema(
    "One row per kind of traffic and pair of racks in a round.",
    *RUN_KEY,
    ("round", INT, "number of the rebalance"),
    ("kind", TEXT, "kind of traffic; see the explanation of the model"),
    ("from_rack", TEXT, "rack of the sender, null if it has none"),
    ("to_rack", TEXT, "rack of the receiver, null if it has none"),
    ("bytes", FLOAT, "bytes until the next round"),
)

OTHER_TRAFFIC = table_schema(
    "One row per part of the traffic of other producers and consumer groups (other_traffic), topic and pair of racks; "
    "empty without any.",
    *RUN_KEY,
    ("kind", TEXT, "produce, produce_replication or other_read, as in traffic"),
    ("name", TEXT, "name of the producer or group; null for replication"),
    ("topic", TEXT, "name of the topic"),
    ("from_rack", TEXT, "rack of the sender, null if it has none"),
    ("to_rack", TEXT, "rack of the receiver, null if it has none"),
    ("bytes", FLOAT, "bytes in the whole run"),
)

CLIENTS = table_schema(
    "One row per stay of a client in the group; a client that never joined has one row without rounds.",
    *RUN_KEY,
    ("client", TEXT, "name of the client"),
    ("rack", TEXT, "rack of the client, null if unknown"),
    ("threads", INT, "num.stream.threads"),
    ("from_round", INT, "first round in which it was a member; null if it never was"),
    ("until_round", INT, "first round after its stay; null if it stayed to the end"),
)

THREAD_LOADS = table_schema(
    "One row per thread with running tasks at the end of the run; none if no client states records_per_s.",
    *RUN_KEY,
    ("client", TEXT, "name of the client"),
    ("thread", INT, "number of the thread, from 0 on"),
    ("active_tasks", INT, "running active tasks of the thread"),
    ("input_records_per_s", FLOAT, "records of their source topics that arrive per second"),
    ("max_records_per_s", FLOAT, "records that the thread can process per second; null for no limit"),
    (
        "processing_delay_ms",
        INT,
        "maximum waiting input of its tasks, as the time in which that much input usually arrives",
    ),
    (
        "behind_since_ms",
        INT,
        "since when less is processed than arrives of one of its tasks; null if the thread can keep up",
    ),
)

OVERLOADS = table_schema(
    "One row per period in which tasks were behind because more arrived for their threads than those process; none if "
    "no client states records_per_s.",
    *RUN_KEY,
    ("from_ms", INT, "when the first thread was overloaded"),
    ("until_ms", INT, "when all tasks had caught up; null if they had not at the end of the run"),
    ("threads", INT, "maximum number of threads that were overloaded at the same time"),
    (
        "processing_delay_ms",
        INT,
        "maximum input of a task that waited because of it, as the time in which that much input usually arrives",
    ),
    ("delay_at_ms", INT, "when that maximum was reached; the following columns are what held until then"),
    ("task", TEXT, "task with that delay"),
    ("client", TEXT, "client of the task"),
    ("thread", INT, "thread of the task"),
    ("active_tasks", INT, "running active tasks of that thread"),
    ("input_records_per_s", FLOAT, "records that arrived for that thread per second"),
    ("max_records_per_s", FLOAT, "records that it can process per second"),
    ("all_input_records_per_s", FLOAT, "records that arrived for all running tasks per second"),
    ("all_max_records_per_s", FLOAT, "records that their threads can process per second; null for no limit"),
)

LOSSES = table_schema(
    "One row per rack: the losses if it fails at the end of the run.",
    *RUN_KEY,
    ("rack", TEXT, "name of the rack"),
    ("stateful_tasks", INT, "stateful tasks all of whose copies are in the rack, which would have to be restored"),
)

UNAVAILABLE_PARTITIONS = table_schema(
    "One row per outage of a partition that tasks read or write.",
    *RUN_KEY,
    ("topic", TEXT, "name of the topic"),
    ("partition", INT, "number of the partition"),
    (
        "reason",
        TEXT,
        "no_leader: it could be neither read nor written; too_few_in_sync: it had fewer in-sync replicas than "
        "min.insync.replicas and could not be written",
    ),
    ("from_ms", INT, "start of the outage"),
    ("until_ms", INT, "end of the outage; the end of the run if it was still unavailable"),
)

EVENTS = table_schema(
    "One row per change of the scenario.",
    *RUN_KEY,
    ("at_ms", INT, "time of the change"),
    ("event", TEXT, "description of the change"),
    ("number", INT, "number of the event in the table convergence; null for traffic"),
)

SCALING = table_schema(
    "One row per decision of an autoscaler by lag, unless it repeats the one before with a lag within 10 %.",
    *RUN_KEY,
    ("at_ms", INT, "time of the decision"),
    ("workload", TEXT, "name of the StatefulSet or Deployment"),
    ("scaler", TEXT, "HPA, or KEDA for changes between idle and active"),
    ("lag", INT, "lag of the group in records: what waits, and what is processed but not committed"),
    (
        "target_lag",
        INT,
        "lag at which the pods that exist are enough: lagThreshold times pods, or a target of type Value; that of the "
        "trigger that asks for the most pods, as is the lag",
    ),
    ("recommended", INT, "pods that the lag asks for"),
    ("replicas_before", INT, "replicas until then"),
    ("replicas", INT, "replicas from then on"),
    ("ready", INT, "pods that were ready"),
    ("reason", TEXT, "why it decided so"),
)

SCALED_ROUNDS = table_schema(
    "One row per rebalance and decision of an autoscaler that caused it, by starting or stopping pods.",
    *RUN_KEY,
    ("round", INT, "number of the rebalance"),
    ("decided_at_ms", INT, "time of the decision"),
    ("workload", TEXT, "name of the StatefulSet or Deployment"),
    ("scaler", TEXT, "HPA, or KEDA for changes between idle and active"),
    ("lag", INT, "lag of the group in records that the autoscaler saw"),
    ("target_lag", INT, "lag at which the pods that existed would have been enough"),
    ("recommended", INT, "pods that the lag asked for"),
    ("replicas_before", INT, "replicas until then"),
    ("replicas", INT, "replicas from then on"),
    ("reason", TEXT, "why it decided so"),
)

CONVERGENCE = table_schema(
    "One row for the start of a run and for each event that caused rebalances: how the group converged after it.",
    *RUN_KEY,
    ("number", INT, "number of the event by time, 0 for the start; events without rebalances have no row"),
    ("event", TEXT, "label of the event; all changes of a rolling bounce are one event"),
    ("at_ms", INT, "first change of the event that caused a rebalance"),
    ("rebalances", INT, "rebalances until the group had converged, or up to the end of the run"),
    (
        "time_to_converge_ms",
        INT,
        "time from the first change until the group had converged; the longest time if it converged between changes of "
        "the event; null if it had not converged when the run ended",
    ),
    ("observed_ms", INT, "time_to_converge_ms; if the group had not converged when the run ended, the time up to then"),
    ("verdict", TEXT, "stable, or the verdict of the run if the group had not converged when it ended"),
    (
        "cut_short_by",
        INT,
        "number of the first other event that caused a rebalance before the group had converged; the time then ends "
        "when the group has converged after that event, too",
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
    "other_traffic": OTHER_TRAFFIC,
    "clients": CLIENTS,
    "reasons": REASONS,
    "cycles": CYCLES,
    "proofs": PROOFS,
    "thread_loads": THREAD_LOADS,
    "overloads": OVERLOADS,
    "losses": LOSSES,
    "unavailable_partitions": UNAVAILABLE_PARTITIONS,
    "events": EVENTS,
    "convergence": CONVERGENCE,
    "scaling": SCALING,
    "scaled_rounds": SCALED_ROUNDS,
    "time_ranges": TIME_RANGES,
    "neighbors": NEIGHBORS,
}
"""Every result table by its name."""


def concat_tables(parts: Iterable[dict[str, pa.Table]]) -> dict[str, pa.Table]:
    """Concatenate the tables of several runs, in the given order."""
    tables = list(parts)
    return {
        name: pa.concat_tables([part[name] for part in tables]) if tables else schema.empty_table()
        for name, schema in SCHEMAS.items()
    }
