"""Bytes between racks: by hand for a small world, and against a slow count for random ones."""

from __future__ import annotations

import dataclasses
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import NO_RACK
from assignors.model.ids import TaskId, TopicPartition
from simulator.brokers.partition_locations import ClusterMetadata
from simulator.flows.traffic import (
    Routes,
    TrafficBytes,
    TrafficKind,
    TrafficTotals,
    cross_rack_bytes,
    steady_state_traffic,
)
from simulator.world.layout import FloatArray, Layout, lay_out
from simulator.world.world import NO_LEADER, Subtopology, World
from tests.simulator.brokers.reference_brokers import ReferenceBrokers, worlds
from tests.simulator.world_builders import topic, world

SOURCE, REPARTITION = TrafficKind.SOURCE_READ, TrafficKind.REPARTITION_READ
TO_REPARTITION, RESULT = TrafficKind.REPARTITION_WRITE, TrafficKind.RESULT_WRITE
CHANGELOG, REPLICATION = TrafficKind.CHANGELOG_WRITE, TrafficKind.REPLICATION
STANDBY, WARMUP, RESTORE = TrafficKind.STANDBY_READ, TrafficKind.WARMUP_READ, TrafficKind.RESTORE_READ

Pairs = dict[tuple[str | None, str | None], float]
Copy = tuple[float, int, str | None, bool]
"""How much, the task's row, in which rack, and whether the client says so."""


def steady(
    base: World,
    active: dict[str, str | None],
    standbys: tuple[tuple[str, str], ...] = (),
    *,
    nearest: bool = False,
    announced: bool = True,
) -> dict[TrafficKind, Pairs]:
    """What travels when tasks run in racks, and stand by in racks."""
    layout = lay_out(base)
    routes = Routes(layout, ClusterMetadata(base, layout).locations(), from_nearest=nearest)
    racks = [*layout.racks, None]
    rows = {str(task): row for row, task in enumerate(layout.tasks.ids)}
    owners = np.full(len(rows), UNASSIGNED)
    for task, rack in active.items():
        owners[rows[task]] = racks.index(rack)
    followed = np.array([rows[task] for task, _ in standbys], dtype=np.int64)
    followers = np.array([racks.index(rack) for _, rack in standbys], dtype=np.int64)
    clients = np.array([*range(len(layout.racks)), NO_RACK])
    says = np.full(len(clients), announced)
    return pairs(layout, steady_state_traffic(routes, owners, (followed, followers), clients, says))


def pairs(layout: Layout, carried: TrafficBytes) -> dict[TrafficKind, Pairs]:
    racks = [*layout.racks, None]
    return {
        kind: {(racks[i], racks[j]): float(matrix[i, j]) for i, j in np.argwhere(matrix != 0).tolist()}
        for kind, matrix in carried.items()
    }


def writing() -> World:
    """Subtopology 0 reads clicks and writes a repartition topic, from which subtopology 1 makes results."""
    base = world()
    parts = (
        Subtopology(0, ("clicks",), written_topics=("between",)),
        Subtopology(1, ("between",), written_topics=("results",)),
    )
    topics = (topic("clicks", 2, 2, rate=800), topic("between", 1, 3, rate=600), topic("results", 2, 1, rate=100))
    cluster = dataclasses.replace(base.cluster, topics={each.name: each for each in topics})
    return dataclasses.replace(
        base, cluster=cluster, application=dataclasses.replace(base.application, subtopologies=parts)
    )


def test_a_task_reads_from_the_leader_of_its_partition() -> None:
    # clicks-0 has replicas on brokers 0 (az1, leads) and 1 (az2).
    assert steady(world(), {"0_0": "az2"})[SOURCE] == {("az1", "az2"): 1_000_000}


def test_it_reads_from_the_replica_in_its_own_rack_if_brokers_allow_it() -> None:
    assert steady(world(), {"0_0": "az2"}, nearest=True)[SOURCE] == {("az2", "az2"): 1_000_000}
    assert steady(world(), {"0_0": "az3"}, nearest=True)[SOURCE] == {("az1", "az3"): 1_000_000}


def test_a_client_that_does_not_announce_its_rack_is_served_by_the_leader() -> None:
    told = steady(world(), {"0_0": "az2"}, (("1_0", "az2"),), nearest=True, announced=False)
    assert told[SOURCE] == {("az1", "az2"): 1_000_000}
    assert told[STANDBY] == {("az1", "az2"): 100_000}


def test_a_stateful_task_writes_its_changelog_the_follower_fetches_it_and_a_standby_reads_it() -> None:
    # views-0 and the changelog's partition 0 are led by broker 0 in az1; broker 1 in az2 follows the changelog.
    told = steady(world(), {"1_0": "az3"}, (("1_0", "az2"),))
    assert told[CHANGELOG] == {("az3", "az1"): 100_000}
    assert told[REPLICATION] == {("az1", "az2"): 100_000}
    assert told[STANDBY] == {("az1", "az2"): 100_000}


