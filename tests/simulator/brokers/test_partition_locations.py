"""Leaders, ISRs and racks of partitions while brokers stop and start."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.ids import TopicPartition
from simulator.world.disturbances import ReplicaMove
from simulator.world.layout import lay_out
from simulator.world.world import NO_LEADER, Store, Subtopology, World
from tests.simulator.brokers.reference_brokers import ReferenceBrokers, worlds
from tests.simulator.brokers.replica_states import ControlledMetadata
from tests.simulator.world_builders import topic, topic_with_rates, world, world_with

Change = tuple[str, tuple[int, ...], int]


def test_partition_table_has_only_partitions_that_tasks_read() -> None:
    topics = (topic("clicks", 2, 2), topic("out", 3, 2))
    base = world_with(Subtopology(0, ("clicks",), written_topics=("out",)), topics=topics)
    locations = ControlledMetadata(base).locations()
    assert list(map(str, locations.table.names)) == ["clicks-0", "clicks-1"]
    assert len(locations.table.in_rack) == len(locations.table.racks_known) == 2
    assert len(locations.leader_rack) == 5


def test_restore_share_follows_the_changelog_leaders() -> None:
    stores = (Store("a", "log-a"), Store("b", "log-b"))
    topics = (topic("clicks", 1, 1), topic_with_rates("log-a", (1,), (30,)), topic_with_rates("log-b", (1,), (10,)))
    base = world_with(Subtopology(0, ("clicks",), stores), topics=topics)
    brokers = ControlledMetadata(base)
    assert brokers.locations().restore_share.tolist() == [[1, 0, 0, 0, 0, 0]]
    brokers.set_replicas(TopicPartition("log-a", 0), (4, 0, 1))
    assert brokers.locations().restore_share.tolist() == [[0.25, 0, 0, 0, 0.75, 0]]
    brokers.stop_brokers((0, 1))
    assert brokers.locations().restore_share.tolist() == [[0, 0, 0, 0, 0.75, 0]], "log-b has no leader"


def test_another_leader_leads_until_the_preferred_leader_is_elected() -> None:
    base = world()
    brokers = ControlledMetadata(base)
    brokers.set_replicas(TopicPartition("clicks", 0), (0, 1, 2))
    brokers.stop_brokers((0,))
    assert brokers.locations().leader_rack[0] == 1
    brokers.stop_brokers((2,))
    assert brokers.locations().leader_rack[0] == 1
    brokers.start_brokers((2,))
    assert brokers.locations().leader_rack[0] == 1
    brokers.start_brokers((0,))
    assert brokers.locations().leader_rack[0] == 1
    brokers.elect_preferred()
    assert brokers.locations().leader_rack[0] == 0


def test_locations_are_cached_until_a_change() -> None:
    base = world()
    brokers = ControlledMetadata(base)
    before = brokers.locations()
    assert brokers.locations() is before
    brokers.stop_brokers((5,))
    assert brokers.locations() is not before


def test_unknown_broker_is_never_alive() -> None:
    base = dataclasses.replace(world(), disturbances=(ReplicaMove(1, "clicks", 0, (99, 1)),))
    brokers = ControlledMetadata(base)
    brokers.set_replicas(TopicPartition("clicks", 0), (99, 1))
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
def test_locations_match_the_reference_brokers(base: World, random_changes: list[Change]) -> None:
    layout = lay_out(base)
    brokers, reference = ControlledMetadata(base), ReferenceBrokers(base)
    for kind, broker_ids, number in random_changes:
        known_brokers = tuple(broker for broker in broker_ids if broker < len(base.cluster.brokers))
        if kind == "move":
            partition = layout.partitions[number % len(layout.partitions)]
            brokers.set_replicas(partition, known_brokers)
        else:
            getattr(brokers, kind)(known_brokers)
        reference.update(brokers.control)
    locations = brokers.locations()
    columns = [*layout.racks, None]
    for row, name in enumerate(layout.partitions):
        assert columns[locations.leader_rack[row]] == reference.leader_rack(name)
        assert {layout.racks[r] for r in np.flatnonzero(locations.served_in[row])} == reference.racks_served(name)
        followers = [rack for rack, count in zip(columns, locations.followers[row], strict=True) for _ in range(count)]
        assert sorted(map(str, followers)) == sorted(map(str, reference.followers(name)))
        assert locations.has_leader[row] == (reference.leader[name] != NO_LEADER)
        assert locations.takes_writes[row] == reference.takes_writes(name)
        if row < layout.num_read:
            assert locations.table.racks_known[row] == reference.has_known_racks(name)
    for task in range(len(layout.tasks)):
        expected_share = sum(
            float(share)
            for share, owner, row in zip(
                layout.changelogs.restored_share, layout.changelogs.task, layout.changelogs.partition, strict=True
            )
            if owner == task and reference.leader[layout.partitions[row]] != NO_LEADER
        )
        assert locations.restore_share[task].sum() == pytest.approx(expected_share)
