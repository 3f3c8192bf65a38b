"""Kafka's AdminUtils: placement of a new topic, independent of current replicas.

Guarantees: leaders rotate over the brokers; all brokers get the same number of replicas, up to rounding, if all racks
have the same number of brokers; a partition's replicas are in as many racks as possible.
Priority: racks without a replica, then the order of brokers, in which racks alternate.
Complexity: O(partitions · replicas) for equal racks, up to O(partitions · brokers) otherwise.
Source: `org.apache.kafka.admin.AdminUtils.assignReplicasToBrokers` (KIP-36), which draws the start and the shift that
are parameters here.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence


class PlacementError(ValueError):
    """Kafka would reject the topic."""


def assign_replicas_to_brokers(
    racks: Mapping[int, str | None], num_partitions: int, replication_factor: int, start: int, shift: int
) -> tuple[tuple[int, ...], ...]:
    """Choose the brokers of each partition, the preferred leader first.

    `racks`: the rack of every broker by id, None for a broker without a rack; in any order. `num_partitions`: at least
    1. `replication_factor`: at least 1. `start`: the index of the first partition's leader in the list of brokers.
    `shift`: the distance of the first partition's followers from their leader; it grows with every round over brokers.
    Returns broker ids of each partition. Raises PlacementError if there are fewer brokers than replicas, or only some
    brokers have a rack.
    """
    check_numbers(len(racks), num_partitions, replication_factor)
    without_rack = sorted(broker for broker, rack in racks.items() if rack is None)
    if without_rack and len(without_rack) < len(racks):
        raise PlacementError(f"not all brokers have a rack (without one: {', '.join(map(str, without_rack[:12]))})")
    ordered, num_racks = alternate_racks(racks), len(set(racks.values()))
    replicas = []
    for partition in range(num_partitions):
        first = (partition + start) % len(ordered)
        rotation = (shift + partition // len(ordered)) * num_racks
        replicas.append(_place(ordered, racks, num_racks, first, rotation, replication_factor))
    return tuple(replicas)


def check_numbers(num_brokers: int, num_partitions: int, replication_factor: int) -> None:
    """Check that a topic of this size fits on the brokers; raise PlacementError if not."""
    if num_partitions < 1 or replication_factor < 1:
        raise PlacementError("a topic requires at least one partition and one replica")
    if replication_factor > num_brokers:
        raise PlacementError(f"replication factor {replication_factor} exceeds the number of brokers, {num_brokers}")


def alternate_racks(racks: Mapping[int, str | None]) -> list[int]:
    """Return the broker ids with alternating racks: the first of each rack, then the second of each, and so on."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker] or "", []).append(broker)
    turns = itertools.zip_longest(*(by_rack[rack] for rack in sorted(by_rack)))
    return [broker for turn in turns for broker in turn if broker is not None]


def _place(
    ordered: Sequence[int], racks: Mapping[int, str | None], num_racks: int, first: int, rotation: int, replicas: int
) -> tuple[int, ...]:
    """Return the leader, the next brokers in racks without a replica, then any next brokers once all racks have one."""
    chosen = [ordered[first]]
    used_racks = {racks[ordered[first]]}
    step = 0
    while len(chosen) < replicas:
        broker = ordered[(first + 1 + (rotation + step) % (len(ordered) - 1)) % len(ordered)]
        step += 1
        if broker not in chosen and (len(used_racks) == num_racks or racks[broker] not in used_racks):
            chosen.append(broker)
            used_racks.add(racks[broker])
    return tuple(chosen)
