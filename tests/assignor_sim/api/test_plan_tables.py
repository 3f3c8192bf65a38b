"""Tables about plans: loads per broker and transfers between brokers, on random clusters."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from assignor_sim.api.plan_comparison import plan_tables
from assignors.model.columns import IntArray
from assignors.replicas.plan import PlanRequest
from assignors.replicas.plan_evaluation import measure_movement
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState
from reports.analysis.plans.results import PLAN_SCHEMAS, TODAY

KEYS = [("orders", 0), ("orders", 1), ("pay", 0), ("pay", 1), ("pay", 2)]


@st.composite
def planned_clusters(draw: Any, same_factor: bool = False) -> tuple[ClusterState, IntArray]:
    """Draw a cluster of 2 to 6 brokers, some of them down, and new replicas for its partitions."""
    ids = draw(st.lists(st.integers(0, 40), min_size=2, max_size=6, unique=True))
    racks = draw(st.lists(st.sampled_from(["az1", "az2", None]), min_size=len(ids), max_size=len(ids)))
    alive = draw(st.lists(st.booleans(), min_size=len(ids), max_size=len(ids)))
    replicas = st.lists(st.sampled_from(ids), min_size=1, max_size=3, unique=True)
    current = {key: draw(replicas) for key in KEYS}
    leaders = {key: draw(st.sampled_from([NO_BROKER, *current[key]])) for key in KEYS}
    sizes = {key: draw(st.integers(0, 2**40)) for key in KEYS} if draw(st.booleans()) else None
    brokers = [BrokerState(id, rack, is_alive=is_alive) for id, rack, is_alive in zip(ids, racks, alive, strict=True)]
    state = ClusterState.of(brokers, current, leaders=leaders, size_bytes=sizes)
    target = [
        draw(st.permutations(ids))[: len(current[key])] if same_factor else draw(replicas) for key in KEYS
    ]  # fmt: skip
    width = max(map(len, target))
    new = [[ids.index(broker) for broker in row] + [NO_BROKER] * (width - len(row)) for row in target]
    return state, np.array(new, dtype=np.int64)


def tables(world: tuple[ClusterState, IntArray]) -> dict[str, pa.Table]:
    state, replicas = world
    return plan_tables(state, PlanRequest(), {"mine": replicas})


def rows(table: pa.Table, **conditions: str) -> list[dict[str, Any]]:
    return [row for row in table.to_pylist() if all(row[name] == value for name, value in conditions.items())]


def column_sum(table: list[dict[str, Any]], column: str) -> int:
    return sum(row[column] for row in table)


@given(planned_clusters())
def test_tables_have_their_schemas_and_count_every_replica_and_leader(world: tuple[ClusterState, IntArray]) -> None:
    state, replicas = world
    result = tables(world)
    assert {name: table.schema for name, table in result.items()} == PLAN_SCHEMAS
    for strategy, placed in ((TODAY, state.replicas), ("mine", replicas)):
        brokers = rows(result["brokers"], strategy=strategy)
        assert [row["broker"] for row in brokers] == sorted(state.ids.tolist())
        assert column_sum(brokers, "leaders") == len(KEYS)
        assert column_sum(brokers, "replicas") == int((placed != NO_BROKER).sum())
        if state.size_bytes is not None:
            assert column_sum(brokers, "bytes") == int((state.size_bytes * (placed != NO_BROKER).sum(axis=1)).sum())
        else:
            assert {row["bytes"] for row in brokers} == {None}


@given(planned_clusters())
def test_copies_and_moves_agree_with_measured_movement(world: tuple[ClusterState, IntArray]) -> None:
    state, replicas = world
    result = tables(world)
    expected = measure_movement(state, replicas)
    for kind in ("move", "copy"):
        transfers = rows(result["moves"], kind=kind)
        assert column_sum(transfers, "replicas") == expected.replicas
        assert expected.bytes is None or column_sum(transfers, "bytes") == expected.bytes


@given(planned_clusters(same_factor=True))
def test_moves_lead_from_current_to_planned_replicas(world: tuple[ClusterState, IntArray]) -> None:
    result = tables(world)
    replicas = Counter({row["broker"]: row["replicas"] for row in rows(result["brokers"], strategy=TODAY)})
    for row in rows(result["moves"], kind="move"):
        replicas[row["source"]] -= row["replicas"]
        replicas[row["target"]] += row["replicas"]
    assert dict(replicas) == {row["broker"]: row["replicas"] for row in rows(result["brokers"], strategy="mine")}


@given(planned_clusters())
def test_copies_come_from_other_brokers_that_are_alive(world: tuple[ClusterState, IntArray]) -> None:
    state, _ = world
    down = {broker.id for broker in state.brokers if not broker.is_alive}
    for row in rows(tables(world)["moves"], kind="copy"):
        assert row["source"] not in down | {row["target"]}


def test_replicas_that_stay_in_their_rack_are_paired_first() -> None:
    brokers = [BrokerState(1, "a"), BrokerState(2, "b"), BrokerState(3, "b"), BrokerState(4, "a")]
    state = ClusterState.of(brokers, {("t", 0): (1, 2)})
    moves = rows(plan_tables(state, PlanRequest(), {"mine": np.array([[2 + 0, 3]])})["moves"], kind="move")
    assert [(row["source"], row["target"]) for row in moves] == [(1, 4), (2, 3)]


def test_added_replica_has_no_source_and_removed_replica_no_target() -> None:
    state = ClusterState.of([BrokerState(1), BrokerState(2), BrokerState(3)], {("t", 0): (1,), ("u", 0): (1, 2)})
    moves = plan_tables(state, PlanRequest(), {"mine": np.array([[0, 1], [0, NO_BROKER]])})["moves"]
    assert [(row["source"], row["target"]) for row in rows(moves, kind="move")] == [(None, 2)]
    assert [(row["source"], row["target"]) for row in rows(moves, kind="copy")] == [(1, 2)]
