"""The measures of an assignment match a count of single tasks."""

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
    no_copies = np.zeros((len(layout.tasks), len(ids)), dtype=np.bool_)
    has_standby = no_copies.copy()
    for task, client in standby:
        has_standby[task, client] = True
    lags = np.zeros(no_copies.shape, dtype=np.int64)
    configs = base.application.assignment_configs
    state = build_state(layout.tasks, clients, locations.table, lags, (no_copies, no_copies), configs)
    return layout, state, AssignmentColumns(np.array(active, dtype=np.int64), has_standby, None)


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


def clients_of_stateful_tasks(tasks: TaskTable, columns: AssignmentColumns) -> dict[int, set[int]]:
    """Return the clients with a copy of each stateful task, without tasks that have no copy."""
    no_copies: dict[int, set[int]] = {}
    for task in range(len(tasks)):
        clients = {int(client) for client in np.flatnonzero(columns.standby[task])}
        clients |= {int(columns.active[task])} - {UNASSIGNED}
        if tasks.stateful[task] and clients:
            no_copies[task] = clients
    return no_copies


def skew(counts: Counter[int], state: ApplicationState) -> float:
    loads = [counts[client] / int(threads) for client, threads in enumerate(state.clients.threads)]
    return max(loads) - min(loads)


@given(cases())
def test_loads_are_counted_per_thread(drawn_case: Case) -> None:
    _, state, columns = drawn_case
    tasks = state.tasks
    active_copies = [(task, int(client)) for task, client in enumerate(columns.active) if client != UNASSIGNED]
    standbys_of_client = Counter(int(client) for _, client in np.argwhere(columns.standby))
    active = Counter(client for _, client in active_copies)
    stateful = Counter(client for task, client in active_copies if tasks.stateful[task])
    counts_by_subtopology = [
        [
            sum(tasks.subtopology[task] == part and owner == client for task, owner in active_copies)
            for client in range(len(state.clients))
        ]
        for part in sorted(set(tasks.subtopology.tolist()))
    ]
    measures = measure(state, columns)
    assert measures.active_skew == pytest.approx(skew(active, state))
    assert measures.stateful_skew == pytest.approx(skew(stateful, state))
    assert measures.stateless_skew == pytest.approx(skew(active - stateful, state))
    assert measures.standby_skew == pytest.approx(skew(standbys_of_client, state))
    assert measures.load_skew == pytest.approx(skew(active + standbys_of_client, state))
    assert measures.subtopology_skew == max(max(counts) - min(counts) for counts in counts_by_subtopology)
    assert measures.standbys == standbys_of_client.total()


@given(cases())
def test_partitions_without_replica_in_the_clients_rack_are_remote(drawn_case: Case) -> None:
    _, state, columns = drawn_case
    racks = state.clients.rack
    measures = measure(state, columns)
    if (racks == NO_RACK).any():
        assert (
            measures.cross_rack_source_partitions
            is measures.cross_rack_standby_partitions
            is measures.tasks_without_rack_redundancy
            is None
        )
        return

    def remote(partitions: np.ndarray, client: int) -> int:
        return sum(not state.partitions.in_rack[partition, racks[client]] for partition in partitions)

    active_copies = [(task, int(client)) for task, client in enumerate(columns.active) if client != UNASSIGNED]
    assert measures.cross_rack_source_partitions == sum(
        remote(state.tasks.source.row(task), client) for task, client in active_copies
    )
    assert measures.cross_rack_standby_partitions == sum(
        remote(state.tasks.changelog.row(task), client) for task, client in np.argwhere(columns.standby).tolist()
    )
    in_racks = [
        {int(racks[client]) for client in clients}
        for clients in clients_of_stateful_tasks(state.tasks, columns).values()
    ]
    assert measures.tasks_without_rack_redundancy == sum(len(racks_of_task) == 1 for racks_of_task in in_racks)


@given(cases())
def test_failure_losses_of_racks_clients_and_pairs(drawn_case: Case) -> None:
    layout, state, columns = drawn_case
    racks, no_copies = state.clients.rack, clients_of_stateful_tasks(state.tasks, columns)
    measures = failure_losses(
        layout, GroupAssignment(columns.active, columns.standby, np.zeros_like(columns.standby, np.int64)), racks
    )

    def lost(failed: set[int]) -> int:
        return sum(clients <= failed for clients in no_copies.values())

    all_clients = range(len(racks))
    assert measures.worst_one_client_loss == max(lost({client}) for client in all_clients)
    assert measures.worst_pair_loss == max(lost(set(pair)) for pair in itertools.product(all_clients, repeat=2))
    if any(racks[client] == NO_RACK for clients in no_copies.values() for client in clients):
        assert measures.tasks_lost_by_rack is None
    else:
        assert measures.tasks_lost_by_rack == {
            name: lost(set(np.flatnonzero(racks == column).tolist())) for column, name in enumerate(layout.racks)
        }


def test_pair_loses_tasks_that_a_single_client_does_not() -> None:
    # Tasks 12 to 17 are stateful; clients 0 and 1 are in az1, client 2 in az2.
    active = [UNASSIGNED] * 12 + [0, 0, 0, 1, 2, 2]
    standby = {(12, 1), (13, 1), (14, 2), (15, 0), (16, 0)}
    layout, state, columns = case(world(), [1, 1, 1], [0, 0, 1], active, standby)
    measures = failure_losses(
        layout, GroupAssignment(columns.active, columns.standby, np.zeros((18, 3), np.int64)), state.clients.rack
    )
    assert measures.worst_one_client_loss == 1, "task 17 has its only copy on client 2"
    assert measures.worst_pair_loss == 3, "tasks 12, 13 and 15 are on clients 0 and 1; 14, 16 and 17 on 0 and 2"
    assert measures.tasks_lost_by_rack == {"az1": 3, "az2": 1, "az3": 0}


def test_unknown_rack_of_a_client_without_tasks_does_not_matter() -> None:
    layout, state, columns = case(world(), [1, 1], [0, NO_RACK], [UNASSIGNED] * 12 + [0] * 6, set())
    measures = failure_losses(
        layout, GroupAssignment(columns.active, columns.standby, np.zeros((18, 2), np.int64)), state.clients.rack
    )
    assert measures.tasks_lost_by_rack == {"az1": 6, "az2": 0, "az3": 0}


def test_measures_of_an_empty_assignment_are_zero() -> None:
    layout, state, columns = case(world(), [1, 2], [0, 1], [UNASSIGNED] * 18, set())
    measures = dataclasses.asdict(measure(state, columns))
    assert measures.pop("cross_rack_source_partitions_bound") > 0
    assert set(measures.values()) == {0}
    nothing_assigned = failure_losses(layout, GroupAssignment.empty(18, 2), state.clients.rack)
    assert (nothing_assigned.worst_one_client_loss, nothing_assigned.worst_pair_loss) == (0, 0)
