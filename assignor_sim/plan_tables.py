"""Tables about plans: the load of each broker before and after, which brokers exchange replicas, and the batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from assignors.model.columns import IntArray
from assignors.replicas.broker_loads import added_replicas, count_leaders, count_replicas
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, ClusterState
from reports.analysis.plans.plan_row import TODAY
from reports.analysis.plans.tables import BATCHES, BROKERS, MOVES
from scenarios.kafka.plan_files.batches import BatchLimits
from scenarios.kafka.plan_files.batches import split_into_batches as cut
from scenarios.kafka.plan_files.changes import ReplicaChange
from scenarios.kafka.plan_files.scripts import min_duration_ms

_Pairs = Iterator[tuple[IntArray, IntArray, IntArray]]
"""Partitions (rows of the state) with the broker that gives and the broker that gets a replica."""


def plan_tables(
    state: ClusterState,
    request: PlanRequest,
    plans: Mapping[str, IntArray],
    batches: Sequence[Mapping[str, object]] = (),
) -> dict[str, pa.Table]:
    """Build the tables of `reports.analysis.plans.tables`.

    Args:
        state: the cluster before any plan.
        request: says which brokers may hold replicas.
        plans: the replicas of each strategy's plan, as `Plan.replicas`.
        batches: rows of the table `batches`, as `batch_rows` makes them.
    """
    brokers = [_broker_rows(state, request, TODAY, state.replicas)]
    brokers += [_broker_rows(state, request, name, replicas) for name, replicas in plans.items()]
    moves = [rows for name, replicas in plans.items() for rows in _move_rows(state, name, replicas)]
    return {
        "brokers": pa.concat_tables(brokers),
        "moves": pa.concat_tables(moves) if moves else MOVES.empty_table(),
        "batches": pa.Table.from_pylist(list(batches), schema=BATCHES),
    }


def batch_rows(
    strategy: str, changed: Sequence[ReplicaChange], further_elections: int, limits: BatchLimits
) -> list[dict[str, Any]]:
    """Return the rows of a plan in the table `batches`.

    Args:
        strategy: whose plan it is.
        changed: what it changes, in order.
        further_elections: elections of partitions that it leaves alone; they belong to the last batch.
        limits: of a batch.
    """
    rows: list[dict[str, Any]] = []
    for number, batch in enumerate(cut(changed, limits) or [[]], 1):
        known = [change.copied_bytes for change in batch if change.copied_bytes is not None]
        rate = limits.throttle_bytes_per_s
        rows.append(
            {
                "strategy": strategy,
                "batch": number,
                "partitions": len(batch),
                "replicas": sum(len(set(change.new) - set(change.old)) for change in batch),
                "bytes": sum(known) if len(known) == len(batch) else None,
                "elections": sum(change.needs_election for change in batch),
                "least_ms": None if rate is None else min_duration_ms(batch, rate),
            }
        )
    rows[-1]["elections"] += further_elections
    return rows if changed or further_elections else []


def without_source(state: ClusterState, replicas: IntArray) -> int:
    """Return how many partitions get new replicas though no replica alive can be copied."""
    rows, sources, _ = _copied(state, replicas)
    return len(np.unique(rows[sources == NO_BROKER]))


def _broker_rows(state: ClusterState, request: PlanRequest, strategy: str, replicas: IntArray) -> pa.Table:
    num_brokers = len(state.brokers)
    order = sorted(range(num_brokers), key=lambda row: state.brokers[row].id)
    columns = {
        "strategy": [strategy] * num_brokers,
        "broker": [state.brokers[row].id for row in order],
        "rack": [state.brokers[row].rack for row in order],
        "is_alive": [state.brokers[row].is_alive for row in order],
        "may_hold": request.is_allowed(state)[order],
        "leaders": count_leaders(replicas, num_brokers)[order],
        "replicas": count_replicas(replicas, num_brokers)[order],
        "bytes": None if state.size_bytes is None else _held(state.size_bytes, replicas, num_brokers)[order],
        "capacity_bytes": [state.brokers[row].capacity_bytes for row in order],
    }
    return _table(BROKERS, columns, num_brokers)


def _held(size_bytes: IntArray, replicas: IntArray, num_brokers: int) -> IntArray:
    """Shape (B,); the bytes on each broker."""
    held = np.zeros(num_brokers + 1, dtype=np.int64)
    np.add.at(held, replicas, size_bytes[:, None])
    return held[:-1]


def _move_rows(state: ClusterState, strategy: str, replicas: IntArray) -> Iterator[pa.Table]:
    yield _pair_rows(state, strategy, "move", _moved(state, replicas))
    yield _pair_rows(state, strategy, "copy", [_copied(state, replicas)])


def _pair_rows(
    state: ClusterState, strategy: str, kind: str, found: _Pairs | list[tuple[IntArray, IntArray, IntArray]]
) -> pa.Table:
    """Sum pairs up: one row for each pair of brokers, by their ids."""
    parts = list(found)
    rows, sources, targets = (np.concatenate(column) for column in zip(*parts, strict=True))
    ids = np.append(state.ids, NO_BROKER)
    pairs, place = np.unique(np.stack([ids[sources], ids[targets]], axis=1), axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), minlength=len(pairs))
    sizes = None
    if state.size_bytes is not None:
        sizes = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(sizes, place.ravel(), state.size_bytes[rows])
    columns = {
        "strategy": [strategy] * len(pairs),
        "kind": [kind] * len(pairs),
        "source": [None if source == NO_BROKER else source for source in pairs[:, 0].tolist()],
        "target": pairs[:, 1],
        "replicas": counts,
        "bytes": sizes,
    }
    return _table(MOVES, columns, len(pairs))


def _moved(state: ClusterState, replicas: IntArray) -> _Pairs:
    """Pair each broker that loses a replica with the one that gets it in its place.

    Of several replicas of a partition, those that stay in their rack are paired first, then in replica order. A replica
    that replaces none (a higher replication factor) has the source NOBODY.
    """
    getting = added_replicas(state.replicas, replicas)
    losing = added_replicas(replicas, state.replicas)
    racks = np.append(state.rack, NO_BROKER)
    for same_rack in (True, False):
        for old in range(state.replicas.shape[1]):
            for new in range(replicas.shape[1]):
                pairs = losing[:, old] & getting[:, new]
                if same_rack:
                    pairs &= racks[state.replicas[:, old]] == racks[replicas[:, new]]
                losing[pairs, old] = False
                getting[pairs, new] = False
                rows = np.flatnonzero(pairs)
                yield rows, state.replicas[rows, old], replicas[rows, new]
    rows, new_places = np.nonzero(getting)
    yield rows, np.full(len(rows), NO_BROKER), replicas[rows, new_places]


def _copied(state: ClusterState, replicas: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Pair each new replica with the leader that it fetches from; NOBODY if no replica of the partition is alive."""
    rows, places = np.nonzero(added_replicas(state.replicas, replicas))
    return rows, _sources(state)[rows], replicas[rows, places]


def _sources(state: ClusterState) -> IntArray:
    """Shape (P,); the leader, or the first replica alive if the leader is not."""
    is_alive = np.append(state.is_alive, False)
    alive = is_alive[state.replicas]
    first = state.replicas[np.arange(len(alive)), alive.argmax(axis=1)] if alive.size else state.leader
    led = np.where(is_alive[state.leader], state.leader, np.where(alive.any(axis=1), first, NO_BROKER))
    return np.where(state.leader == NO_BROKER, NO_BROKER, led)


def _table(schema: pa.Schema, columns: Mapping[str, object], num_rows: int) -> pa.Table:
    arrays = [
        pa.nulls(num_rows, field.type) if columns[field.name] is None else pa.array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
