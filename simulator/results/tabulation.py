"""The result tables of a run, from its trace.

`pyarrow.array` imports pandas first, which takes longer than most runs. The result tables have only four column types,
so this module writes their buffers itself.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assignors.model.assignment import UNASSIGNED, TaskType
from assignors.model.columns import BoolArray, IntArray
from assignors.recording import PlacementStep, StepKind
from simulator.assignment.explanation import AppliedStep, CycleMove, MoveExplanation, RoundExplanation
from simulator.flows.task_states import TaskState
from simulator.flows.traffic import cross_rack_bytes
from simulator.group.rebalance_causes import START
from simulator.results.run_metrics import RUN_METRICS
from simulator.results.run_summary import REASONS, RoundMoves, RunSummary, round_moves
from simulator.results.tables import SCHEMAS
from simulator.results.trace import Round, Trace
from simulator.world.disturbances import event_numbers
from simulator.world.leave_on_close import num_thread_numbers

Row = Mapping[str, Any]

ROLES = {TaskType.ACTIVE: "active", TaskType.STANDBY: "standby"}

_KINDS_WITH_LAGS = frozenset({StepKind.CAUGHT_UP, StepKind.CLOSEST, StepKind.WAITS, StepKind.WARM_UP, StepKind.SWAPPED})


def explanation_rows(trace: Trace) -> Iterator[Row]:
    """Yield one row per step of each move; none for rounds without explanation."""
    names = _names(trace)
    ids = [str(task) for task in trace.layout.tasks.ids]
    threads = [client.threads for client in trace.world.clients]
    for round_, explanation in _explained(trace):
        for move in explanation.moves:
            for row in step_rows(move, explanation, names, threads):
                yield {"round": round_.number, "task": ids[move.task], **row}


def step_rows(
    move: MoveExplanation, explanation: RoundExplanation, names: Sequence[str | None], threads: Sequence[int]
) -> Iterator[Row]:
    """Yield one row per step of a move, without round and task.

    `names`: names of the clients by row, and None for UNASSIGNED at the end.
    """
    common = {
        "role": ROLES[move.role],
        "from_client": names[move.source],
        "to_client": names[move.destination],
        "break_even": move.break_even,
        "no_break_even": None if move.no_break_even is None else str(move.no_break_even),
    }
    for number, applied in enumerate(move.steps, start=1):
        step_clients = {"step_from": names[applied.source], "step_to": names[applied.destination]}
        yield {
            **common,
            **step_clients,
            "step": number,
            "kind": str(applied.kind),
            **_step_figures(applied, explanation, threads),
        }


def cycle_rows(trace: Trace) -> Iterator[Row]:
    """Yield one row per move of each cycle that is part of an explained move."""
    for round_, explanation in _explained(trace):
        explained_cycles = {
            applied.edge.cycle for move in explanation.moves for applied in move.steps if applied.edge is not None
        }
        for number, edges in groupby(explanation.edges, key=lambda edge: edge.cycle):
            if number in explained_cycles:
                yield from _rows_of_cycle(trace, round_.number, list(edges))


def _rows_of_cycle(trace: Trace, number: int, edges: Sequence[CycleMove]) -> Iterator[Row]:
    names, tasks = _names(trace), trace.layout.tasks
    total = sum(edge.cost for edge in edges)
    # For stateless tasks, Kafka's costs are fixed.
    has_break_even = total < 0 and bool(tasks.stateful[edges[0].task])
    for position, edge in enumerate(edges, start=1):
        yield {
            "round": number,
            "cycle": edge.cycle,
            "edge": position,
            "role": ROLES[edge.role],
            "task": str(tasks.ids[edge.task]),
            "from_client": names[edge.source],
            "to_client": names[edge.destination],
            "traffic_from": edge.source_traffic,
            "traffic_to": edge.destination_traffic,
            "non_overlap_cost": edge.non_overlap_cost,
            "cost": edge.cost,
            "cycle_cost": total,
            "cycle_break_even": edge.non_overlap_cost - total // len(edges) if has_break_even else None,
        }


def _explained(trace: Trace) -> Iterator[tuple[Round, RoundExplanation]]:
    return ((round_, round_.explanation) for round_ in trace.rounds if round_.explanation is not None)


def _names(trace: Trace) -> list[str | None]:
    """Return the names of the clients by row; None for UNASSIGNED, the last one."""
    return [*(client.name for client in trace.world.clients), None]


def _step_figures(applied: AppliedStep, explanation: RoundExplanation, threads: Sequence[int]) -> Row:
    if applied.edge is not None:
        return {"cycle": applied.edge.cycle}
    step = applied.step
    if step is None:
        return {}
    row = {
        "load_from": step.source_load,
        "load_to": step.destination_load,
        "held": step.held,
        "room": step.room,
        "lag_from": step.source_lag,
        "lag_to": step.destination_lag,
        "acceptable_lag": explanation.acceptable_lag if step.kind in _KINDS_WITH_LAGS else None,
        "tags": explanation.tags[applied.destination] if step.kind is StepKind.TAGS else None,
    }
    return {**row, **_loads_after(applied, step, threads)}


def _loads_after(applied: AppliedStep, step: PlacementStep, threads: Sequence[int]) -> Row:
    if step.source_load is None or step.destination_load is None:
        return {}
    return {
        "load_from_after": step.source_load - 1 / threads[applied.source],
        "load_to_after": step.destination_load + 1 / threads[applied.destination],
    }


_TYPES = {pa.int64(): np.int64, pa.float64(): np.float64}

_FITTING = {pa.int64(): "iu", pa.float64(): "iuf", pa.bool_(): "b"}
"""The NumPy type kinds that a column of each type accepts."""


def arrow_column(
    values: Sequence[Any] | npt.NDArray[Any], kind: pa.DataType, known: BoolArray | None = None
) -> pa.Array:
    """Build a column of integers, floats, booleans or strings.

    `values`: the values; None in a sequence is null. `kind`: int64, float64, bool or string. `known`: for an array,
    which values are not null; None for all. Raises TypeError if a value has another type.
    """
    if not isinstance(values, np.ndarray):
        filler = False if kind == pa.bool_() else 0
        filled = values
        if None in values:
            known = np.array([value is not None for value in values], dtype=np.bool_)
            filled = [filler if value is None else value for value in values]
        if kind == pa.string():
            return _texts([str.encode(value) for value in values if value is not None], known, len(values))
        values = np.array(filled) if len(filled) else np.zeros(0, dtype=type(filler))
    if values.dtype.kind not in _FITTING[kind]:
        raise TypeError(f"a column of {kind} cannot hold {values.dtype}")
    if kind == pa.bool_():
        data = np.packbits(values.astype(np.bool_), bitorder="little")
    else:
        data = np.ascontiguousarray(values, dtype=_TYPES[kind])
    return pa.Array.from_buffers(kind, len(values), [_validity(known), pa.py_buffer(data)])


def arrow_constant(value: str | int, length: int) -> pa.Array:
    """Return a column of strings or of int64 with the same value in each row."""
    if isinstance(value, int):
        return arrow_column(np.full(length, value, dtype=np.int64), pa.int64())
    encoded = value.encode()
    return _texts_at(np.arange(length + 1, dtype=np.int64) * len(encoded), encoded * length, None)


def arrow_names(names: Sequence[str], indices: IntArray) -> pa.Array:
    """Return the names at the given indices as a string column; null where an index is negative.

    Complexity: O(indices), without a Python string per index.
    """
    encoded = [name.encode() for name in names]
    known: BoolArray = indices >= 0
    return _texts([encoded[index] for index in indices[known].tolist()], known, len(indices))


def _texts(encoded: Sequence[bytes], known: BoolArray | None, length: int) -> pa.Array:
    """Return a column of texts, given those that are not null; None if none is."""
    lengths = np.zeros(length + 1, dtype=np.int64)
    lengths[1:][slice(None) if known is None else known] = list(map(len, encoded))
    return _texts_at(lengths.cumsum(), b"".join(encoded), known)


def _texts_at(offsets: IntArray, joined: bytes, known: BoolArray | None) -> pa.Array:
    if offsets[-1] >= 1 << 31:
        raise OverflowError("a string column cannot hold two gigabytes or more")
    parts = [_validity(known), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(joined)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, parts)


def _validity(known: BoolArray | None) -> pa.Buffer | None:
    if known is None or known.all():
        return None
    return pa.py_buffer(np.packbits(known, bitorder="little"))


Columns = Mapping[str, Any]


def tabulate(trace: Trace, assignor: str, seed: int) -> dict[str, pa.Table]:
    """Return every table of `SCHEMAS` for a run, by name."""
    run, labels = _summary(trace), _event_labels(trace)
    tables: dict[str, Columns] = {
        "runs": _of_rows([_run_row(run, labels)], "runs"),
        "rounds": _of_rows(run.rounds, "rounds"),
        "tasks": _tasks(run),
        "assignments": _assignments(trace),
        "moves": _moves(trace, run.moved),
        "task_states": _task_states(trace),
        "traffic": _traffic(trace),
        "other_traffic": _other_traffic(trace),
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
    key = _key(trace, assignor, seed)
    return {name: _table(name, columns, key) for name, columns in tables.items()}


def tabulate_run(trace: Trace, assignor: str, seed: int) -> dict[str, Any]:
    """Return the row of the table `runs`, without the time for the other tables."""
    columns = _of_rows([_run_row(_summary(trace), _event_labels(trace))], "runs")
    row: dict[str, Any]
    [row] = _table("runs", columns, _key(trace, assignor, seed)).to_pylist()
    return row


def _key(trace: Trace, assignor: str, seed: int) -> dict[str, Any]:
    return {"scenario": trace.world.name, "assignor": assignor, "seed": seed}


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


def _other_traffic(trace: Trace) -> Columns:
    if trace.other_traffic is None:
        return _of_rows([], "other_traffic")
    flows, matrices, racks = trace.other_traffic.flows, trace.other_traffic.matrices, [*trace.layout.racks, None]
    cells = np.argwhere(matrices > 0).tolist()
    return {
        "kind": [str(flows[flow].kind) for flow, _, _ in cells],
        "name": [flows[flow].name for flow, _, _ in cells],
        "topic": [flows[flow].topic for flow, _, _ in cells],
        "from_rack": [racks[source] for _, source, _ in cells],
        "to_rack": [racks[target] for _, _, target in cells],
        "bytes": [float(matrices[flow, source, target]) for flow, source, target in cells],
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
            **dataclasses.asdict(load),
            "client": trace.world.clients[load.client].name,
            "max_records_per_s": _limit(load.max_records_per_s),
            "processing_delay_ms": round(load.delay_s * 1000),
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
            **dataclasses.asdict(period),
            "processing_delay_ms": round(period.delay_s * 1000),
            "task": str(trace.layout.tasks.ids[period.task]),
            "client": threads[period.thread][0],
            "thread": threads[period.thread][1],
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
