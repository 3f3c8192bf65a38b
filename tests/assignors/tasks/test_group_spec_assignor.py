"""Assignors with the vocabulary of KIP-1357 get the whole group, and their answers are validated and carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

import assignor_sim as sim
from assignors import registry
from assignors.errors import InvalidAssignmentError, UnknownAssignorError
from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import AssignmentColumns
from assignors.model.configs import AssignmentConfigs
from assignors.model.group_spec import GroupSpec, MemberAssignment, TopologyDescriber
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo
from assignors.tasks.group_spec_assignor import GroupSpecAssignor, group_spec_of, topology_of
from assignors.tasks.streams_group_sticky import members_of
from scenarios.problems import parse_problem
from simulator.assignment.rebalance import compute_assignment
from tests.real_kafka.rack_spread import RackSpread
from tools.kafka_group_oracle.lives import RandomGroup

ONE, TWO = ProcessId(0, 1), ProcessId(0, 2)
FIRST, SECOND, OTHER = (f"{process}-StreamThread-{n}" for process, n in ((ONE, 1), (ONE, 2), (TWO, 1)))
STATELESS, STATEFUL = "0", "10"
STATE = ApplicationState.of(
    [TaskInfo(TaskId(0, n), is_stateful=False) for n in range(2)]
    + [TaskInfo(TaskId(10, n), is_stateful=True) for n in range(3)],
    [
        KafkaStreamsState(
            ONE,
            num_processing_threads=2,
            rack_id="az1",
            client_tags={"zone": "z1"},
            previous_active_tasks=(TaskId(0, 0), TaskId(10, 0), TaskId(10, 7)),
            previous_standby_tasks=(TaskId(10, 1),),
            task_offsets={TaskId(10, 0): 500, TaskId(10, 1): 40, TaskId(10, 2): 7},
            task_end_offsets={TaskId(10, 0): 510, TaskId(10, 1): 90},
            instance_id="one",
        ),
        KafkaStreamsState(TWO),
    ],
    AssignmentConfigs(num_standby_replicas=1, rack_aware_assignment_tags=("zone",)),
)


@dataclass(frozen=True)
class Given:
    """Give fixed tasks to members."""

    tasks: Mapping[str, MemberAssignment]

    def assign(self, group_spec: GroupSpec, topology_describer: TopologyDescriber) -> Mapping[str, MemberAssignment]:
        return self.tasks


def keep(group_spec: GroupSpec, topology_describer: TopologyDescriber) -> Mapping[str, MemberAssignment]:
    """Let every member keep what it has."""
    states = {member: group_spec.member_assignment_state(member) for member in group_spec.member_ids()}
    return {member: MemberAssignment(state.active_tasks, state.standby_tasks) for member, state in states.items()}


def random_states(rounds: int = 2) -> list[ApplicationState]:
    """Return the states of random groups that follow RackSpread, round by round."""
    states = []
    for seed in range(15):
        group = RandomGroup.from_seed(seed)
        for _ in range(rounds):
            state = parse_problem({**group.problem(), "assignor": "ha"})
            states.append(state)
            if len(state.clients) == 0:
                break
            entries = GroupSpecAssignor(RackSpread()).assign(state).assignment
            group.apply_assignment(
                {
                    str(entry.process_id): {
                        "active": [str(task) for task, role in entry.tasks.items() if role is sim.TaskType.ACTIVE],
                        "standby": [str(task) for task, role in entry.tasks.items() if role is sim.TaskType.STANDBY],
                    }
                    for entry in entries
                }
            )
    return states


def test_group_spec_has_all_that_members_report() -> None:
    group = group_spec_of(STATE, members_of(STATE, CollectionOrder.SORTED))
    assert group.member_ids() == (FIRST, SECOND, OTHER)
    metadata, state = group.member_metadata(FIRST), group.member_assignment_state(FIRST)
    assert (metadata.process_id, metadata.instance_id, metadata.rack_id) == (str(ONE), "one-1", "az1")
    assert metadata.client_tags == {"zone": "z1"}
    assert group.member_metadata(SECOND).instance_id == "one-2"
    assert group.member_metadata(OTHER).instance_id is group.member_metadata(OTHER).rack_id is None
    assert state.active_tasks == {STATELESS: {0}}
    assert group.member_assignment_state(SECOND).active_tasks == {STATEFUL: {0}}
    assert state.standby_tasks == {STATEFUL: {1}}
    assert state.task_offsets[STATEFUL][1] == 40
    assert state.task_end_offsets == {STATEFUL: {1: 90}}
    assert group.configs.num_standby_replicas == 1
    assert group.configs.rack_aware_assignment_tags == ("zone",)


def test_topology_lists_subtopologies_as_text() -> None:
    topology = topology_of(ApplicationState.of([TaskInfo(TaskId(n, 0), is_stateful=n == 2) for n in (10, 2)], []))
    assert topology.subtopologies() == ["10", "2"]
    assert (topology.max_num_input_partitions("2"), topology.is_stateful("2"), topology.is_stateful("10")) == (
        1,
        True,
        False,
    )
    with pytest.raises(KeyError):
        topology.is_stateful("3")


def test_random_groups_are_described_completely() -> None:
    """Each previous task that still exists is on exactly as many members as processes held it."""
    for state in random_states():
        members = members_of(state, CollectionOrder.PRODUCTION)
        group = group_spec_of(state, members)
        assert len(group.member_ids()) == state.clients.threads.sum()
        for role, previous in (("active_tasks", state.previous_active), ("standby_tasks", state.previous_standby)):
            held = sorted(
                (group.member_metadata(member).process_id, int(subtopology), partition)
                for member in group.member_ids()
                for subtopology, partitions in getattr(group.member_assignment_state(member), role).items()
                for partition in partitions
            )
            expected = sorted(
                (str(client), task.subtopology, task.partition)
                for client, tasks in zip(state.clients.ids, previous, strict=True)
                for task in tasks
                if task in state.row_of_task
            )
            assert held == expected


def test_assignor_that_keeps_everything_changes_nothing() -> None:
    """Members get the tasks that they own again, on the same threads."""
    for state in (state for state in random_states() if len(state.clients)):
        first = compute_assignment(state, GroupSpecAssignor(RackSpread())).columns
        held = [
            ([task for row, task in enumerate(state.tasks.ids) if first.active[row] == client], client)
            for client in range(len(state.clients))
        ]
        standby = [[state.tasks.ids[row] for row in first.standby[:, client].nonzero()[0]] for _, client in held]
        again = ApplicationState(
            state.tasks,
            state.clients,
            state.partitions,
            state.lags,
            [tuple(tasks) for tasks, _ in held],
            [tuple(tasks) for tasks in standby],
            state.assignment_configs,
            previous_thread=first.thread,
        )
        kept = compute_assignment(again, registry.resolve(keep).make()).columns
        assert kept.thread is not None
        assert first.thread is not None
        assert (kept.active == first.active).all()
        assert (kept.standby == first.standby).all()
        for row, client in enumerate(first.active):
            assert kept.thread[row, client] == first.thread[row, client]


def test_every_mistake_of_an_answer_is_reported() -> None:
    given = {
        FIRST: MemberAssignment({STATELESS: {0}, STATEFUL: {0, 3}}, {STATEFUL: {0}}),
        SECOND: MemberAssignment({STATEFUL: {1}}, {STATELESS: {1}}),
        OTHER: MemberAssignment({STATELESS: {0}, "11": {0}}, {STATEFUL: {0}}),
        "stranger": MemberAssignment(),
    }
    with pytest.raises(InvalidAssignmentError) as error:
        GroupSpecAssignor(Given(given)).assign(STATE)
    assert str(error.value).split("; ") == [
        f"task 10_3, assigned to {FIRST}, is not a task of this application",
        f"task 10_0 is twice in one process: on {FIRST}",
        f"task 0_1 is stateless and cannot be a standby on {SECOND}",
        f"task 0_0 is active on {FIRST} and on {OTHER}",
        f"task 11_0, assigned to {OTHER}, is not a task of this application",
        "stranger is not a member of the group",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "assign returned a NoneType, expected a mapping from member id to MemberAssignment"),
        ({FIRST: [0]}, "assign returned a mapping with str: list, expected str: MemberAssignment"),
        ({FIRST: MemberAssignment({STATEFUL: [0]})}, f"tasks of {FIRST} must be a mapping from subtopology"),  # type: ignore[dict-item]
        ({FIRST: MemberAssignment({STATEFUL: {"0"}})}, f"tasks of {FIRST} must be a mapping from subtopology"),  # type: ignore[arg-type]
    ],
)
def test_answer_of_a_wrong_type_is_reported(given: Mapping[str, MemberAssignment], message: str) -> None:
    with pytest.raises(InvalidAssignmentError, match=message):
        GroupSpecAssignor(Given(given)).assign(STATE)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([TaskInfo(TaskId(0, 1), is_stateful=False)], "0_0 is missing"),
        ([TaskInfo(TaskId(0, n), is_stateful=n == 1) for n in range(2)], "in 0, some have"),
    ],
)
def test_tasks_that_are_no_topology_are_refused(tasks: list[TaskInfo], message: str) -> None:
    with pytest.raises(InvalidAssignmentError, match=message):
        GroupSpecAssignor(RackSpread()).assign(ApplicationState.of(tasks, [KafkaStreamsState(ONE)]))


def test_missing_members_and_tasks_are_allowed_as_in_kafka() -> None:
    columns = AssignmentColumns.of(STATE, GroupSpecAssignor(Given({})).assign(STATE))
    assert (columns.active == -1).all()


def test_classes_instances_functions_and_paths_are_resolved() -> None:
    path = "tests.real_kafka.rack_spread:RackSpread"
    resolved = [
        registry.resolve(named) for named in (RackSpread, RackSpread(), path, lambda g, t: RackSpread().assign(g, t))
    ]
    answers = [resolution.make().assign(STATE) for resolution in resolved]
    assert all(answer == answers[0] for answer in answers)
    assert all(resolution.info.in_streams_groups for resolution in resolved)
    assert [resolution.label for resolution in resolved] == ["RackSpread", "RackSpread", path, "<lambda>"]
    assert registry.load(path).parameter_names == ("order", "members")
    with pytest.raises(UnknownAssignorError, match="cannot build"):
        registry.make(registry.load(path), {"order": "random"})


def test_run_of_a_streams_group_follows_own_assignor() -> None:
    """Standbys of RackSpread are in other racks; those of Kafka's assignor are not always."""
    configs = ("application.configs", "{group.protocol: streams, num.standby.replicas: 1}")
    scenario = sim.load("migration_to_streams_groups", [configs])
    result = sim.run(scenario, [RackSpread, "streams_group_sticky"], seed=1)
    own, kafkas = result.summary()["tasks_without_rack_redundancy"]
    assert own == 0 < kafkas
