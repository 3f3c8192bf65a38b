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
from simulator.world.changes import BrokersDown, BrokersUp, CoordinatorMoved, TimedChange
from simulator.world.disturbances import BrokerUpgrade
from simulator.world.world import GroupProtocol, World

OFFSETS_TOPIC: Final = "__consumer_offsets"
_PARTITIONS: Final = 50
_REPLICATION_FACTOR: Final = 3
_INT_MAX: Final = 2**31 - 1


def coordinator_replicas(world: World) -> tuple[int, ...]:
    """Return the brokers that may coordinate the application's group, the preferred one first."""
    topic = world.cluster.topics.get(OFFSETS_TOPIC)
    num_partitions = _PARTITIONS if topic is None else topic.num_partitions
    partition = (string_hash(world.application.id) & _INT_MAX) % num_partitions
    if topic is not None:
        return topic.replicas[partition]
    brokers = sorted(broker.id for broker in world.cluster.brokers)
    factor = min(_REPLICATION_FACTOR, len(brokers))
    return tuple(brokers[(partition + number) % len(brokers)] for number in range(factor))


def with_coordinator_moves(world: World, changes: Iterable[TimedChange]) -> Iterator[TimedChange]:
    """Yield changes, each followed by the move of the coordinator that it causes.

    Without an upgrade of brokers, a move only matters if members report task offsets, which the next coordinator does
    not know; other moves are omitted.

    Args:
        world: the brokers and the application.
        changes: all changes of a run by time.
    """
    upgrades = [event for event in world.disturbances if isinstance(event, BrokerUpgrade)]
    if not upgrades and not _loses_offsets(world):
        yield from changes
        return
    replicas, down = coordinator_replicas(world), set[int]()
    upgrade_of: Mapping[int, BrokerUpgrade] = {}
    coordinator, last_upgrade = replicas[0], None
    for timed in changes:
        yield timed
        match timed.change:
            case BrokersDown(brokers=brokers):
                down.update(brokers)
            case BrokersUp(brokers=brokers, upgrade=upgrade):
                down.difference_update(brokers)
                if upgrade is not None:
                    upgrade_of = {**upgrade_of, **dict.fromkeys(brokers, upgrade)}
            case _:
                continue
        alive = next((broker for broker in replicas if broker not in down), coordinator)
        upgrade = upgrade_of.get(alive)
        if alive != coordinator or upgrade is not last_upgrade:
            configs = world.application.group_configs if upgrade is None else upgrade.group_configs
            release = "" if upgrade is None else upgrade.release
            yield TimedChange(timed.at_ms, CoordinatorMoved(alive, configs, release), timed.event)
        coordinator, last_upgrade = alive, upgrade


def _loses_offsets(world: World) -> bool:
    configs = world.application.group_configs
    reports = configs.reports_task_offsets and configs.task_offset_interval_ms is not None
    return reports and configs.protocol is GroupProtocol.STREAMS
