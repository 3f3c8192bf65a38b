"""The result tables of a run, from its trace."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from simulator.flows.task_states import TaskState
from simulator.flows.traffic import cross_rack_bytes
from simulator.group.rebalance_causes import START
from simulator.results.arrow_columns import arrow_column, arrow_constant, arrow_names
from simulator.results.explanation_rows import cycle_rows, explanation_rows
from simulator.results.moves import REASONS, RoundMoves, round_moves
from simulator.results.other_traffic_tables import other_traffic_columns
from simulator.results.run_metrics import RUN_METRICS
from simulator.results.run_summary import RunSummary
from simulator.results.tables import SCHEMAS
from simulator.results.trace import Round, Trace
from simulator.world.disturbances import event_numbers
from simulator.world.thread_ends import num_thread_numbers

Columns = Mapping[str, Any]


def tabulate(trace: Trace, assignor: str, seed: int) -> dict[str, pa.Table]:
    """Return every table of `SCHEMAS` for a run, by name."""
    key = {"scenario": trace.world.name, "assignor": assignor, "seed": seed}
    run, labels = _summary(trace), _event_labels(trace)
    tables: dict[str, Columns] = {
        "runs": _of_rows([_run_row(run, labels)], "runs"),
        "rounds": _of_rows(run.rounds, "rounds"),
        "tasks": _tasks(run),
        "assignments": _assignments(trace),
        "moves": _moves(trace, run.moved),
        "task_states": _task_states(trace),
        "traffic": _traffic(trace),
        "other_traffic": other_traffic_columns(trace),
        "clients": _clients(trace),
        "reasons": _of_rows(list(explanation_rows(trace)), "reasons"),
        "cycles": _of_rows(list(cycle_rows(trace)), "cycles"),
        "proofs": _proofs(trace),
        "thread_loads": _thread_loads(trace),
        "overloads": _overloads(trace),
        "losses": _losses(trace),
        "unavailable_partitions": _unavailable_partitions(trace),
        "events": _of_rows(
            [
                {"at_ms": timed.at_ms, "event": str(timed.change), "number": timed.event or None}
                for timed in trace.changes
            ],
            "events",
        ),
        "convergence": _of_rows(
            [
                {**dataclasses.asdict(event), "number": event.event, "event": labels[event.event]}
                for event in run.converged.events
            ],
            "convergence",
        ),
        "scaling": _of_rows([dataclasses.asdict(step) for step in trace.scaling], "scaling"),
        "scaled_rounds": _of_rows(list(_scaled_rounds(trace)), "scaled_rounds"),
        "time_ranges": _of_rows([], "time_ranges"),
        "neighbors": _of_rows([_neighbor_row(neighbor) for neighbor in trace.neighbors], "neighbors"),
    }
    return {name: _table(name, columns, key) for name, columns in tables.items()}


def _summary(trace: Trace) -> RunSummary:
    moved = list(round_moves(trace))
    return RunSummary(trace, _rounds(trace, moved), moved)


def _run_row(run: RunSummary, labels: Mapping[int, str]) -> dict[str, Any]:
    """Return the row of a run in the table `runs`, by column; columns that are missing are null."""
    application, converged = run.trace.world.application, run.converged
    broker_release, client_release = application.releases
    metrics = {
        metric.name: metric.value(run)
        for metric in RUN_METRICS.values()
        if metric.type is not None and (metric.in_consumer_groups or not application.is_consumer_group)
    }
    return {
        "broker_release": broker_release,
        "client_release": client_release,
        "protocol": str(application.group_configs.protocol),
        "verdict": str(converged.verdict),
        "verdict_round": converged.round,
        "repeats_round": converged.repeats,
        "cause": converged.cause,
        "slowest_event": None if converged.slowest_event is None else labels[converged.slowest_event],
        **run.costs,
        **metrics,
    }


def _scaled_rounds(trace: Trace) -> Iterator[dict[str, Any]]:
    """Yield the decisions of autoscalers behind each round, by time."""
    for round_ in trace.rounds:
        steps = dict.fromkeys(step for cause in round_.causes for step in trace.scaled_pods.get(cause, ()))
        for step in sorted(steps, key=lambda step: (step.at_ms, step.workload, step.scaler)):
            yield {**dataclasses.asdict(step), "round": round_.number, "decided_at_ms": step.at_ms}


def _neighbor_row(trace: Trace) -> dict[str, Any]:
    row = _run_row(_summary(trace), _event_labels(trace))
    return {**row, "application": trace.world.application.id, "neighbor": trace.world.name}


def _table(name: str, columns: Columns, key: Mapping[str, Any]) -> pa.Table:
    schema = SCHEMAS[name]
    length = len(next(iter(columns.values())))
    if not length:
        return _empty_table(name)
    arrays = []
    for field in schema:
        values = arrow_constant(key[field.name], length) if field.name in key else columns[field.name]
        arrays.append(values if isinstance(values, pa.Array) else arrow_column(values, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


@cache
def _empty_table(name: str) -> pa.Table:
    """Return a table without rows; a run has several, and tables cannot be changed."""
    schema = SCHEMAS[name]
    return pa.Table.from_arrays([arrow_column([], field.type) for field in schema], schema=schema)


def _of_rows(rows: Sequence[Mapping[str, Any]], name: str) -> Columns:
    return {field.name: [row.get(field.name) for row in rows] for field in SCHEMAS[name]}


def _event_labels(trace: Trace) -> dict[int, str]:
    """Return the label of each event, by its number."""
    events = trace.world.disturbances
    numbered = zip(event_numbers(events), events, strict=True)
    return {START: "start", **{number: str(event) for number, event in numbered if number is not None}}


def _rounds(trace: Trace, moved: Sequence[RoundMoves]) -> list[dict[str, Any]]:
    if not trace.rounds:
        return []
    final = trace.rounds[-1].owner
    totals_after = [*(round_.totals_before for round_ in trace.rounds[1:]), trace.final_totals]
    moves_of = {moves.into.number: moves for moves in moved}
    rows = []
    for round_, after in zip(trace.rounds, totals_after, strict=True):
        moves = moves_of.get(round_.number)
        known = trace.knows_racks(round_)
        rows.append(
            {
                **dataclasses.asdict(round_.measures),
                "round": round_.number,
                "requested_at_ms": round_.requested_at_ms,
                "at_ms": round_.at_ms,
                "until_ms": round_.until_ms,
                "reason": round_.reason,
                "members": len(round_.members),
                "followup_delay_ms": round_.followup_delay_ms,
                "leader_compute_ms": round_.leader_compute_ms,
                "active_moves": 0 if moves is None else len(moves.tasks),
                "thread_moves": round_.thread_moves,
                "withheld_tasks": len(round_.withheld),
                "standby_moves": 0 if moves is None else len(moves.standbys),
                "displaced_tasks": int(((round_.owner != final) & (trace.added_at_ms <= round_.at_ms)).sum()),
                "restoring_tasks": round_.restoring,
                "warming_up": round_.warming_up,
                "standbys": len(round_.standby),
                "restored_bytes": round(after.restored_bytes - round_.totals_before.restored_bytes),
                "downtime_ms": int((after.downtime_ms - round_.totals_before.downtime_ms).sum()),
                "stateful_cost": round_.costs.active,
                "stateless_cost": round_.costs.stateless,
                "standby_cost": round_.costs.standby,
                "total_cost": None if round_.appraisal is None else round_.appraisal.cost,
                "total_cost_bound": None if round_.appraisal is None else round_.appraisal.bound,
                # Cross-rack traffic is unknown, not 0, if the rack of a client is unknown.
                "cross_rack_bytes_per_s": cross_rack_bytes(round_.steady_state) if known else None,
                "cross_rack_bytes": cross_rack_bytes(round_.traffic) if known else None,
            }
        )
    return rows


def _tasks(run: RunSummary) -> Columns:
    trace = run.trace
    stateful = trace.layout.tasks.stateful
    num_moves = np.zeros(len(stateful), dtype=np.int64)
    for moves in run.moved:
        num_moves[moves.tasks] += 1
    return {
        "task": _ids(trace),
        "stateful": stateful,
        "downtime_ms": run.downtime_ms,
        "longest_downtime_ms": run.longest_downtime_ms,
        "unqueryable_ms": arrow_column(trace.unqueryable_ms, pa.int64(), stateful),
        "max_processing_delay_ms": np.rint(trace.max_processing_delay_s * 1000).astype(np.int64),
        "active_moves": num_moves,
    }


def _assignments(trace: Trace) -> Columns:
    names = [client.name for client in trace.world.clients]
    parts = [_of_round(round_) for round_ in trace.rounds]
    task, client, role, number = (
        np.concatenate([part[index] for part in parts]) if parts else np.zeros(0, dtype=np.int64) for index in range(4)
    )
    return {
        "round": number,
        "task": arrow_names(_ids(trace), task),
        "client": arrow_names(names, client),
        "role": arrow_names(["active", "standby"], role),
    }


def _of_round(round_: Round) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    runs = np.flatnonzero(round_.owner != UNASSIGNED)
    task = np.concatenate((runs, round_.standby[:, 0]))
    client = np.concatenate((round_.owner[runs], round_.standby[:, 1]))
    role = (np.arange(len(task)) >= len(runs)).astype(np.int64)
    return task, client, role, np.full(len(task), round_.number, dtype=np.int64)


def _moves(trace: Trace, moved: Sequence[RoundMoves]) -> Columns:
    names, ids = [client.name for client in trace.world.clients], _ids(trace)
    columns: dict[str, list[Any]] = {name: [] for name in ("round", "at_ms", "task", "role", "from", "to", "reason")}
    for moves in moved:
        actives, standbys = len(moves.tasks), len(moves.standbys)
        none = np.full(standbys, UNASSIGNED, dtype=np.int64)
        columns["round"].append(np.full(actives + standbys, moves.into.number))
        columns["at_ms"].append(np.full(actives + standbys, moves.into.at_ms))
        columns["task"] += [moves.tasks, moves.standbys[:, 0]]
        columns["role"] += [np.zeros(actives, dtype=np.int64), np.ones(standbys, dtype=np.int64)]
        columns["from"] += [moves.sources, none]
        columns["to"] += [moves.targets, moves.standbys[:, 1]]
        columns["reason"] += [moves.reasons, none]
    flat = {
        name: np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)
        for name, parts in columns.items()
    }
    return {
        "round": flat["round"],
        "at_ms": flat["at_ms"],
        "task": arrow_names(ids, flat["task"]),
        "role": arrow_names(["active", "standby"], flat["role"]),
        "from_client": arrow_names(names, flat["from"]),
        "to_client": arrow_names(names, flat["to"]),
        "reason": arrow_names([str(reason) for reason in REASONS], flat["reason"]),
    }


def _task_states(trace: Trace) -> Columns:
    names = [client.name for client in trace.world.clients]
    transitions = trace.task_states.transitions
    lengths = [len(transition.tasks) for transition in transitions]
    nothing = np.zeros(0, dtype=np.int64)
    return {
        "at_ms": np.repeat([transition.at_ms for transition in transitions] or nothing, lengths or nothing),
        "task": arrow_names(_ids(trace), np.concatenate([nothing, *(transition.tasks for transition in transitions)])),
        "state": arrow_names(
            [str(state) for state in TaskState],
            np.repeat(
                np.array([int(transition.state) for transition in transitions], dtype=np.int64), lengths or nothing
            ),
        ),
        "client": arrow_names(names, np.concatenate([nothing, *(transition.clients for transition in transitions)])),
    }


def _traffic(trace: Trace) -> Columns:
    if not trace.rounds:
        return _of_rows([], "traffic")
    kinds = list(trace.rounds[0].traffic)
    matrices = np.array([[round_.traffic[kind] for kind in kinds] for round_ in trace.rounds], dtype=np.float64)
    index, kind, source, target = np.nonzero(matrices > 0)
    racks, no_rack = trace.layout.racks, len(trace.layout.racks)
    return {
        "round": np.array([round_.number for round_ in trace.rounds], dtype=np.int64)[index],
        "kind": arrow_names([str(kind) for kind in kinds], kind),
        "from_rack": arrow_names(racks, np.where(source == no_rack, UNASSIGNED, source)),
        "to_rack": arrow_names(racks, np.where(target == no_rack, UNASSIGNED, target)),
        "bytes": matrices[index, kind, source, target],
    }


def _clients(trace: Trace) -> Columns:
    racks = [*trace.layout.racks, None]
    present = np.zeros((len(trace.rounds), len(trace.world.clients)), dtype=np.bool_)
    for index, round_ in enumerate(trace.rounds):
        present[index, round_.members] = True
    numbers = [round_.number for round_ in trace.rounds]
    rows = [
        {
            "client": client.name,
            "rack": racks[trace.client_racks[row]],
            "threads": client.threads,
            "from_round": since,
            "until_round": until,
        }
        for row, client in enumerate(trace.world.clients)
        for since, until in _stays(numbers, present[:, row]) or [(None, None)]
    ]
    return _of_rows(rows, "clients")


def _stays(numbers: Sequence[int], present: BoolArray) -> list[tuple[int | None, int | None]]:
    """Return the first round of each stay of a client, and the first round after it; None if it stayed to the end."""
    changes = np.flatnonzero(np.diff(present, prepend=False)).tolist()
    bounds = [numbers[index] for index in changes]
    return list(zip_longest(bounds[::2], bounds[1::2]))


def _proofs(trace: Trace) -> Columns:
    rows = [
        {
            "round": round_.number,
            "total_cost_bound": round_.appraisal.bound,
            "relaxed_total_cost_bound": round_.appraisal.proof.relaxed_bound,
            "best_known_total_cost": round_.appraisal.proof.best_known_cost,
        }
        for round_ in trace.rounds
        if round_.appraisal is not None and round_.appraisal.proof is not None
    ]
    return _of_rows(rows, "proofs")


def _thread_loads(trace: Trace) -> Columns:
    rows = [
        {
            "client": trace.world.clients[load.client].name,
            "thread": load.thread,
            "active_tasks": load.active_tasks,
            "input_records_per_s": load.input_records_per_s,
            "max_records_per_s": _limit(load.max_records_per_s),
            "processing_delay_ms": round(load.delay_s * 1000),
            "behind_since_ms": load.behind_since_ms,
        }
        for load in trace.thread_loads
    ]
    return _of_rows(rows, "thread_loads")


def _overloads(trace: Trace) -> Columns:
    threads = [
        (client.name, number)
        for client, count in zip(trace.world.clients, num_thread_numbers(trace.world), strict=True)
        for number in range(count)
    ]
    rows = [
        {
            "from_ms": period.from_ms,
            "until_ms": period.until_ms,
            "threads": period.threads,
            "processing_delay_ms": round(period.delay_s * 1000),
            "delay_at_ms": period.delay_at_ms,
            "task": str(trace.layout.tasks.ids[period.task]),
            "client": threads[period.thread][0],
            "thread": threads[period.thread][1],
            "active_tasks": period.active_tasks,
            "input_records_per_s": period.input_records_per_s,
            "max_records_per_s": period.max_records_per_s,
            "all_input_records_per_s": period.all_input_records_per_s,
            "all_max_records_per_s": _limit(period.all_max_records_per_s),
        }
        for period in trace.overloads
    ]
    return _of_rows(rows, "overloads")


def _limit(records_per_s: float) -> float | None:
    return None if math.isinf(records_per_s) else records_per_s


def _losses(trace: Trace) -> Columns:
    lost = {} if trace.failure_losses is None else trace.failure_losses.tasks_lost_by_rack or {}
    return _of_rows([{"rack": rack, "stateful_tasks": tasks} for rack, tasks in lost.items()], "losses")


def _unavailable_partitions(trace: Trace) -> Columns:
    rows = [
        {
            "topic": outage.partition.topic,
            "partition": outage.partition.partition,
            "reason": str(outage.reason),
            "from_ms": outage.from_ms,
            "until_ms": outage.until_ms,
        }
        for outage in trace.outages
    ]
    return _of_rows(rows, "unavailable_partitions")


def _ids(trace: Trace) -> list[str]:
    return [str(task) for task in trace.layout.tasks.ids]
