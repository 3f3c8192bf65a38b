"""How a trace becomes the rows of the result tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from simulator.flows.task_states import TaskState
from simulator.flows.traffic import cross_rack_bytes
from simulator.group.rebalance_causes import START
from simulator.results.arrow_columns import arrow_column, arrow_names
from simulator.results.convergence import convergence
from simulator.results.explanation_rows import cycle_rows, explanation_rows
from simulator.results.moves import REASONS, RoundMoves, round_moves
from simulator.results.run_row import OF_MEASURES, run_row
from simulator.results.tables import SCHEMAS
from simulator.results.trace import Round, Trace
from simulator.world.event_labels import event_label, event_numbers

Columns = Mapping[str, Any]


def tabulate(trace: Trace, assignor: str, seed: int) -> dict[str, pa.Table]:
    """Lay a run out in every table of `SCHEMAS`.

    Args:
        trace: the run.
        assignor: the label under which it is compared.
        seed: the seed that its world was drawn from.
    """
    key = {"scenario": trace.world.name, "assignor": assignor, "seed": seed}
    moved = list(round_moves(trace))
    rounds = _rounds(trace, moved)
    converged, labels = convergence(trace), _event_labels(trace)
    tables: dict[str, Columns] = {
        "runs": _of_rows([run_row(trace, rounds, moved, converged, labels)], "runs"),
        "rounds": _of_rows(rounds, "rounds"),
        "tasks": _tasks(trace, moved),
        "assignments": _assignments(trace),
        "moves": _moves(trace, moved),
        "task_states": _lives(trace),
        "traffic": _traffic(trace),
        "clients": _clients(trace),
        "reasons": _of_rows(list(explanation_rows(trace)), "reasons"),
        "cycles": _of_rows(list(cycle_rows(trace)), "cycles"),
        "proofs": _proofs(trace),
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
                {**dataclasses.asdict(each), "number": each.event, "event": labels[each.event]}
                for each in converged.events
            ],
            "convergence",
        ),
    }
    return {name: _table(name, columns, key) for name, columns in tables.items()}


def _table(name: str, columns: Columns, key: Mapping[str, Any]) -> pa.Table:
    schema = SCHEMAS[name]
    length = len(next(iter(columns.values())))
    arrays = []
    for field in schema:
        values = [key[field.name]] * length if field.name in key else columns[field.name]
        arrays.append(values if isinstance(values, pa.Array) else arrow_column(values, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _of_rows(rows: Sequence[Mapping[str, Any]], name: str) -> Columns:
    return {field.name: [row.get(field.name) for row in rows] for field in SCHEMAS[name]}


def _event_labels(trace: Trace) -> dict[int, str]:
    """The description of each event, by its number."""
    events = trace.world.disturbances
    numbered = zip(event_numbers(events), events, strict=True)
    return {START: "start", **{number: event_label(event) for number, event in numbered if number is not None}}


def _rounds(trace: Trace, moved: Sequence[RoundMoves]) -> list[dict[str, Any]]:
    if not trace.rounds:
        return []
    final = trace.rounds[-1].owner
    standings = [*(each.before for each in trace.rounds[1:]), trace.after]
    changed = {each.into.number: each for each in moved}
    rows = []
    for each, after in zip(trace.rounds, standings, strict=True):
        change = changed.get(each.number)
        known = trace.knows_racks(each)
        rows.append(
            {
                **{column: getattr(each.measures, column) for column in OF_MEASURES},
                "round": each.number,
                "requested_at_ms": each.requested_at_ms,
                "at_ms": each.at_ms,
                "until_ms": each.until_ms,
                "reason": each.reason,
                "members": len(each.members),
                "followup_delay_ms": each.followup_delay_ms,
                "leader_compute_ms": each.leader_compute_ms,
                "active_moves": 0 if change is None else len(change.tasks),
                "thread_moves": each.thread_moves,
                "withheld_tasks": len(each.withheld),
                "standby_moves": 0 if change is None else len(change.standbys),
                "displaced_tasks": int((each.owner != final).sum()),
                "restoring_tasks": each.restoring,
                "warming_up": each.warming_up,
                "standbys": len(each.standby),
                "restored_bytes": round(after.restored_bytes - each.before.restored_bytes),
                "downtime_ms": int((after.downtime_ms - each.before.downtime_ms).sum()),
                "active_cost": each.costs.active,
                "stateless_cost": each.costs.stateless,
                "standby_cost": each.costs.standby,
                "total_cost": None if each.appraisal is None else each.appraisal.cost,
                "total_cost_bound": None if each.appraisal is None else each.appraisal.bound,
                # Where nobody knows in which rack a client stands, nobody knows what crosses; 0 would be a lie.
                "cross_rack_bytes_per_s": cross_rack_bytes(each.steady_state) if known else None,
                "cross_rack_bytes": cross_rack_bytes(each.bytes) if known else None,
            }
        )
    return rows


def _tasks(trace: Trace, moved: Sequence[RoundMoves]) -> Columns:
    stateful = trace.layout.tasks.stateful
    times = np.zeros(len(stateful), dtype=np.int64)
    for each in moved:
        times[each.tasks] += 1
    return {
        "task": _ids(trace),
        "stateful": stateful,
        "downtime_ms": trace.downtime_ms,
        "unqueryable_ms": arrow_column(trace.unqueryable_ms, pa.int64(), stateful),
        "max_processing_delay_ms": np.rint(trace.max_processing_delay_s * 1000).astype(np.int64),
        "active_moves": times,
    }


def _assignments(trace: Trace) -> Columns:
    names = [client.name for client in trace.world.clients]
    parts = [_of_round(each) for each in trace.rounds]
    task, client, role, number = (
        np.concatenate([part[place] for part in parts]) if parts else np.zeros(0, dtype=np.int64) for place in range(4)
    )
    return {
        "round": number,
        "task": arrow_names(_ids(trace), task),
        "client": arrow_names(names, client),
        "role": arrow_names(["active", "standby"], role),
    }


def _of_round(each: Round) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    runs = np.flatnonzero(each.owner != UNASSIGNED)
    task = np.concatenate((runs, each.standby[:, 0]))
    client = np.concatenate((each.owner[runs], each.standby[:, 1]))
    role = (np.arange(len(task)) >= len(runs)).astype(np.int64)
    return task, client, role, np.full(len(task), each.number, dtype=np.int64)


def _moves(trace: Trace, moved: Sequence[RoundMoves]) -> Columns:
    names, ids = [client.name for client in trace.world.clients], _ids(trace)
    columns: dict[str, list[Any]] = {name: [] for name in ("round", "at_ms", "task", "role", "from", "to", "reason")}
    for each in moved:
        actives, standbys = len(each.tasks), len(each.standbys)
        nobody = np.full(standbys, UNASSIGNED, dtype=np.int64)
        columns["round"].append(np.full(actives + standbys, each.into.number))
        columns["at_ms"].append(np.full(actives + standbys, each.into.at_ms))
        columns["task"] += [each.tasks, each.standbys[:, 0]]
        columns["role"] += [np.zeros(actives, dtype=np.int64), np.ones(standbys, dtype=np.int64)]
        columns["from"] += [each.sources, nobody]
        columns["to"] += [each.targets, each.standbys[:, 1]]
        columns["reason"] += [each.reasons, nobody]
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


def _lives(trace: Trace) -> Columns:
    names = [client.name for client in trace.world.clients]
    steps = trace.lives.steps
    lengths = [len(each.tasks) for each in steps]
    nothing = np.zeros(0, dtype=np.int64)
    return {
        "at_ms": np.repeat([each.at_ms for each in steps] or nothing, lengths or nothing),
        "task": arrow_names(_ids(trace), np.concatenate([nothing, *(each.tasks for each in steps)])),
        "state": arrow_names(
            [str(state) for state in TaskState],
            np.repeat(np.array([int(each.state) for each in steps], dtype=np.int64), lengths or nothing),
        ),
        "client": arrow_names(names, np.concatenate([nothing, *(each.clients for each in steps)])),
    }


def _traffic(trace: Trace) -> Columns:
    racks = [*trace.layout.racks, None]
    rows = [
        {
            "round": each.number,
            "kind": str(kind),
            "from_rack": racks[source],
            "to_rack": racks[target],
            "bytes": float(carried[source, target]),
        }
        for each in trace.rounds
        for kind, carried in each.bytes.items()
        for source, target in np.argwhere(carried > 0).tolist()
    ]
    return _of_rows(rows, "traffic")


def _clients(trace: Trace) -> Columns:
    racks = [*trace.layout.racks, None]
    present = np.zeros((len(trace.rounds), len(trace.world.clients)), dtype=np.bool_)
    for place, each in enumerate(trace.rounds):
        present[place, each.members] = True
    numbers = [each.number for each in trace.rounds]
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
    """From which round on and up to which a client was a member; None where it stayed to the end."""
    changes = np.flatnonzero(np.diff(present, prepend=False)).tolist()
    bounds = [numbers[place] for place in changes]
    return list(zip_longest(bounds[::2], bounds[1::2]))


def _proofs(trace: Trace) -> Columns:
    rows = [
        {
            "round": each.number,
            "total_cost_bound": each.appraisal.bound,
            "relaxed_total_cost_bound": each.appraisal.proof.relaxed_bound,
            "best_known_total_cost": each.appraisal.proof.best_known_cost,
        }
        for each in trace.rounds
        if each.appraisal is not None and each.appraisal.proof is not None
    ]
    return _of_rows(rows, "proofs")


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
