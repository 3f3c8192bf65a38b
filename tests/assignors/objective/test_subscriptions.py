"""Bounds of consumer groups whose members subscribe to different topics, compared with all assignments."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import ClientTable, ConsumerProperties, PartitionTable, Ragged, TaskTable
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import PartitionTask, ProcessId, TopicPartition
from assignors.model.state import ApplicationState
from assignors.objective import EQUAL_WEIGHTS, compute_cost_and_bound, min_remote_source_partitions
from assignors.optimum.proof import prove_bound

Case = tuple[ApplicationState, AssignmentColumns]
TOPICS = ("a", "b")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a group of two topics with a subscription for each member, and an assignment of what members may read."""
    counts = [draw(st.integers(1, 2)) for _ in TOPICS]
    names = [TopicPartition(topic, p) for topic, count in zip(TOPICS, counts, strict=True) for p in range(count)]
    num_clients = draw(st.integers(1, 4))
    topics = [draw(st.none() | st.frozensets(st.sampled_from(TOPICS), min_size=1)) for _ in range(num_clients)]
    num_tasks = len(names)
    in_rack = np.array([draw(st.lists(st.booleans(), min_size=2, max_size=2)) for _ in names])
    state = ApplicationState(
        tasks=TaskTable(
            ids=tuple(PartitionTask(TOPICS.index(name.topic), name.partition, name.topic) for name in names),
            subtopology=np.array([TOPICS.index(name.topic) for name in names]),
            stateful=np.zeros(num_tasks, dtype=np.bool_),
            source=Ragged.of([[row] for row in range(num_tasks)]),
            changelog=Ragged.of([[]] * num_tasks),
        ),
        clients=ClientTable(
            ids=tuple(ProcessId(0, number) for number in range(num_clients)),
            threads=np.ones(num_clients, dtype=np.int64),
            rack=np.array([draw(st.integers(0, 1)) for _ in range(num_clients)]),
            tags=({},) * num_clients,
            consumers=tuple(map(ConsumerProperties, topics)),
        ),
        partitions=PartitionTable(names, ("az1", "az2"), in_rack, np.ones(num_tasks, dtype=np.bool_)),
        lags=np.full((num_tasks, num_clients), -1),
        previous_active=((),) * num_clients,
        previous_standby=((),) * num_clients,
        assignment_configs=AssignmentConfigs(),
    )
    owners = [draw(st.sampled_from(allowed(state, task))) for task in range(num_tasks)]
    return state, columns(state, owners)


def allowed(state: ApplicationState, task: int) -> list[int]:
    """Return the members that may read a partition; UNASSIGNED if none may."""
    topic = state.partitions.names[task].topic
    readers = [row for row, own in enumerate(state.clients.consumers) if own.topics is None or topic in own.topics]
    return readers or [UNASSIGNED]


def columns(state: ApplicationState, owners: list[int]) -> AssignmentColumns:
    standby = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
    return AssignmentColumns(np.array(owners), standby, None)


def remote(state: ApplicationState, owners: tuple[int, ...]) -> int:
    in_rack, rack = state.partitions.in_rack, state.clients.rack
    return sum(not in_rack[task, rack[owner]] for task, owner in enumerate(owners) if owner != UNASSIGNED)


@given(cases())
def test_bounds_are_the_minimum_over_all_assignments(case: Case) -> None:
    state, assigned = case
    choices = list(itertools.product(*(allowed(state, task) for task in range(len(state.tasks)))))
    most = max(assigned.active.tolist().count(client) for client in range(len(state.clients)))
    balanced = [owners for owners in choices if max(map(owners.count, range(len(state.clients)))) <= most]
    assert min_remote_source_partitions(state) == min(remote(state, owners) for owners in choices)
    expected = min(remote(state, owners) for owners in balanced)
    for appraisal in (
        compute_cost_and_bound(state, assigned, EQUAL_WEIGHTS),
        prove_bound(state, assigned, EQUAL_WEIGHTS, 1.0),
    ):
        assert appraisal is not None
        assert (appraisal.cost, appraisal.bound) == (remote(state, tuple(assigned.active.tolist())), expected)
