"""The broker that coordinates a group: the leader of the group's partition of `__consumer_offsets`.

If the cluster's topics do not include `__consumer_offsets`, its 50 partitions are assumed to have three replicas each,
on brokers in the order of their ids, beginning with a broker further for each partition.

Source: `GroupCoordinatorService.partitionFor`, Kafka 4.3.1; `offsets.topic.num.partitions`,
`offsets.topic.replication.factor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from assignors.java.hash_order import string_hash
from simulator.world.changes import (
    BrokersDown,
    BrokersUp,
    CoordinatorMoved,
    NewRelease,
    ReplicasSet,
    ReplicationStep,
    TimedChange,
)
from simulator.world.disturbances import BrokerUpgrade
from simulator.world.group_configs import GroupProtocol
from simulator.world.layout import NO_BROKER
from simulator.world.world import World

OFFSETS_TOPIC: Final = "__consumer_offsets"
_PARTITIONS: Final = 50
_REPLICATION_FACTOR: Final = 3
_INT_MAX: Final = 2**31 - 1


def coordinator_replicas(world: World) -> tuple[int, ...]:
    """Return the brokers that may coordinate the application's group, the preferred one first."""
    topic, partition = world.cluster.topics.get(OFFSETS_TOPIC), _partition(world)
    if topic is not None:
        return topic.replicas[partition]
    brokers = sorted(broker.id for broker in world.cluster.brokers)
    factor = min(_REPLICATION_FACTOR, len(brokers))
    return tuple(brokers[(partition + number) % len(brokers)] for number in range(factor))


def with_coordinator_moves(world: World, changes: Iterable[TimedChange]) -> Iterator[TimedChange]:
    """Yield changes, each followed by the move of the coordinator that it causes.

    Without an upgrade of brokers, a move only matters if members report task offsets, which the next coordinator does
    not know; other moves are omitted. `world`: the brokers and the application; `changes`: all changes of a run by
    time, those of brokers with the partitions that change.
    """
    upgrades = [event for event in world.disturbances if isinstance(event, BrokerUpgrade)]
    if not upgrades and not _loses_offsets(world):
        yield from changes
        return
    row, brokers = coordinator_row(world), world.cluster.brokers
    upgrade_of: Mapping[int, NewRelease] = {}
    coordinator, last_upgrade = coordinator_replicas(world)[0], None
    for timed in changes:
        yield timed
        match timed.change:
            case BrokersUp(brokers=started, upgrade=NewRelease() as upgrade):
                upgrade_of = {**upgrade_of, **dict.fromkeys(started, upgrade)}
            case BrokersDown() | BrokersUp() | ReplicasSet() | ReplicationStep():
                pass
            case _:
                continue
        states = timed.change.states
        leader = NO_BROKER if states is None else int(states.leader[states.partitions == row].max(initial=NO_BROKER))
        alive = coordinator if leader == NO_BROKER else brokers[leader].id
        upgrade_of_leader = upgrade_of.get(alive)
        if alive != coordinator or upgrade_of_leader is not last_upgrade:
            configs = world.application.group_configs if upgrade_of_leader is None else upgrade_of_leader.group_configs
            release = "" if upgrade_of_leader is None else upgrade_of_leader.release
            yield TimedChange(timed.at_ms, CoordinatorMoved(alive, configs, release), timed.event)
        coordinator, last_upgrade = alive, upgrade_of_leader


def coordinator_row(world: World) -> int:
    """Return the row of the coordinator's partition; after those of all topics if these lack `__consumer_offsets`."""
    topics, offsets = world.cluster.topics, world.cluster.partition_offsets
    if OFFSETS_TOPIC in topics:
        return offsets[OFFSETS_TOPIC] + _partition(world)
    return sum(topic.num_partitions for topic in topics.values())


def _partition(world: World) -> int:
    topic = world.cluster.topics.get(OFFSETS_TOPIC)
    return (string_hash(world.application.id) & _INT_MAX) % (_PARTITIONS if topic is None else topic.num_partitions)


def _loses_offsets(world: World) -> bool:
    configs = world.application.group_configs
    reports = configs.reports_task_offsets and configs.task_offset_interval_ms is not None
    return reports and configs.protocol is GroupProtocol.STREAMS
