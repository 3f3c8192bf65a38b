"""Consumer partition assignors as task assignors: members, what they own, and racks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assignors.consumer_tasks import ConsumerTasks
from assignors.consumers import registry
from assignors.model.assignment import AssignmentColumns
from assignors.model.columns import NO_RACK, ClientTable, ConsumerProperties, PartitionTable, Ragged, TaskTable
from assignors.model.configs import AssignmentConfigs
from assignors.model.consumer_group import ConsumerAssignment, ConsumerGroupState, partition_key
from assignors.model.ids import PartitionTask, ProcessId, TopicId, TopicPartition
from assignors.model.state import ApplicationState

TASKS = tuple(PartitionTask(0, number, "orders") for number in range(4))
FIRST, SECOND = (ProcessId.parse(f"0000000{number}-0000-4000-8000-000000000000") for number in (1, 2))


@dataclass
class Recorded:
    """Gives every partition to the member with the last id, and records the groups.

    Attributes:
        groups: what it got.
    """

    groups: list[ConsumerGroupState] = field(default_factory=list)

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the assignment, in which the last partition must be revoked first."""
        self.groups.append(state)
        keys = tuple(partition_key(0, number) for number in (2, 0, 1))
        first, *_, last = sorted(range(len(state.member_ids)), key=state.member_ids.__getitem__)
        partitions = [keys if row == last else () for row in range(len(state.member_ids))]
        return ConsumerAssignment(tuple(partitions), ((partition_key(0, 3), first),))


def by_member_id(group: ConsumerGroupState, column: Sequence[Any]) -> list[Any]:
    """Return what each member has, by member id."""
    return [entry for _, entry in sorted(zip(group.member_ids, column, strict=True), key=lambda pair: pair[0])]


def state(*, static: bool = False, owned: tuple[int, ...] = (), threads: int = 2) -> ApplicationState:
    """Return a group of two processes, the first with a rack, of which the second owns partitions."""
    previous_thread = np.zeros((4, 2), dtype=np.int64)
    previous_thread[2:, 1] = threads - 1
    return ApplicationState(
        tasks=TaskTable(
            ids=TASKS,
            subtopology=np.zeros(4, dtype=np.int64),
            stateful=np.zeros(4, dtype=np.bool_),
            source=Ragged.of([[number] for number in range(4)]),
            changelog=Ragged.of([[]] * 4),
        ),
        clients=ClientTable(
            ids=(FIRST, SECOND),
            threads=np.array([1, threads]),
            rack=np.array([1, NO_RACK]),
            tags=({}, {}),
            instance_ids=("a", "b") if static else (None, None),
        ),
        partitions=PartitionTable(
            names=[TopicPartition("orders", number) for number in range(4)],
            racks=("az1", "az2"),
            in_rack=np.array([[True, False], [True, True], [False, True], [False, False]]),
            racks_known=np.array([True, True, True, False]),
        ),
        lags=np.full((4, 2), -1),
        previous_active=((), tuple(TASKS[number] for number in owned)),
        previous_standby=((), ()),
        assignment_configs=AssignmentConfigs(),
        previous_thread=previous_thread,
    )


def test_threads_are_members_with_kafkas_ids() -> None:
    recorded = Recorded()
    ConsumerTasks(recorded, group="billing").assign(state())
    ids = tuple(sorted(recorded.groups[0].member_ids))
    assert ids[:2] == (f"consumer-billing-1-{FIRST}", f"consumer-billing-1-{SECOND}")
    assert ids[2].startswith("consumer-billing-2-")
    ConsumerTasks(recorded, group="billing").assign(state(static=True))
    assert sorted(map(str, recorded.groups[1].instance_ids)) == ["a-1", "b-1", "b-2"]
    assert f"a-1-{FIRST}" in recorded.groups[1].member_ids
    ConsumerTasks(recorded, by_coordinator=True).assign(state())
    assert "AAAAAQAAQACAAAAAAAAAAA" in recorded.groups[2].member_ids


def test_own_ids_and_subscriptions() -> None:
    recorded = Recorded()
    own = (ConsumerProperties(frozenset(["orders"]), "web"), ConsumerProperties(frozenset(), "api", "i"))
    for built in (state(threads=1), state(threads=1, static=True)):
        ConsumerTasks(recorded, group="billing").assign(replace(built, clients=replace(built.clients, consumers=own)))
    dynamic, static = recorded.groups
    assert by_member_id(dynamic, dynamic.subscriptions) == [(), (0,)]
    assert sorted(dynamic.member_ids) == [f"api-{SECOND}", f"web-{FIRST}"]
    assert sorted(static.member_ids) == [f"a-1-{FIRST}", f"i-{SECOND}"]
    assert by_member_id(static, static.instance_ids) == ["a-1", "i"]


