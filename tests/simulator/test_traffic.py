"""Bytes between racks, counted by hand for a world that is small enough."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from assignors.assignment import AssignmentColumns, KafkaStreamsAssignment, TaskAssignment, TaskType
from assignors.ids import TaskId
from simulator.layout import Brokers, Layout, Placing, lay_out
from simulator.rebalance import Rebalance, client_table, snapshot
from simulator.traffic import Traffic, TrafficKind, traffic
from simulator.world import World
from tests.simulator.worlds import RACKS, client, world

SOURCE, WRITE, STANDBY = TrafficKind.SOURCE_READ, TrafficKind.CHANGELOG_WRITE, TrafficKind.STANDBY_READ
T00, T10 = TaskId(0, 0), TaskId(1, 0)


def carried(base: World, roles: dict[str, dict[TaskId, TaskType]], *, nearest: bool = False) -> tuple[Layout, Traffic]:
    layout: Layout = lay_out(base)
    placing: Placing = Brokers(base, layout).placing()
    members = sorted(base.clients, key=lambda member: member.process_id)
    clients = client_table(members, layout.racks)
    nothing = np.zeros((len(layout.tasks), len(members)), dtype=np.bool_)
    lags = np.zeros(nothing.shape, dtype=np.int64)
    configs = base.application.assignment_configs
    state = snapshot(layout.tasks, clients, placing.table, lags, (nothing, nothing), configs)
    given = TaskAssignment(
        tuple(KafkaStreamsAssignment(member.process_id, roles.get(member.name, {})) for member in members)
    )
    decided = Rebalance(state, AssignmentColumns.of(state, given))
    return layout, traffic(layout, placing, decided, from_nearest=nearest)


def between(layout: Layout, table: np.ndarray, source: str, target: str) -> float:
    return float(table[layout.racks.index(source), layout.racks.index(target)])


def test_a_task_reads_from_the_leader_of_its_partition() -> None:
    # clicks-0 has replicas on brokers 0 (az1, leads) and 1 (az2); client c1 stands in az2.
    layout, told = carried(world(3), {"c1": {T00: TaskType.ACTIVE}})
    assert between(layout, told.bytes_per_s[SOURCE], "az1", "az2") == 1_000_000
    assert told.cross_rack() == 1_000_000


def test_it_reads_from_the_replica_in_its_own_rack_if_brokers_allow_it() -> None:
    layout, told = carried(world(3), {"c1": {T00: TaskType.ACTIVE}}, nearest=True)
    assert between(layout, told.bytes_per_s[SOURCE], "az2", "az2") == 1_000_000
    assert told.cross_rack() == 0
    _, far = carried(world(3), {"c2": {T00: TaskType.ACTIVE}}, nearest=True)
    assert far.cross_rack() == 1_000_000, "az3 has no replica, so the leader serves it"


def test_a_stateful_task_writes_its_changelog_and_a_standby_reads_it() -> None:
    # views-0 and the changelog's partition 0 are led by broker 0 in az1.
    roles = {"c0": {T10: TaskType.ACTIVE}, "c2": {T10: TaskType.STANDBY}}
    layout, told = carried(world(3), roles)
    assert between(layout, told.bytes_per_s[SOURCE], "az1", "az1") == 500_000
    assert between(layout, told.bytes_per_s[WRITE], "az1", "az1") == 100_000
    assert between(layout, told.bytes_per_s[STANDBY], "az1", "az3") == 100_000
    assert told.cross_rack() == told.cross_rack(STANDBY) == 100_000


def test_what_has_no_rack_is_counted_apart() -> None:
    base = world(1)
    nowhere = dataclasses.replace(base, clients=(client("c0", None),))
    _, told = carried(nowhere, {"c0": {T00: TaskType.ACTIVE}})
    assert told.bytes_per_s[SOURCE][RACKS.index("az1"), -1] == 1_000_000
    assert told.cross_rack() == 0


def test_every_byte_is_somewhere() -> None:
    every = {TaskId(0, p): TaskType.ACTIVE for p in range(12)} | {TaskId(1, p): TaskType.ACTIVE for p in range(6)}
    _, told = carried(world(3), {"c0": every})
    assert told.bytes_per_s[SOURCE].sum() == pytest.approx(12 * 1_000_000 + 6 * 500_000)
    assert told.bytes_per_s[WRITE].sum() == pytest.approx(6 * 100_000)


def test_nobody_assigned_is_no_traffic() -> None:
    _, told = carried(world(3), {})
    assert told.cross_rack() == 0
