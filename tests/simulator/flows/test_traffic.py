"""Bytes between racks: known values for a small world, and a reference count for random worlds."""

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
from tests.simulator.brokers.replica_states import ControlledMetadata
from tests.simulator.world_builders import topic, world

SOURCE, REPARTITION = TrafficKind.SOURCE_READ, TrafficKind.REPARTITION_READ
TO_REPARTITION, RESULT = TrafficKind.REPARTITION_WRITE, TrafficKind.RESULT_WRITE
CHANGELOG, REPLICATION = TrafficKind.CHANGELOG_WRITE, TrafficKind.REPLICATION
STANDBY, WARMUP, RESTORE = TrafficKind.STANDBY_READ, TrafficKind.WARMUP_READ, TrafficKind.RESTORE_READ

Pairs = dict[tuple[str | None, str | None], float]
Copy = tuple[float, int, str | None, bool]
"""Bytes or work, row of the task, rack of the client, and whether the client announces it."""


def steady_state(
    base: World,
    active: dict[str, str | None],
    standbys: tuple[tuple[str, str], ...] = (),
    *,
    nearest: bool = False,
    announced: bool = True,
) -> dict[TrafficKind, Pairs]:
    """Return the steady-state bytes per second.

    Args:
        base: the world.
        active: the rack in which each task runs.
        standbys: task and rack of each standby.
        nearest: whether brokers serve the nearest replica.
        announced: whether clients announce their racks.
    """
    layout = lay_out(base)
    routes = Routes(layout, ControlledMetadata(base).locations(), from_nearest=nearest)
    racks = [*layout.racks, None]
    rows = {str(task): row for row, task in enumerate(layout.tasks.ids)}
    owners = np.full(len(rows), UNASSIGNED)
    for task, rack in active.items():
        owners[rows[task]] = racks.index(rack)
    followed = np.array([rows[task] for task, _ in standbys], dtype=np.int64)
    followers = np.array([racks.index(rack) for _, rack in standbys], dtype=np.int64)
    clients = np.array([*range(len(layout.racks)), NO_RACK])
    announces = np.full(len(clients), announced)
    return bytes_by_rack_pair(layout, steady_state_traffic(routes, owners, (followed, followers), clients, announces))


def bytes_by_rack_pair(layout: Layout, traffic: TrafficBytes) -> dict[TrafficKind, Pairs]:
    racks = [*layout.racks, None]
    return {
        kind: {(racks[i], racks[j]): float(matrix[i, j]) for i, j in np.argwhere(matrix != 0).tolist()}
        for kind, matrix in traffic.items()
    }


def world_with_repartition_topic() -> World:
    """Return a world in which subtopology 0 writes a repartition topic that subtopology 1 turns into results."""
    base = world()
    parts = (
        Subtopology(0, ("clicks",), written_topics=("between",)),
        Subtopology(1, ("between",), written_topics=("results",)),
    )
    topics = (topic("clicks", 2, 2, rate=800), topic("between", 1, 3, rate=600), topic("results", 2, 1, rate=100))
    cluster = dataclasses.replace(base.cluster, topics={topic.name: topic for topic in topics})
    return dataclasses.replace(
        base, cluster=cluster, application=dataclasses.replace(base.application, subtopologies=parts)
    )


def test_task_reads_from_the_leader() -> None:
    # clicks-0 has replicas on brokers 0 (az1, leader) and 1 (az2).
    assert steady_state(world(), {"0_0": "az2"})[SOURCE] == {("az1", "az2"): 1_000_000}


def test_task_reads_from_the_nearest_replica_if_brokers_allow_it() -> None:
    assert steady_state(world(), {"0_0": "az2"}, nearest=True)[SOURCE] == {("az2", "az2"): 1_000_000}
    assert steady_state(world(), {"0_0": "az3"}, nearest=True)[SOURCE] == {("az1", "az3"): 1_000_000}


def test_client_without_client_rack_reads_from_the_leader() -> None:
    traffic = steady_state(world(), {"0_0": "az2"}, (("1_0", "az2"),), nearest=True, announced=False)
    assert traffic[SOURCE] == {("az1", "az2"): 1_000_000}
    assert traffic[STANDBY] == {("az1", "az2"): 100_000}


def test_changelog_is_written_replicated_and_read_by_standbys() -> None:
    # views-0 and the changelog's partition 0 are led by broker 0 in az1; broker 1 in az2 follows the changelog.
    traffic = steady_state(world(), {"1_0": "az3"}, (("1_0", "az2"),))
    assert traffic[CHANGELOG] == {("az3", "az1"): 100_000}
    assert traffic[REPLICATION] == {("az1", "az2"): 100_000}
    assert traffic[STANDBY] == {("az1", "az2"): 100_000}


def test_tasks_write_repartition_topics_and_results() -> None:
    traffic = steady_state(world_with_repartition_topic(), {"0_0": "az2", "0_1": "az3", "1_0": "az1"})
    assert traffic[SOURCE] == {("az1", "az2"): 800, ("az2", "az3"): 800}
    assert traffic[TO_REPARTITION] == {("az2", "az1"): 300, ("az3", "az1"): 300}
    assert traffic[REPARTITION] == {("az1", "az1"): 600}
    assert traffic[RESULT] == {("az1", "az1"): 100, ("az1", "az2"): 100}
    assert traffic[REPLICATION] == {("az1", "az2"): 600, ("az1", "az3"): 600}


def test_traffic_without_rack_is_counted_separately() -> None:
    assert steady_state(world(), {"0_0": None})[SOURCE] == {("az1", None): 1_000_000}


