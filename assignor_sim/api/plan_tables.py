"""Tables about plans: loads per broker before and after, transfers between brokers, and batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from assignors.model.columns import IntArray
from assignors.replicas.broker_loads import bytes_per_broker, count_leaders, count_replicas
from assignors.replicas.broker_transfers import Transfers, pair_copies, pair_moves, sum_transfers
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, ClusterState
from reports.analysis.plans.plan_row import TODAY
from reports.analysis.plans.tables import BATCHES, BROKERS, MOVES
from scenarios.kafka.plan_files.batches import BatchLimits, split_into_batches
from scenarios.kafka.plan_files.changes import ReplicaChange
from scenarios.kafka.plan_files.scripts import min_duration_ms


def plan_tables(
    state: ClusterState,
    request: PlanRequest,
    plans: Mapping[str, IntArray],
    batches: Sequence[Mapping[str, object]] = (),
) -> dict[str, pa.Table]:
    """Build the tables of `reports.analysis.plans.tables`.

    Args:
        state: the cluster before any plan.
        request: the brokers that may hold replicas.
        plans: the replicas of each plan by strategy, as `Plan.replicas`.
        batches: rows of the table `batches`, from `batch_rows`.

    Returns:
        The tables by name.
    """
    brokers = [_broker_table(state, request, TODAY, state.replicas)]
    brokers += [_broker_table(state, request, name, replicas) for name, replicas in plans.items()]
    moves = [table for name, replicas in plans.items() for table in _move_tables(state, name, replicas)]
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
        strategy: the name of the strategy.
        changed: the changes of the plan, in order.
        further_elections: the number of unchanged partitions whose leader is elected, in the last batch.
        limits: the limits of a batch.
    """
    rows: list[dict[str, Any]] = []
    for number, batch in enumerate(split_into_batches(changed, limits) or [[]], 1):
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
                "min_copy_ms": None if rate is None else min_duration_ms(batch, rate),
            }
        )
    rows[-1]["elections"] += further_elections
    return rows if changed or further_elections else []


def _broker_table(state: ClusterState, request: PlanRequest, strategy: str, replicas: IntArray) -> pa.Table:
    num_brokers = len(state.brokers)
    order = sorted(range(num_brokers), key=lambda row: state.brokers[row].id)
    sizes = state.size_bytes
    columns = {
        "strategy": [strategy] * num_brokers,
        "broker": [state.brokers[row].id for row in order],
        "rack": [state.brokers[row].rack for row in order],
        "is_alive": [state.brokers[row].is_alive for row in order],
        "may_hold": request.is_allowed(state)[order],
        "leaders": count_leaders(replicas, num_brokers)[order],
        "replicas": count_replicas(replicas, num_brokers)[order],
        "bytes": None if sizes is None else bytes_per_broker(replicas, sizes, num_brokers)[order],
        "capacity_bytes": [state.brokers[row].capacity_bytes for row in order],
    }
    return _table(BROKERS, columns, num_brokers)


def _move_tables(state: ClusterState, strategy: str, replicas: IntArray) -> Iterator[pa.Table]:
    yield _transfer_table(state, strategy, "move", pair_moves(state, replicas))
    yield _transfer_table(state, strategy, "copy", pair_copies(state, replicas))


def _transfer_table(state: ClusterState, strategy: str, kind: str, transfers: Transfers) -> pa.Table:
    pairs, counts, total_bytes = sum_transfers(transfers, state.ids, state.size_bytes)
    columns = {
        "strategy": [strategy] * len(pairs),
        "kind": [kind] * len(pairs),
        "source": [None if source == NO_BROKER else source for source in pairs[:, 0].tolist()],
        "target": pairs[:, 1],
        "replicas": counts,
        "bytes": total_bytes,
    }
    return _table(MOVES, columns, len(pairs))


def _table(schema: pa.Schema, columns: Mapping[str, object], num_rows: int) -> pa.Table:
    arrays = [
        pa.nulls(num_rows, field.type) if columns[field.name] is None else pa.array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
