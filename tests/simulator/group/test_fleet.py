"""The client processes: their starts, process ids, configs and racks."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.model.columns import NO_RACK
from assignors.model.configs import AssignmentConfigs
from simulator.group.fleet import Fleet
from simulator.group.member import Member
from simulator.world.world import Store, Subtopology, World
from tests.simulator.world_builders import RACKS, client, with_clients, world

NEW = AssignmentConfigs(num_standby_replicas=2)


def fleet(base: World | None = None) -> Fleet:
    return Fleet(base or world(), RACKS)


def with_store(persistent: bool | None) -> World:
    """Return the small world with a persistent or in-memory store, or with none."""
    base = world()
    stores = () if persistent is None else (Store("counts", "app-counts-changelog", persistent),)
    application = dataclasses.replace(base.application, subtopologies=(Subtopology(0, ("clicks",), stores),))
    return dataclasses.replace(base, application=application)


def process_id(of: Fleet, row: int) -> object:
    return of.announcement(row)[0]


def test_client_is_up_after_its_start() -> None:
    clients = fleet()
    assert clients.up == [False] * 4
    assert clients.members_up() == set()
    assert clients.start(1, None, None) == (Member("c1", 1, 0), Member("c1", 1, 1))
    assert clients.up == [False, True, False, False]
    assert clients.members_up() == {Member("c1", 1, 0), Member("c1", 1, 1)}


def test_each_start_is_a_new_member() -> None:
    clients = fleet()
    first = clients.start(0, None, None)
    assert all(map(clients.is_up, first))
    clients.stop(0, keeps_disk=True)
    assert not any(map(clients.is_up, first))
    second = clients.start(0, None, None)
    assert second == (Member("c0", 2, 0), Member("c0", 2, 1))
    assert all(map(clients.is_up, second))
    assert not any(map(clients.is_up, first)), "the first start has ended"
    assert clients.members(0) == second
    assert (clients.member(0, 1), clients.member(0, 2)) == (second[1], None)


def test_threads_start_and_end_by_themselves() -> None:
    clients = fleet()
    first, second = clients.start(0, None, None)
    clients.stop_thread(first)
    assert clients.members(0) == (second,)
    assert clients.running[0].tolist() == [False, True, False]
    third = clients.start_thread(0)
    assert (third.thread, third.start) == (0, 2), "it gets the lowest free number, and is another member"
    assert clients.processes([first, second, third]).slots == {0: (0, 1, 2)}, "the ended member has a slot of its own"
    assert clients.slot(first) == 2


def test_ended_thread_of_a_static_member_keeps_its_slot() -> None:
    clients = fleet(with_clients(world(), is_static=True))
    first, _ = clients.start(0, None, None)
    clients.stop(0, keeps_disk=True)
    assert clients.slot(first) == 0


@pytest.mark.parametrize(
    ("persistent", "keeps_disk", "same"),
    [(True, True, True), (True, False, False), (False, True, False), (None, True, False)],
)
def test_process_id_survives_restart_only_with_disk_and_persistent_store(
    persistent: bool | None, keeps_disk: bool, same: bool
) -> None:
    clients = fleet(with_store(persistent))
    before = [process_id(clients, row) for row in range(4)]
    clients.start(2, None, None)
    clients.stop(2, keeps_disk=keeps_disk)
    after = [process_id(clients, row) for row in range(4)]
    assert (after[2] == before[2]) is same
    assert after[:2] == before[:2], "the process ids of other clients do not change"
    assert after[3] == before[3]


def test_lost_disk_gives_a_new_deterministic_process_id() -> None:
    ids = []
    for clients in (fleet(), fleet()):
        for _ in range(2):
            clients.start(0, None, None)
            clients.stop(0, keeps_disk=False)
            ids.append(process_id(clients, 0))
    assert ids[:2] == ids[2:], "the new process ids are the same in every run"
    assert len({process_id(fleet(), 0), *ids}) == 3


def test_coordinator_keeps_members_of_a_lost_process_apart() -> None:
    clients = fleet()
    first = clients.start(0, None, None)
    lost = process_id(clients, 0)
    clients.stop(0, keeps_disk=False)
    second = clients.start(0, None, None)
    processes = clients.processes([*first, *second], separates_former=True)
    assert dict(zip(processes.ids, processes.rows.tolist(), strict=True)) == {lost: 4, process_id(clients, 0): 0}
    assert processes.clients.tolist() == [0, 0]
    assert {len(slots) for slots in processes.slots.values()} == {2}
    assert {row for row, _ in clients.places(first, processes.former).values()} == {4}
    assert {row for row, _ in clients.places(second, processes.former).values()} == {0}
    of_leader = clients.processes([*first, *second])
    assert of_leader.rows.tolist() == [0], "a leader gets no report of a lost process"
    assert clients.processes(first, separates_former=True).ids == (lost,)


def test_kafka_order_sorts_clients_by_process_id_without_duplicates() -> None:
    base = world()
    clients = fleet(base)
    members = [Member("c3", 1), Member("c0", 1), Member("c0", 2), Member("c2", 1)]
    processes = clients.processes(members)
    assert sorted(processes.rows.tolist()) == [0, 2, 3]
    ids = clients.table(processes).ids
    assert list(ids) == sorted(ids)


def test_configs_are_set_by_starts_and_config_changes() -> None:
    clients = fleet()
    clients.start(0, None, None)
    clients.start(1, NEW, None)
    old = world().application.assignment_configs
    assert [clients.configs(row) for row in range(3)] == [old, NEW, old]
    clients.stop(1, keeps_disk=True)
    clients.start(1, None, None)
    assert clients.configs(1) == NEW, "a start without configs keeps the earlier ones"
    clients.set_configs(old)
    assert clients.configs(1) == old


def test_client_table_has_only_announced_racks() -> None:
    base = world()
    clients = fleet(dataclasses.replace(base, clients=(*base.clients, client("bare", None))))
    assert clients.rack.tolist() == [0, 1, 2, 0, NO_RACK]
    members = [*clients.start(0, None, None), *clients.start(1, None, False), *clients.start(4, None, None)]
    processes = clients.processes(members)
    table = clients.table(processes)
    racks = dict(zip(processes.clients.tolist(), table.rack.tolist(), strict=True))
    assert racks == {0: 0, 1: NO_RACK, 4: NO_RACK}
    assert clients.rack[1] == 1, "the fleet knows the rack even if the client does not announce it"
    assert table.threads.tolist() == [2, 2, 2]


def test_racks_are_announced_if_a_client_that_is_up_announces_its_rack() -> None:
    clients = fleet(with_clients(world(), announces_rack=False))
    clients.start(0, None, None)
    assert not clients.announces_racks()
    clients.start(1, None, True)
    assert clients.announces_racks()
    clients.stop(1, keeps_disk=True)
    assert not clients.announces_racks()


def test_first_thread_counts_threads_of_all_clients() -> None:
    base = world(2)
    clients = fleet(dataclasses.replace(base, clients=(*base.clients, client("big", "az1", threads=5))))
    assert clients.first_thread.tolist() == [0, 2, 4, 9]
    assert len(clients.start(clients.row("big"), None, None)) == 5