def test_tasks_write_what_others_read_and_results() -> None:
    told = steady(writing(), {"0_0": "az2", "0_1": "az3", "1_0": "az1"})
    assert told[SOURCE] == {("az1", "az2"): 800, ("az2", "az3"): 800}
    assert told[TO_REPARTITION] == {("az2", "az1"): 300, ("az3", "az1"): 300}
    assert told[REPARTITION] == {("az1", "az1"): 600}
    assert told[RESULT] == {("az1", "az1"): 100, ("az1", "az2"): 100}
    assert told[REPLICATION] == {("az1", "az2"): 600, ("az1", "az3"): 600}


def test_what_has_no_rack_is_counted_apart() -> None:
    assert steady(world(), {"0_0": None})[SOURCE] == {("az1", None): 1_000_000}


def test_only_what_goes_from_rack_to_rack_crosses() -> None:
    matrix = np.arange(16.0).reshape(4, 4)
    carried = {SOURCE: matrix, CHANGELOG: np.ones((4, 4))}
    assert cross_rack_bytes(carried, SOURCE) == 1 + 2 + 4 + 6 + 8 + 9
    assert cross_rack_bytes(carried) == 30 + 6
    assert cross_rack_bytes(carried, STANDBY) == 0


def test_a_ledger_adds_up_until_it_is_taken() -> None:
    ledger = TrafficTotals(1)
    ledger.add({SOURCE: np.ones((2, 2)), RESTORE: np.ones((2, 2))})
    ledger.add({SOURCE: np.ones((2, 2))})
    taken = ledger.take()
    assert list(taken) == list(TrafficKind)
    assert taken[SOURCE].tolist() == [[2, 2], [2, 2]]
    assert taken[RESTORE].sum() == 4
    ledger.add({RESTORE: np.ones((2, 2))})
    assert taken[RESTORE].sum() == 4, "what was taken is not touched any more"
    assert {kind: matrix.sum() for kind, matrix in ledger.take().items() if matrix.any()} == {RESTORE: 4}


def test_nobody_assigned_is_no_traffic() -> None:
    assert not any(steady(world(), {}).values())


def test_in_a_world_without_racks_everything_is_counted_under_none() -> None:
    base = world()
    bare = dataclasses.replace(
        base,
        cluster=dataclasses.replace(
            base.cluster, brokers=tuple(dataclasses.replace(each, rack=None) for each in base.cluster.brokers)
        ),
        clients=tuple(dataclasses.replace(each, rack=None) for each in base.clients),
    )
    for nearest in (False, True):
        told = steady(bare, {"1_0": None}, (("1_0", None),), nearest=nearest)
        assert told[SOURCE] == {(None, None): 500_000}
        assert told[STANDBY] == {(None, None): 100_000}


class SlowCount:
    """Follows every byte by itself."""

    def __init__(self, base: World, layout: Layout, brokers: ReferenceBrokers, nearest: bool) -> None:
        self.topics = base.cluster.topics
        self.parts = {part.id: part for part in base.application.subtopologies}
        self.tasks = layout.tasks.ids
        self.brokers = brokers
        self.nearest = nearest
        self.counted: dict[TrafficKind, Pairs] = defaultdict(lambda: defaultdict(float))
        self.read_topics = {name for part in self.parts.values() for name in part.source_topics}
        self.written_topics = {name for part in self.parts.values() for name in part.written_topics}

    def rate(self, name: TopicPartition) -> int:
        return self.topics[name.topic].bytes_per_s[name.partition]

    def sources(self, task: TaskId) -> list[TopicPartition]:
        names = self.parts[task.subtopology].source_topics
        return [
            TopicPartition(name, task.partition) for name in names if task.partition < self.topics[name].num_partitions
        ]

    def changelogs(self, task: TaskId) -> list[TopicPartition]:
        stores = self.parts[task.subtopology].stores
        names = [store.changelog for store in stores if store.changelog is not None]
        return [
            TopicPartition(name, task.partition) for name in names if task.partition < self.topics[name].num_partitions
        ]

    def process(self, work: float, row: int, rack: str | None, announced: bool) -> None:
        task = self.tasks[row]
        for name in self.sources(task):
            kind = REPARTITION if name.topic in self.written_topics else SOURCE
            self.read(kind, name, self.rate(name) * work, rack, announced)
        for topic_name in self.parts[task.subtopology].written_topics:
            kind = TO_REPARTITION if topic_name in self.read_topics else RESULT
            for partition in range(self.topics[topic_name].num_partitions):
                name = TopicPartition(topic_name, partition)
                self.write(kind, name, self.rate(name) * self.part_of(task, topic_name) * work, rack)
        for name in self.changelogs(task):
            if name not in self.sources(task):
                self.write(CHANGELOG, name, self.rate(name) * work, rack)

    def part_of(self, task: TaskId, topic_name: str) -> float:
        writers = [t for t in self.tasks if topic_name in self.parts[t.subtopology].written_topics]
        inputs = {writer: sum(map(self.rate, self.sources(writer))) for writer in writers}
        everything = sum(inputs.values())
        return inputs[task] / everything if everything else 1 / len(writers)

    def copy(self, kind: TrafficKind, amount: float, row: int, rack: str | None, announced: bool) -> None:
        names = self.changelogs(self.tasks[row])
        sizes = [self.topics[name.topic].size_bytes[name.partition] for name in names]
        rates = [self.rate(name) for name in names]
        first, second = (rates, sizes) if kind is STANDBY else (sizes, rates)
        weights = first if any(first) else second if any(second) else [1] * len(names)
        for name, weight in zip(names, weights, strict=True):
            self.read(kind, name, amount * weight / sum(weights), rack, announced)
        if not names:
            self.counted[kind][None, rack] += amount

    def read(self, kind: TrafficKind, name: TopicPartition, amount: float, rack: str | None, announced: bool) -> None:
        near = self.nearest and announced and rack in self.brokers.racks_served(name)
        self.counted[kind][rack if near else self.brokers.leader_rack(name), rack] += amount

    def write(self, kind: TrafficKind, name: TopicPartition, amount: float, rack: str | None) -> None:
        leader = self.brokers.leader_rack(name)
        self.counted[kind][rack, leader] += amount
        for follower in self.brokers.followers(name):
            self.counted[REPLICATION][leader, follower] += amount