def test_cross_rack_bytes_exclude_unknown_racks() -> None:
    matrix = np.arange(16.0).reshape(4, 4)
    traffic = {SOURCE: matrix, CHANGELOG: np.ones((4, 4))}
    assert cross_rack_bytes(traffic, SOURCE) == 1 + 2 + 4 + 6 + 8 + 9
    assert cross_rack_bytes(traffic) == 30 + 6
    assert cross_rack_bytes(traffic, STANDBY) == 0


def test_totals_accumulate_until_taken() -> None:
    totals = TrafficTotals(1)
    totals.add({SOURCE: np.ones((2, 2)), RESTORE: np.ones((2, 2))})
    totals.add({SOURCE: np.ones((2, 2))})
    taken = totals.take()
    assert list(taken) == list(TrafficKind)
    assert taken[SOURCE].tolist() == [[2, 2], [2, 2]]
    assert taken[RESTORE].sum() == 4
    totals.add({RESTORE: np.ones((2, 2))})
    assert taken[RESTORE].sum() == 4, "the returned totals do not change"
    assert {kind: matrix.sum() for kind, matrix in totals.take().items() if matrix.any()} == {RESTORE: 4}


def test_no_traffic_without_assignment() -> None:
    assert not any(steady_state(world(), {}).values())


def test_traffic_without_any_racks_is_counted_under_none() -> None:
    base = world()
    bare = dataclasses.replace(
        base,
        cluster=dataclasses.replace(
            base.cluster, brokers=tuple(dataclasses.replace(broker, rack=None) for broker in base.cluster.brokers)
        ),
        clients=tuple(dataclasses.replace(client, rack=None) for client in base.clients),
    )
    for nearest in (False, True):
        traffic = steady_state(bare, {"1_0": None}, (("1_0", None),), nearest=nearest)
        assert traffic[SOURCE] == {(None, None): 500_000}
        assert traffic[STANDBY] == {(None, None): 100_000}


class ReferenceCount:
    """Counts the bytes of each task and partition separately."""

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
                self.write(kind, name, self.rate(name) * self.input_share(task, topic_name) * work, rack)
        for name in self.changelogs(task):
            if name not in self.sources(task):
                self.write(CHANGELOG, name, self.rate(name) * work, rack)

    def input_share(self, task: TaskId, topic_name: str) -> float:
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
def random_copies(draw: st.DrawFn, layout: Layout) -> list[Copy]:
    copy = st.tuples(
        st.sampled_from((0.0, 0.5, 1.0, 3.0)),
        st.integers(0, len(layout.tasks) - 1),
        st.sampled_from((*layout.racks, None)),
        st.booleans(),
    )
    return draw(st.lists(copy, max_size=6))


def columns(layout: Layout, copies: list[Copy]) -> tuple[FloatArray, ...]:
    racks = [*layout.racks, None]
    no_rack = len(layout.racks)
    return (
        np.array([copy[0] for copy in copies], dtype=np.float64),
        np.array([copy[1] for copy in copies], dtype=np.int64),
        np.array([NO_RACK if racks.index(c[2]) == no_rack else racks.index(c[2]) for c in copies], dtype=np.int64),
        np.array([copy[3] for copy in copies], dtype=np.bool_),
    )


@given(st.data(), worlds(), st.booleans())
def test_routes_match_the_reference_count(data: st.DataObject, base: World, nearest: bool) -> None:
    layout = lay_out(base)
    brokers, reference = ControlledMetadata(base), ReferenceBrokers(base)
    stopped = data.draw(st.sampled_from([(), (0,)]))
    brokers.stop_brokers(stopped)
    reference.update(brokers.control)
    routes = Routes(layout, brokers.locations(), from_nearest=nearest)
    count = ReferenceCount(base, layout, reference, nearest)
    totals = TrafficTotals(len(layout.racks))
    processing_copies = data.draw(random_copies(layout))
    totals.add(routes.processing(*columns(layout, processing_copies)))
    for copy in processing_copies:
        count.process(*copy)
    for kind in (STANDBY, WARMUP, RESTORE):
        reading_copies = data.draw(random_copies(layout))
        totals.add(routes.changelog_reads(kind, *columns(layout, reading_copies)))
        for copy in reading_copies:
            count.copy(kind, *copy)
    for kind, traffic in bytes_by_rack_pair(layout, totals.take()).items():
        expected = {pair: amount for pair, amount in count.counted[kind].items() if amount}
        assert traffic == pytest.approx(expected), kind


@given(worlds(), st.booleans(), st.integers(0, 3))
def test_steady_state_bytes_equal_the_rates_of_the_topics(base: World, nearest: bool, rack: int) -> None:
    layout = lay_out(base)
    routes = Routes(layout, ControlledMetadata(base).locations(), from_nearest=nearest)
    owners = np.zeros(len(layout.tasks), dtype=np.int64)
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    racks = np.array([rack if rack < len(layout.racks) else NO_RACK])
    traffic = {
        kind: float(matrix.sum()) for kind, matrix in steady_state_traffic(routes, owners, nothing, racks).items()
    }
    topics = base.cluster.topics
    parts = base.application.subtopologies
    written = sorted({name for part in parts for name in part.written_topics})
    logs = [s.changelog for p in parts for s in p.stores if s.changelog and s.changelog not in p.source_topics]
    assert traffic[SOURCE] + traffic[REPARTITION] == pytest.approx(layout.input_bytes_per_s.sum())
    assert traffic[TO_REPARTITION] + traffic[RESULT] == pytest.approx(
        sum(sum(topics[name].bytes_per_s) for name in written)
    )
    assert traffic[CHANGELOG] == sum(sum(topics[name].bytes_per_s) for name in logs)
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
    assert traffic[REPLICATION] == pytest.approx(sum(replicated))
