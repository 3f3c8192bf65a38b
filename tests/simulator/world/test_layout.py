"""The rows of a run, and where partitions stand while brokers come and go."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.ids import TopicPartition
from simulator.brokers.partition_locations import ClusterMetadata
from simulator.world.layout import Layout, lay_out
from simulator.world.world import NO_LEADER, Application, Store, Subtopology, Topic, World
from tests.simulator.brokers.reference_brokers import ReferenceBrokers, worlds
from tests.simulator.world_builders import topic, world

Change = tuple[str, tuple[int, ...], int]


def uneven(name: str, rates: tuple[int, ...], sizes: tuple[int, ...] | None = None, record_bytes: int = 1_000) -> Topic:
    laid = topic(name, len(rates), 2)
    return dataclasses.replace(
        laid, bytes_per_s=rates, size_bytes=sizes or (0,) * len(rates), record_bytes=record_bytes
    )


def application(*subtopologies: Subtopology, topics: tuple[Topic, ...]) -> World:
    base = world()
    cluster = dataclasses.replace(base.cluster, topics={each.name: each for each in topics})
    return dataclasses.replace(base, cluster=cluster, application=Application("app", subtopologies))


def written(layout: Layout, topic: str) -> dict[str, float]:
    number = layout.outputs.topics.index(topic)
    entries = np.flatnonzero(layout.outputs.topic == number)
    return {str(layout.tasks.ids[layout.outputs.task[e]]): float(layout.outputs.bytes_per_s[e]) for e in entries}


def test_input_is_counted_in_bytes_and_in_records_of_each_topic() -> None:
    sources = (uneven("clicks", (6_000, 3_000), record_bytes=100), uneven("views", (1_000,), record_bytes=500))
    layout = lay_out(application(Subtopology(0, ("clicks", "views")), topics=sources))
    assert layout.input_bytes_per_s.tolist() == [7_000, 3_000]
    assert layout.input_records_per_s.tolist() == [62, 30]


@pytest.mark.parametrize(
    ("rates", "sizes"),
    [((0, 0), (0, 0)), ((5_000, 5_000), (0, 0)), ((0, 0), (40, 48)), ((7, 9), (49 * 10**6, 49 * 10**6 + 1))],
    ids=["empty", "growing from nothing", "less than a record", "full"],
)
def test_a_changelog_has_records_of_the_size_its_topic_says_however_full_it_is(
    rates: tuple[int, int], sizes: tuple[int, int]
) -> None:
    topics = (uneven("clicks", (1, 1)), uneven("log", rates, sizes, record_bytes=49))
    layout = lay_out(application(Subtopology(0, ("clicks",), (Store("log", "log"),)), topics=topics))
    assert layout.record_bytes.tolist() == [49, 49]


def test_the_mean_record_of_several_changelogs_is_that_of_their_bytes() -> None:
    topics = (uneven("clicks", (1,)), uneven("a", (0,), (1_000,), 100), uneven("b", (0,), (1_000,), 1_000))
    stores = (Store("a", "a"), Store("b", "b"))
    layout = lay_out(application(Subtopology(0, ("clicks",), stores), topics=topics))
    assert layout.record_bytes.tolist() == [pytest.approx(2_000 / 11)]


def test_what_is_produced_to_a_topic_comes_from_its_writers_in_proportion_to_their_input() -> None:
    layout = lay_out(
        application(
            Subtopology(0, ("clicks",), written_topics=("out",)),
            Subtopology(1, ("views",), written_topics=("out", "silent")),
            topics=(
                uneven("clicks", (1_000, 3_000)),
                uneven("views", (4_000,)),
                uneven("out", (100, 700)),
                uneven("silent", (0,)),
            ),
        )
    )
    assert written(layout, "out") == {"0_0": 100, "0_1": 300, "1_0": 400}
    assert written(layout, "silent") == {"1_0": 0}
    assert layout.outputs.partition_share.tolist() == [0.125, 0.875, 1]


def test_writers_without_input_share_evenly() -> None:
    topics = (uneven("clicks", (0, 0)), uneven("out", (600,)))
    layout = lay_out(application(Subtopology(0, ("clicks",), written_topics=("out",)), topics=topics))
    assert written(layout, "out") == {"0_0": 300, "0_1": 300}


def test_a_topic_that_is_written_and_read_is_a_repartition_topic() -> None:
    layout = lay_out(
        application(
            Subtopology(0, ("clicks",), written_topics=("between", "out")),
            Subtopology(1, ("between", "back"), written_topics=("back",)),
            topics=(*(topic(name, 2, 2) for name in ("clicks", "between", "back")), topic("out", 3, 2)),
        )
    )
    assert dict(zip(layout.outputs.topics, layout.outputs.is_repartition.tolist(), strict=True)) == {
        "back": True,
        "between": True,
        "out": False,
    }
    names = [str(layout.partitions[row]) for row in np.flatnonzero(layout.is_repartition)]
    assert sorted(names) == ["back-0", "back-1", "between-0", "between-1"]
    assert {name.topic for name in layout.partitions[layout.num_read :]} == {"out"}


def test_the_leader_learns_only_of_partitions_that_tasks_read() -> None:
    topics = (topic("clicks", 2, 2), topic("out", 3, 2))
    base = application(Subtopology(0, ("clicks",), written_topics=("out",)), topics=topics)
    layout = lay_out(base)
    locations = ClusterMetadata(base, layout).locations()
    assert list(map(str, locations.table.names)) == ["clicks-0", "clicks-1"]
    assert len(locations.table.in_rack) == len(locations.table.racks_known) == 2
    assert len(locations.leader_rack) == 5


def test_a_changelog_that_is_a_source_is_restored_but_not_written() -> None:
    stores = (Store("table", "clicks"), Store("counts", "log"))
    topics = (uneven("clicks", (500,), (3_000,)), uneven("log", (200,), (1_000,)))
    layout = lay_out(application(Subtopology(0, ("clicks",), stores), topics=topics))
    assert layout.changelogs.written_bytes_per_s.tolist() == [0, 200]
    assert layout.changelogs.restored_share.tolist() == [0.75, 0.25]
    assert layout.changelogs.followed_share.tolist() == pytest.approx([5 / 7, 2 / 7])
    assert layout.state_bytes.tolist() == [4_000]


def test_the_state_in_memory_is_the_part_of_stores_that_are_not_persistent() -> None:
    stores = (Store("a", "log-a", persistent=False), Store("b", "log-b"), Store("c", None, persistent=False))
    topics = (topic("clicks", 3, 1), uneven("log-a", (1, 1, 0), (30, 0, 0)), uneven("log-b", (3, 3, 0), (10, 0, 0)))
    layout = lay_out(
        application(
            Subtopology(0, ("clicks",), stores), Subtopology(1, ("views",)), topics=(*topics, topic("views", 1, 1))
        )
    )
    by_size, by_rate, evenly, stateless = layout.memory_share.tolist()
    assert (by_size, by_rate, evenly, stateless) == (0.75, 0.25, 0.5, 0)


def test_state_is_restored_from_the_leaders_of_its_changelogs() -> None:
    stores = (Store("a", "log-a"), Store("b", "log-b"))
    topics = (topic("clicks", 1, 1), uneven("log-a", (1,), (30,)), uneven("log-b", (1,), (10,)))
    base = application(Subtopology(0, ("clicks",), stores), topics=topics)
    brokers = ClusterMetadata(base, lay_out(base))
    assert brokers.locations().restore_share.tolist() == [[1, 0, 0, 0, 0, 0]]
    brokers.set_replicas(TopicPartition("log-a", 0), (4, 0, 1))
    assert brokers.locations().restore_share.tolist() == [[0.25, 0, 0, 0, 0.75, 0]]
    brokers.stop_brokers((0, 1))
    assert brokers.locations().restore_share.tolist() == [[0, 0, 0, 0, 0.75, 0]], "log-b has no leader"


def test_a_leader_that_lives_keeps_leading_when_others_are_lost_until_the_preferred_one_is_back() -> None:
    base = world()
    brokers = ClusterMetadata(base, lay_out(base))
    brokers.set_replicas(TopicPartition("clicks", 0), (0, 1, 2))
    brokers.stop_brokers((0,))
    assert brokers.locations().leader_rack[0] == 1
    brokers.stop_brokers((2,))
    assert brokers.locations().leader_rack[0] == 1
    brokers.start_brokers((2,))
    assert brokers.locations().leader_rack[0] == 1
    brokers.start_brokers((0,))
    assert brokers.locations().leader_rack[0] == 0


def test_the_placing_is_the_same_object_as_long_as_nothing_changes() -> None:
    base = world()
    brokers = ClusterMetadata(base, lay_out(base))
    before = brokers.locations()
    assert brokers.locations() is before
    brokers.stop_brokers((5,))
    assert brokers.locations() is not before


def test_a_broker_that_the_cluster_does_not_have_never_lives() -> None:
    base = world()
    brokers = ClusterMetadata(base, lay_out(base))
    brokers.set_replicas(TopicPartition("clicks", 0), (99, 1))
    brokers.set_replicas(TopicPartition("nobody-reads-it", 0), (1,))
    locations = brokers.locations()
    assert not locations.table.racks_known[0]
    assert locations.leader_rack[0] == 1
    assert locations.served_in[0].tolist() == [False, True, False]


changes = st.tuples(
    st.sampled_from(("stop_brokers", "start_brokers", "move")),
    st.lists(st.integers(0, 4), unique=True, max_size=4).map(tuple),
    st.integers(0, 100),
)


@given(worlds(), st.lists(changes, max_size=5))
def test_the_arrays_say_of_every_partition_what_a_slow_model_says(base: World, happened: list[Change]) -> None:
    layout = lay_out(base)
    brokers, slow = ClusterMetadata(base, layout), ReferenceBrokers(base)
    for what, listed, number in happened:
        there = tuple(broker for broker in listed if broker < len(base.cluster.brokers))
        if what == "move":
            partition = layout.partitions[number % len(layout.partitions)]
            brokers.set_replicas(partition, there)
            slow.set_replicas(partition, there)
        else:
            for each in (brokers, slow):
                getattr(each, what)(there)
    locations = brokers.locations()
    columns = [*layout.racks, None]
    for row, name in enumerate(layout.partitions):
        assert columns[locations.leader_rack[row]] == slow.leader_rack(name)
        assert {layout.racks[r] for r in np.flatnonzero(locations.served_in[row])} == slow.racks_served(name)
        followers = [rack for rack, count in zip(columns, locations.followers[row], strict=True) for _ in range(count)]
        assert sorted(map(str, followers)) == sorted(map(str, slow.followers(name)))
        assert locations.has_leader[row] == (slow.leader[name] != NO_LEADER)
        assert locations.takes_writes[row] == slow.takes_writes(name)
        if row < layout.num_read:
            assert locations.table.racks_known[row] == slow.is_located(name)
    for task in range(len(layout.tasks)):
        led = sum(
            float(share)
            for share, owner, row in zip(
                layout.changelogs.restored_share, layout.changelogs.task, layout.changelogs.partition, strict=True
            )
            if owner == task and slow.leader[layout.partitions[row]] != NO_LEADER
        )
        assert locations.restore_share[task].sum() == pytest.approx(led)
