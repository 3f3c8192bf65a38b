"""The Arrow schemas of the result tables.

The metadata of each field has the meaning and unit of the column; `docs/reference/tables.md` is generated from it.

The tables that explain assignments are `reasons`, `cycles` and `proofs`.

The table `neighbors` has other applications that ran on the cluster at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from simulator.results.other_traffic_tables import OTHER_TRAFFIC
from simulator.results.run_metrics import BALANCE, MOVES, RUN_METRICS
from simulator.results.table_schema import RUN_KEY, table_schema
from simulator.results.time_range_tables import TIME_RANGES

NEIGHBORS = table_schema(
    "One row per other application that ran on the cluster at the same time (alongside); empty without any.",
    *RUN_KEY,
    ("application", pa.string(), "application.id"),
    ("neighbor", pa.string(), "name of its scenario"),
    ("verdict", pa.string(), "how it ended, as in runs"),
    ("cause", pa.string(), "as in runs"),
    ("rebalances", pa.int64(), "rebalances in the whole run, without the initial state"),
    ("rebalances_to_converge", pa.int64(), "as in runs"),
    ("time_to_converge_ms", pa.int64(), "as in runs"),
    ("active_moves", pa.int64(), "how often an active task moved to another client"),
    ("restored_bytes", pa.int64(), "bytes read from changelogs to catch up"),
    ("restored_again_bytes", pa.int64(), "the part of restored_bytes that the same client had held before and lost"),
    ("downtime_ms", pa.int64(), "time in which tasks were not processed, summed over tasks"),
    ("worst_downtime_ms", pa.int64(), "maximum over tasks"),
    ("unqueryable_ms", pa.int64(), "time without a queryable copy, summed over stateful tasks"),
    ("max_processing_delay_ms", pa.int64(), "maximum over tasks"),
)


REASONS = table_schema(
    "One row per step of a copy that moved in a round; empty unless explanations were requested.",
    *RUN_KEY,
    ("round", pa.int64(), "number of the round; in the first, every copy is new"),
    ("task", pa.string(), "task id"),
    ("role", pa.string(), "active or standby; a warm-up is a standby"),
    ("from_client", pa.string(), "client that ran it in the round before; null if none, and for standbys"),
    ("to_client", pa.string(), "client that has it after the round"),
    ("step", pa.int64(), "number of the step, from 1; the last one ends at to_client"),
    ("kind", pa.string(), "kind of the step; see the explanation of reasons"),
    ("step_from", pa.string(), "client that had the copy before the step, null if none"),
    ("step_to", pa.string(), "client that has it after the step, null if none"),
    (
        "load_from",
        pa.float64(),
        "tasks per thread of step_from before the step; null if the step does not depend on loads",
    ),
    (
        "load_to",
        pa.float64(),
        "tasks per thread of step_to before the step; only active tasks if the kind is fewest_actives",
    ),
    ("load_from_after", pa.float64(), "tasks per thread of step_from after a balancing step"),
    ("load_to_after", pa.float64(), "tasks per thread of step_to after a balancing step"),
    (
        "held",
        pa.int64(),
        "tasks of step_to, or of its thread in a streams group, before the step; null if the step has no limit",
    ),
    ("room", pa.int64(), "maximum of held"),
    ("lag_from", pa.int64(), "lag of step_from in records, if the step depends on lags; -2 if it runs, -3 if unknown"),
    ("lag_to", pa.int64(), "lag of step_to in records; null, -2 and -3 as in lag_from"),
    ("acceptable_lag", pa.int64(), "acceptable.recovery.lag, if the step depends on lags"),
    ("tags", pa.string(), "rack.aware.assignment.tags of step_to, if the step depends on tags"),
    ("cycle", pa.int64(), "number of the cycle of the step, as in the table cycles; null if none"),
    (
        "break_even",
        pa.int64(),
        "for active tasks: the rack.aware.assignment.non_overlap_cost closest to the current one at which it stays",
    ),
    (
        "no_break_even",
        pa.string(),
        "why there is no break_even: new, member_lost, no_racks, any_cost or not_recorded; not_requested if none was",
    ),
)

CYCLES = table_schema(
    "One row per move of a cycle along which rack-aware optimization moved tasks; empty unless requested.",
    *RUN_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    ("cycle", pa.int64(), "number of the cycle in the round, from 1"),
    (
        "edge",
        pa.int64(),
        "number of the move in the cycle, from 1; it starts at the client where the previous move ends",
    ),
    ("role", pa.string(), "active or standby"),
    ("task", pa.string(), "task id"),
    ("from_client", pa.string(), "client that had the task before"),
    ("to_client", pa.string(), "client that has it after"),
    ("traffic_from", pa.int64(), "traffic cost of the task on from_client, by rack.aware.assignment.traffic_cost"),
    ("traffic_to", pa.int64(), "traffic cost of the task on to_client"),
    ("non_overlap_cost", pa.int64(), "cost of moving it"),
    ("cost", pa.int64(), "change of the total cost: traffic_to - traffic_from + non_overlap_cost"),
    (
        "cycle_cost",
        pa.int64(),
        "sum over the cycle; negative if it saves, otherwise the price of balanced subtopologies",
    ),
    (
        "cycle_break_even",
        pa.int64(),
        "smallest non_overlap_cost at which the cycle saves nothing; null if it saves nothing now",
    ),
)

PROOFS = table_schema(
    "One row per round whose total_cost_bound was proven by an exact search; empty unless requested.",
    *RUN_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    (
        "total_cost_bound",
        pa.int64(),
        "as in the table rounds: relaxed_total_cost_bound, raised to the proven bound",
    ),
    (
        "relaxed_total_cost_bound",
        pa.int64(),
        "lower bound by flows; equal to total_cost_bound if no proof was requested",
    ),
    (
        "best_known_total_cost",
        pa.int64(),
        "lowest known cost of the assignments that the bound covers; the proven optimum if equal to total_cost_bound",
    ),
)


def _metric_columns(*names: str) -> Iterator[tuple[str, pa.DataType, str]]:
    """Yield the columns of metrics."""
    for name in names:
        metric = RUN_METRICS[name]
        yield name, pa.int64() if metric.type is int else pa.float64(), metric.column or metric.meaning


def _names_in(group: str) -> list[str]:
    """Return the keys of the metrics of a group that have a column."""
    return [name for name, metric in RUN_METRICS.items() if metric.group == group and metric.type is not None]


_RUN_COLUMNS = (
    *RUN_KEY,
    ("broker_release", pa.string(), "Kafka release of the brokers at the start"),
    ("client_release", pa.string(), "Kafka release of the clients at the start"),
    ("protocol", pa.string(), "group protocol at the start: classic, streams or consumer"),
    ("verdict", pa.string(), "stable, restoring, probing, cycling, never, rebalancing, failed, stopped or empty"),
    ("verdict_round", pa.int64(), "the round that proves the verdict"),
    ("repeats_round", pa.int64(), "the earlier round that it repeats, if the run is cycling"),
    ("cause", pa.string(), "why the group never converges, the assignor failed or the run was stopped; null otherwise"),
    *_metric_columns("rebalances", "rebalances_to_converge", "time_to_converge_ms"),
    (
        "slowest_event",
        pa.string(),
        "event with the longest time to converge, or up to the end of the run; null without events",
    ),
    *_metric_columns("leader_compute_ms", *_names_in(MOVES)),
    *_metric_columns("downtime_ms", "mean_downtime_ms", "p99_downtime_ms", "longest_downtime_ms", "worst_downtime_ms"),
    *_metric_columns("unqueryable_ms", "unavailable_partitions", "worst_unavailable_ms", "max_processing_delay_ms"),
    *_metric_columns("cross_rack_source_partitions", "cross_rack_source_partitions_bound"),
    *_metric_columns("cross_rack_standby_partitions", "stateful_cost", "stateless_cost", "standby_cost"),
    (
        "deciding_round",
        pa.int64(),
        "first of the last rebalances that all have the final assignment; 0 if a running application never rebalanced",
    ),
    *_metric_columns("total_cost", "total_cost_bound"),
    ("mean_total_cost", pa.float64(), "mean of total_cost over all rebalances for which it is known"),
    ("mean_total_cost_bound", pa.float64(), "mean of total_cost_bound over the same rebalances"),
    ("worst_cost_round", pa.int64(), "first rebalance whose total_cost exceeds total_cost_bound the most"),
    ("worst_total_cost", pa.int64(), "total_cost of worst_cost_round"),
    ("worst_total_cost_bound", pa.int64(), "total_cost_bound of worst_cost_round"),
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
    ("round", pa.int64(), "number of the rebalance, from 1; 0 for the initial state of a running application"),
    ("requested_at_ms", pa.int64(), "when it was requested"),
    ("at_ms", pa.int64(), "when its assignment took effect"),
    ("until_ms", pa.int64(), "when the next assignment took effect, or the end of the run"),
    ("reason", pa.string(), "why it was requested"),
    ("members", pa.int64(), "clients in the group"),
    ("followup_delay_ms", pa.int64(), "delay of the follow-up rebalance that the assignor requested, null if none"),
    ("leader_compute_ms", pa.float64(), "time that Kafka's group leader would need for the assignment"),
    ("active_moves", pa.int64(), "tasks that move to another client"),
    ("thread_moves", pa.int64(), "tasks that move to another thread of the same client"),
    ("withheld_tasks", pa.int64(), "tasks that their new owners get only in the next round, after they are revoked"),
    ("standby_moves", pa.int64(), "new standbys and warm-ups"),
    ("displaced_tasks", pa.int64(), "tasks on other clients than in the last round of the run"),
    ("restoring_tasks", pa.int64(), "tasks that were not processed right after the rebalance"),
    ("warming_up", pa.int64(), "standbys and warm-ups that were behind right after the rebalance"),
    ("standbys", pa.int64(), "standby and warm-up copies"),
    ("restored_bytes", pa.int64(), "bytes read from changelogs to catch up until the next round"),
    ("downtime_ms", pa.int64(), "time in which tasks were not processed until the next round, summed over tasks"),
    (
        "cross_rack_source_partitions",
        pa.int64(),
        "source partitions without a replica in the rack of the client that reads them; null if racks are unknown",
    ),
    ("cross_rack_source_partitions_bound", pa.int64(), "lower bound of cross_rack_source_partitions, or null"),
    (
        "cross_rack_standby_partitions",
        pa.int64(),
        "changelog partitions without a replica in the rack of the standby that reads them; null if racks are unknown",
    ),
    ("stateful_cost", pa.int64(), "Kafka's cost of stateful actives, null where rack-aware assignment is off"),
    ("stateless_cost", pa.int64(), "Kafka's cost of stateless tasks"),
    ("standby_cost", pa.int64(), "Kafka's cost of standbys"),
    (
        "total_cost",
        pa.int64(),
        "cost of all copies and moves: traffic_cost for each partition read across racks and non_overlap_cost for each "
        "copy on a new client, 1 and 0 for stateless tasks; null if racks are unknown",
    ),
    (
        "total_cost_bound",
        pa.int64(),
        "lower bound of total_cost for assignments with the same maximum number of tasks of a kind per thread",
    ),
    (
        "cross_rack_bytes_per_s",
        pa.float64(),
        "steady state: bytes per second between racks once every task runs, with the leaders and replicas at the start "
        "of the round; at its end, if it is the last or reassigned partitions moved in it; null if a rack is unknown",
    ),
    (
        "cross_rack_bytes",
        pa.float64(),
        "bytes between racks until the next round; null if the rack of a client is unknown",
    ),
    ("load_skew", pa.float64(), "maximum minus minimum of active + standby tasks per thread"),
    ("active_skew", pa.float64(), "maximum minus minimum of active tasks per thread"),
    ("stateful_skew", pa.float64(), "maximum minus minimum of stateful active tasks per thread"),
    ("stateless_skew", pa.float64(), "maximum minus minimum of stateless active tasks per thread"),
    ("standby_skew", pa.float64(), "maximum minus minimum of standbys and warm-ups per thread"),
    ("subtopology_skew", pa.int64(), "largest difference between two clients in active tasks of one subtopology"),
    ("tasks_without_rack_redundancy", pa.int64(), "stateful tasks with all copies in one rack; null if unknown"),
)

TASKS = table_schema(
    "One row per task of the application.",
    *RUN_KEY,
    ("task", pa.string(), "task id"),
    ("stateful", pa.bool_(), "whether it has a changelog"),
    ("downtime_ms", pa.int64(), "time in which it was not processed, from the first assignment on"),
    ("longest_downtime_ms", pa.int64(), "longest single outage in that time"),
    ("unqueryable_ms", pa.int64(), "time without a queryable copy, null if stateless"),
    (
        "max_processing_delay_ms",
        pa.int64(),
        "maximum waiting input, as the time in which that much input usually arrives",
    ),
    ("active_moves", pa.int64(), "how often it moved to another client"),
)

ASSIGNMENTS = table_schema(
    "One row per copy of a task in a round.",
    *RUN_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    ("task", pa.string(), "task id"),
    ("client", pa.string(), "name of the client"),
    ("role", pa.string(), "active or standby; a warm-up is a standby"),
)

MOVES = table_schema(
    "One row per task that moved from one round to the next.",
    *RUN_KEY,
    ("round", pa.int64(), "round of the move"),
    ("at_ms", pa.int64(), "time of the move"),
    ("task", pa.string(), "task id"),
    ("role", pa.string(), "active or standby"),
    ("from_client", pa.string(), "client that ran it before; null if none, and for standbys"),
    ("to_client", pa.string(), "client that has it now, null if unassigned"),
    ("reason", pa.string(), "for active tasks: member_lost, promoted, returned, rack or balance; null for standbys"),
)

TASK_STATES = table_schema(
    "One row per state of a task.",
    *RUN_KEY,
    ("at_ms", pa.int64(), "time of the transition"),
    ("task", pa.string(), "task id"),
    ("state", pa.string(), "new state: unassigned, assigned, restoring, running, blocked or revoked"),
    ("client", pa.string(), "client of the task, null if none"),
)

TRAFFIC = table_schema(
    "One row per kind of traffic and pair of racks in a round.",
    *RUN_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    ("kind", pa.string(), "kind of traffic; see the explanation of the model"),
    ("from_rack", pa.string(), "rack of the sender, null if it has none"),
    ("to_rack", pa.string(), "rack of the receiver, null if it has none"),
    ("bytes", pa.float64(), "bytes until the next round"),
)

CLIENTS = table_schema(
    "One row per stay of a client in the group; a client that never joined has one row without rounds.",
    *RUN_KEY,
    ("client", pa.string(), "name of the client"),
    ("rack", pa.string(), "rack of the client, null if unknown"),
    ("threads", pa.int64(), "num.stream.threads"),
    ("from_round", pa.int64(), "first round in which it was a member; null if it never was"),
    ("until_round", pa.int64(), "first round after its stay; null if it stayed to the end"),
)

THREAD_LOADS = table_schema(
    "One row per thread with running tasks at the end of the run; none if no client states records_per_s.",
    *RUN_KEY,
    ("client", pa.string(), "name of the client"),
    ("thread", pa.int64(), "number of the thread, from 0 on"),
    ("active_tasks", pa.int64(), "running active tasks of the thread"),
    ("input_records_per_s", pa.float64(), "records of their source topics that arrive per second"),
    ("max_records_per_s", pa.float64(), "records that the thread can process per second; null for no limit"),
    (
        "processing_delay_ms",
        pa.int64(),
        "maximum waiting input of its tasks, as the time in which that much input usually arrives",
    ),
    (
        "behind_since_ms",
        pa.int64(),
        "since when less is processed than arrives of one of its tasks; null if the thread can keep up",
    ),
)

OVERLOADS = table_schema(
    "One row per period in which tasks were behind because more arrived for their threads than those process; none if "
    "no client states records_per_s.",
    *RUN_KEY,
    ("from_ms", pa.int64(), "when the first thread was overloaded"),
    ("until_ms", pa.int64(), "when all tasks had caught up; null if they had not at the end of the run"),
    ("threads", pa.int64(), "maximum number of threads that were overloaded at the same time"),
    (
        "processing_delay_ms",
        pa.int64(),
        "maximum input of a task that waited because of it, as the time in which that much input usually arrives",
    ),
    ("delay_at_ms", pa.int64(), "when that maximum was reached; the following columns are what held until then"),
    ("task", pa.string(), "task with that delay"),
    ("client", pa.string(), "client of the task"),
    ("thread", pa.int64(), "thread of the task"),
    ("active_tasks", pa.int64(), "running active tasks of that thread"),
    ("input_records_per_s", pa.float64(), "records that arrived for that thread per second"),
    ("max_records_per_s", pa.float64(), "records that it can process per second"),
    ("all_input_records_per_s", pa.float64(), "records that arrived for all running tasks per second"),
    ("all_max_records_per_s", pa.float64(), "records that their threads can process per second; null for no limit"),
)

LOSSES = table_schema(
    "One row per rack: the losses if it fails at the end of the run.",
    *RUN_KEY,
    ("rack", pa.string(), "name of the rack"),
    (
        "stateful_tasks",
        pa.int64(),
        "stateful tasks all of whose copies are in the rack, which would have to be restored",
    ),
)

UNAVAILABLE_PARTITIONS = table_schema(
    "One row per outage of a partition that tasks read or write.",
    *RUN_KEY,
    ("topic", pa.string(), "name of the topic"),
    ("partition", pa.int64(), "number of the partition"),
    (
        "reason",
        pa.string(),
        "no_leader: it could be neither read nor written; too_few_in_sync: it had fewer in-sync replicas than "
        "min.insync.replicas and could not be written",
    ),
    ("from_ms", pa.int64(), "start of the outage"),
    ("until_ms", pa.int64(), "end of the outage; the end of the run if it was still unavailable"),
)

EVENTS = table_schema(
    "One row per change of the scenario.",
    *RUN_KEY,
    ("at_ms", pa.int64(), "time of the change"),
    ("event", pa.string(), "description of the change"),
    ("number", pa.int64(), "number of the event in the table convergence; null for traffic"),
)

SCALING = table_schema(
    "One row per decision of an autoscaler by lag, unless it repeats the one before with a lag within 10 %.",
    *RUN_KEY,
    ("at_ms", pa.int64(), "time of the decision"),
    ("workload", pa.string(), "name of the StatefulSet or Deployment"),
    ("scaler", pa.string(), "HPA, or KEDA for changes between idle and active"),
    ("lag", pa.int64(), "lag of the group in records: what waits, and what is processed but not committed"),
    (
        "target_lag",
        pa.int64(),
        "lag at which the pods that exist are enough: lagThreshold times pods, or a target of type Value; that of the "
        "trigger that asks for the most pods, as is the lag",
    ),
    ("recommended", pa.int64(), "pods that the lag asks for"),
    ("replicas_before", pa.int64(), "replicas until then"),
    ("replicas", pa.int64(), "replicas from then on"),
    ("ready", pa.int64(), "pods that were ready"),
    ("reason", pa.string(), "why it decided so"),
)

SCALED_ROUNDS = table_schema(
    "One row per rebalance and decision of an autoscaler that caused it, by starting or stopping pods.",
    *RUN_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    ("decided_at_ms", pa.int64(), "time of the decision"),
    ("workload", pa.string(), "name of the StatefulSet or Deployment"),
    ("scaler", pa.string(), "HPA, or KEDA for changes between idle and active"),
    ("lag", pa.int64(), "lag of the group in records that the autoscaler saw"),
    ("target_lag", pa.int64(), "lag at which the pods that existed would have been enough"),
    ("recommended", pa.int64(), "pods that the lag asked for"),
    ("replicas_before", pa.int64(), "replicas until then"),
    ("replicas", pa.int64(), "replicas from then on"),
    ("reason", pa.string(), "why it decided so"),
)

CONVERGENCE = table_schema(
    "One row for the start of a run and for each event that caused rebalances: how the group converged after it.",
    *RUN_KEY,
    ("number", pa.int64(), "number of the event by time, 0 for the start; events without rebalances have no row"),
    ("event", pa.string(), "label of the event; all changes of a rolling bounce are one event"),
    ("at_ms", pa.int64(), "first change of the event that caused a rebalance"),
    ("rebalances", pa.int64(), "rebalances until the group had converged, or up to the end of the run"),
    (
        "time_to_converge_ms",
        pa.int64(),
        "time from the first change until the group had converged; the longest time if it converged between changes of "
        "the event; null if it had not converged when the run ended",
    ),
    (
        "observed_ms",
        pa.int64(),
        "time_to_converge_ms; if the group had not converged when the run ended, the time up to then",
    ),
    ("verdict", pa.string(), "stable, or the verdict of the run if the group had not converged when it ended"),
    (
        "cut_short_by",
        pa.int64(),
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