def with_consumers(built: ApplicationState, *own: ConsumerProperties) -> ApplicationState:
    """Return a group with what the consumers of each client have of their own."""
    return replace(built, clients=replace(built.clients, consumers=own))


def test_first_member_of_the_consumer_protocol_converts_the_group() -> None:
    of_member, of_coordinator = Recorded(), Recorded()
    by_name = {"range": of_member, "uniform": of_coordinator}
    tasks = ConsumerTasks(
        of_member, is_eager=True, group="billing", forgets=True, strategies=("range",), by_name=by_name
    )
    classic, consumer = ConsumerProperties(), ConsumerProperties(has_consumer_protocol=True)
    built = state(threads=1, owned=(2, 3))
    tasks.assign(with_consumers(built, classic, classic))
    assert tasks.selected([classic, classic]) == "range"
    assert by_member_id(of_member.groups[0], of_member.groups[0].owned)[1] == ()  # An eager member has revoked all.
    tasks.assign(with_consumers(built, consumer, classic))
    assert tasks.selected([consumer, classic]) == "uniform"
    [group] = of_coordinator.groups
    assert sorted(group.member_ids) == ["AAAAAQAAQACAAAAAAAAAAA", f"consumer-billing-1-{SECOND}"]
    assert by_member_id(group, group.owned)[1] != ()  # The coordinator knows its target.
    tasks.assign(with_consumers(built, classic, classic))
    assert len(of_member.groups) == 2
    assert f"consumer-billing-1-{FIRST}" in of_member.groups[1].member_ids


def test_member_of_the_classic_protocol_that_joins_a_converted_group_has_a_random_id() -> None:
    recorded = Recorded()
    tasks = ConsumerTasks(recorded, group="billing", strategies=("range",), by_name={"uniform": recorded})
    consumer = ConsumerProperties(has_consumer_protocol=True)
    built = with_consumers(state(), ConsumerProperties(), consumer)
    tasks.assign(replace(built, clients=replace(built.clients, threads=np.array([0, 2]))))
    tasks.assign(built)
    assert "AAAAAQAAQACAAAAAAAAAAA" in recorded.groups[1].member_ids


def test_topic_ids() -> None:
    recorded = Recorded()
    built = state()
    topic_id = TopicId.parse("KrngRFv9Qm-FUBoyqQTyrA")
    partitions = replace(built.partitions, topic_ids={"orders": topic_id})
    ConsumerTasks(recorded).assign(replace(built, partitions=partitions))
    assert recorded.groups[0].topics[0].topic_id == topic_id


def test_racks_of_partitions_and_members() -> None:
    recorded = Recorded()
    ConsumerTasks(recorded).assign(state())
    [group] = recorded.groups
    assert by_member_id(group, group.racks) == ["az2", None, None]
    assert group.topics[0].racks == (("az1",), ("az1", "az2"), ("az2",), (None,))


def test_answer_has_the_thread_of_each_partition_and_the_next_owner_of_withheld_ones() -> None:
    built = state()
    columns = AssignmentColumns.of(built, ConsumerTasks(Recorded()).assign(built))
    assert columns.active.tolist() == [1, 1, 1, 0]
    assert columns.thread is not None
    assert columns.thread[:3, 1].tolist() == [1, 1, 1]


def test_owned_partitions_have_the_order_of_the_last_assignment_only_if_members_remember_it() -> None:
    for is_eager, expected in ((True, [2, 0, 1]), (False, [0, 1, 2])):
        recorded = Recorded()
        assignor = ConsumerTasks(recorded, is_eager=is_eager)
        assignor.assign(state(threads=1))
        assignor.assign(state(threads=1, owned=(0, 1, 2)))
        [first, second] = recorded.groups
        assert first.owned == ((), ())
        assert by_member_id(second, second.generations) == [-1, 0]
        assert by_member_id(second, second.owned)[1] == tuple(partition_key(0, number) for number in expected)


def test_previous_partitions_belong_to_their_thread() -> None:
    recorded = Recorded()
    ConsumerTasks(recorded).assign(state(owned=(0, 2)))
    [group] = recorded.groups
    assert by_member_id(group, group.owned) == [(), (partition_key(0, 0),), (partition_key(0, 2),)]


def test_released_assignors_keep_what_members_own() -> None:
    built = state(owned=(0, 1, 2, 3), threads=1)
    for info in registry.built_in():
        if info.is_sticky:
            columns = AssignmentColumns.of(built, ConsumerTasks(info.make()).assign(built))
            assert columns.active.tolist().count(1) == 2
