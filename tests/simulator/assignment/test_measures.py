"""Figures of an assignment, against a count that takes one task at a time."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import NO_RACK, ClientTable, TaskTable
from assignors.model.ids import ProcessId
from assignors.model.state import ApplicationState
from simulator.assignment.measures import failure_losses, measure
from simulator.assignment.rebalance import build_state
from simulator.brokers.partition_locations import ClusterMetadata
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import Layout, lay_out
from simulator.world.world import World
from tests.simulator.brokers.reference_brokers import worlds
from tests.simulator.world_builders import world

Case = tuple[Layout, ApplicationState, AssignmentColumns]


def case(base: World, threads: list[int], racks: list[int], active: list[int], standby: set[tuple[int, int]]) -> Case:
    layout = lay_out(base)
    locations = ClusterMetadata(base, layout).locations()
    ids = tuple(ProcessId(0, number) for number in range(len(threads)))
    clients = ClientTable(ids, np.array(threads, dtype=np.int64), np.array(racks, dtype=np.int64), ({},) * len(ids))
    held = np.zeros((len(layout.tasks), len(ids)), dtype=np.bool_)
    stands_by = held.copy()
    for task, client in standby:
        stands_by[task, client] = True
    lags = np.zeros(held.shape, dtype=np.int64)
    configs = base.application.assignment_configs
    state = build_state(layout.tasks, clients, locations.table, lags, (held, held), configs)
    return layout, state, AssignmentColumns(np.array(active, dtype=np.int64), stands_by, None)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    base = draw(worlds())
    layout = lay_out(base)
    num_clients = draw(st.integers(1, 5))
    rack = (
        st.integers(NO_RACK if draw(st.booleans()) else 0, len(layout.racks) - 1) if layout.racks else st.just(NO_RACK)
    )
    stateful = np.flatnonzero(layout.tasks.stateful).tolist()
    pairs = st.tuples(st.sampled_from(stateful or [0]), st.integers(0, num_clients - 1))
    active = [draw(st.integers(UNASSIGNED, num_clients - 1)) for _ in range(len(layout.tasks))]
    standby = draw(st.sets(pairs, max_size=8)) if stateful else set()
    return case(
        base,
        [draw(st.integers(1, 3)) for _ in range(num_clients)],
        [draw(rack) for _ in range(num_clients)],
        active,
        {(task, client) for task, client in standby if active[task] != client},
    )


def copies(tasks: TaskTable, columns: AssignmentColumns) -> dict[int, set[int]]:
    """The clients that have a copy of each stateful task; tasks without any are left out."""
    held: dict[int, set[int]] = {}
    for task in range(len(tasks)):
        clients = {int(client) for client in np.flatnonzero(columns.standby[task])}
        clients |= {int(columns.active[task])} - {UNASSIGNED}
        if tasks.stateful[task] and clients:
            held[task] = clients
    return held


def skew(counts: Counter[int], state: ApplicationState) -> float:
    loads = [counts[client] / int(threads) for client, threads in enumerate(state.clients.threads)]
    return max(loads) - min(loads)


@given(cases())
def test_loads_are_counted_per_thread(given_case: Case) -> None:
    _, state, columns = given_case
    tasks = state.tasks
    runs = [(task, int(client)) for task, client in enumerate(columns.active) if client != UNASSIGNED]
    stands_by = Counter(int(client) for _, client in np.argwhere(columns.standby))
    active = Counter(client for _, client in runs)
    stateful = Counter(client for task, client in runs if tasks.stateful[task])
    of_subtopology = [
        [
            sum(tasks.subtopology[task] == part and on == client for task, on in runs)
            for client in range(len(state.clients))
        ]
        for part in sorted(set(tasks.subtopology.tolist()))
    ]
    told = measure(state, columns)
    assert told.active_skew == pytest.approx(skew(active, state))
    assert told.stateful_skew == pytest.approx(skew(stateful, state))
    assert told.stateless_skew == pytest.approx(skew(active - stateful, state))
    assert told.standby_skew == pytest.approx(skew(stands_by, state))
    assert told.load_skew == pytest.approx(skew(active + stands_by, state))
    assert told.subtopology_skew == max(max(counts) - min(counts) for counts in of_subtopology)
    assert told.standbys == stands_by.total()


@given(cases())
def test_partitions_are_remote_where_the_clients_rack_has_no_replica(given_case: Case) -> None:
    _, state, columns = given_case
    racks = state.clients.rack
    told = measure(state, columns)
    if (racks == NO_RACK).any():
        assert (
            told.cross_rack_source_partitions
            is told.cross_rack_standby_partitions
            is told.tasks_without_rack_redundancy
            is None
        )
        return

    def remote(partitions: np.ndarray, client: int) -> int:
        return sum(not state.partitions.in_rack[partition, racks[client]] for partition in partitions)

    runs = [(task, int(client)) for task, client in enumerate(columns.active) if client != UNASSIGNED]
    assert told.cross_rack_source_partitions == sum(
        remote(state.tasks.source.row(task), client) for task, client in runs
    )
    assert told.cross_rack_standby_partitions == sum(
        remote(state.tasks.changelog.row(task), client) for task, client in np.argwhere(columns.standby).tolist()
    )
    in_racks = [{int(racks[client]) for client in clients} for clients in copies(state.tasks, columns).values()]
    assert told.tasks_without_rack_redundancy == sum(len(each) == 1 for each in in_racks)


@given(cases())
def test_a_survey_finds_what_goes_with_a_rack_a_client_or_two(given_case: Case) -> None:
    layout, state, columns = given_case
    racks, held = state.clients.rack, copies(state.tasks, columns)
    told = failure_losses(
        layout, GroupAssignment(columns.active, columns.standby, np.zeros_like(columns.standby, np.int64)), racks
    )

    def lost(gone: set[int]) -> int:
        return sum(clients <= gone for clients in held.values())

    everyone = range(len(racks))
    assert told.worst_one_client_loss == max(lost({client}) for client in everyone)
    assert told.worst_pair_loss == max(lost(set(two)) for two in itertools.product(everyone, repeat=2))
    if any(racks[client] == NO_RACK for clients in held.values() for client in clients):
        assert told.tasks_lost_by_rack is None
    else:
        assert told.tasks_lost_by_rack == {
            name: lost(set(np.flatnonzero(racks == column).tolist())) for column, name in enumerate(layout.racks)
        }


def test_two_clients_can_take_with_them_what_neither_would_alone() -> None:
    # Tasks 12 to 17 are stateful; clients 0 and 1 are in az1, client 2 in az2.
    active = [UNASSIGNED] * 12 + [0, 0, 0, 1, 2, 2]
    standby = {(12, 1), (13, 1), (14, 2), (15, 0), (16, 0)}
    layout, state, columns = case(world(), [1, 1, 1], [0, 0, 1], active, standby)
    told = failure_losses(
        layout, GroupAssignment(columns.active, columns.standby, np.zeros((18, 3), np.int64)), state.clients.rack
    )
    assert told.worst_one_client_loss == 1, "17 is on client 2 alone"
    assert told.worst_pair_loss == 3, "12, 13 and 15 on clients 0 and 1; 14, 16 and 17 on 0 and 2"
    assert told.tasks_lost_by_rack == {"az1": 3, "az2": 1, "az3": 0}


def test_a_client_that_holds_nothing_need_not_say_where_it_is() -> None:
    layout, state, columns = case(world(), [1, 1], [0, NO_RACK], [UNASSIGNED] * 12 + [0] * 6, set())
    told = failure_losses(
        layout, GroupAssignment(columns.active, columns.standby, np.zeros((18, 2), np.int64)), state.clients.rack
    )
    assert told.tasks_lost_by_rack == {"az1": 6, "az2": 0, "az3": 0}


def test_nothing_assigned_measures_nothing() -> None:
    layout, state, columns = case(world(), [1, 2], [0, 1], [UNASSIGNED] * 18, set())
    told = dataclasses.asdict(measure(state, columns))
    assert told.pop("cross_rack_source_partitions_bound") > 0
    assert set(told.values()) == {0}
    nobody = failure_losses(layout, GroupAssignment.empty(18, 2), state.clients.rack)
    assert (nobody.worst_one_client_loss, nobody.worst_pair_loss) == (0, 0)