@st.composite
def copies(draw: st.DrawFn, layout: Layout) -> list[Copy]:
    one = st.tuples(
        st.sampled_from((0.0, 0.5, 1.0, 3.0)),
        st.integers(0, len(layout.tasks) - 1),
        st.sampled_from((*layout.racks, None)),
        st.booleans(),
    )
    return draw(st.lists(one, max_size=6))


def columns(layout: Layout, given_copies: list[Copy]) -> tuple[FloatArray, ...]:
    racks = [*layout.racks, None]
    no_rack = len(layout.racks)
    return (
        np.array([copy[0] for copy in given_copies], dtype=np.float64),
        np.array([copy[1] for copy in given_copies], dtype=np.int64),
        np.array(
            [NO_RACK if racks.index(c[2]) == no_rack else racks.index(c[2]) for c in given_copies], dtype=np.int64
        ),
        np.array([copy[3] for copy in given_copies], dtype=np.bool_),
    )


@given(st.data(), worlds(), st.booleans())
def test_the_tables_count_what_a_slow_count_does(data: st.DataObject, base: World, nearest: bool) -> None:
    layout = lay_out(base)
    brokers, slow = ClusterMetadata(base, layout), ReferenceBrokers(base)
    lost = data.draw(st.sampled_from([(), (0,)]))
    brokers.stop_brokers(lost)
    slow.stop_brokers(lost)
    routes = Routes(layout, brokers.locations(), from_nearest=nearest)
    count = SlowCount(base, layout, slow, nearest)
    ledger = TrafficTotals(len(layout.racks))
    working = data.draw(copies(layout))
    ledger.add(routes.processing(*columns(layout, working)))
    for copy in working:
        count.process(*copy)
    for kind in (STANDBY, WARMUP, RESTORE):
        reading = data.draw(copies(layout))
        ledger.add(routes.changelog_reads(kind, *columns(layout, reading)))
        for copy in reading:
            count.copy(kind, *copy)
    for kind, told in pairs(layout, ledger.take()).items():
        expected = {pair: amount for pair, amount in count.counted[kind].items() if amount}
        assert told == pytest.approx(expected), kind


@given(worlds(), st.booleans(), st.integers(0, 3))
def test_no_byte_is_lost_and_none_is_made(base: World, nearest: bool, rack: int) -> None:
    layout = lay_out(base)
    routes = Routes(layout, ClusterMetadata(base, layout).locations(), from_nearest=nearest)
    everybody = np.zeros(len(layout.tasks), dtype=np.int64)
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    here = np.array([rack if rack < len(layout.racks) else NO_RACK])
    told = {
        kind: float(matrix.sum()) for kind, matrix in steady_state_traffic(routes, everybody, nothing, here).items()
    }
    topics = base.cluster.topics
    parts = base.application.subtopologies
    written = sorted({name for part in parts for name in part.written_topics})
    logs = [s.changelog for p in parts for s in p.stores if s.changelog and s.changelog not in p.source_topics]
    assert told[SOURCE] + told[REPARTITION] == pytest.approx(layout.input_bytes_per_s.sum())
    assert told[TO_REPARTITION] + told[RESULT] == pytest.approx(sum(sum(topics[name].bytes_per_s) for name in written))
    assert told[CHANGELOG] == sum(sum(topics[name].bytes_per_s) for name in logs)
    replicated = [
        rate * (len(in_sync) - 1)
        for name in (*written, *logs)
        for rate, in_sync, leader in zip(
            topics[name].bytes_per_s,
            topics[name].in_sync or topics[name].replicas,
            topics[name].leaders,
            strict=True,
        )
        if leader != NO_LEADER
    ]
    assert told[REPLICATION] == pytest.approx(sum(replicated))
