"""Where Kafka's AdminUtils puts the replicas of a topic, whatever is where already.

Guarantees: leaders go round the brokers; every broker gets as many replicas as any other, give or take the rest of the
division, if all racks have as many brokers; a partition's replicas lie in as many racks as possible.
Priority: racks without a replica, then the turn in the list of brokers, which racks share by turns.
Complexity: O(partitions · replicas) where racks are alike, up to O(partitions · brokers) where they are not.
Source: `org.apache.kafka.admin.AdminUtils.assignReplicasToBrokers` (KIP-36), which draws
the start and the shift that are parameters here.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence


class PlacementError(ValueError):
    """Kafka would refuse to create the topic."""


def assign_replicas_to_brokers(
    racks: Mapping[int, str | None], num_partitions: int, replication_factor: int, start: int, shift: int
) -> tuple[tuple[int, ...], ...]:
    """Choose the brokers of each partition, the preferred leader first.

    Args:
        racks: the rack of every broker by its id, None where it has none; in any order.
        num_partitions: at least 1.
        replication_factor: at least 1.
        start: the place of the first partition's leader in the list of brokers.
        shift: how far the first partition's followers are from their leader; the followers of later rounds are farther.

    Raises:
        PlacementError: fewer brokers than replicas, or only some brokers have a rack.
    """
    check_numbers(len(racks), num_partitions, replication_factor)
    without = sorted(broker for broker, rack in racks.items() if rack is None)
    if without and len(without) < len(racks):
        raise PlacementError(f"not all brokers have a rack (without one: {', '.join(map(str, without[:12]))})")
    ordered, num_racks = alternate_racks(racks), len(set(racks.values()))
    placed = []
    for partition in range(num_partitions):
        first = (partition + start) % len(ordered)
        turned = (shift + partition // len(ordered)) * num_racks
        placed.append(_place(ordered, racks, num_racks, first, turned, replication_factor))
    return tuple(placed)


def check_numbers(num_brokers: int, num_partitions: int, replication_factor: int) -> None:
    """See that so many brokers can hold a topic.

    Raises:
        PlacementError: they cannot.
    """
    if num_partitions < 1 or replication_factor < 1:
        raise PlacementError("a topic has at least one partition, and that at least one replica")
    if replication_factor > num_brokers:
        raise PlacementError(
            f"replication factor {replication_factor} is larger than the number of brokers, {num_brokers}"
        )


def alternate_racks(racks: Mapping[int, str | None]) -> list[int]:
    """List the brokers' ids so that neighbours are in different racks: the first of each, then the second of each."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker] or "", []).append(broker)
    turns = itertools.zip_longest(*(by_rack[rack] for rack in sorted(by_rack)))
    return [broker for turn in turns for broker in turn if broker is not None]


def _place(
    ordered: Sequence[int], racks: Mapping[int, str | None], num_racks: int, first: int, turned: int, replicas: int
) -> tuple[int, ...]:
    """Take the leader, then the next in racks without a replica, and any broker once all racks have one."""
    chosen = [ordered[first]]
    used_racks = {racks[ordered[first]]}
    step = 0
    while len(chosen) < replicas:
        broker = ordered[(first + 1 + (turned + step) % (len(ordered) - 1)) % len(ordered)]
        step += 1
        if broker not in chosen and (len(used_racks) == num_racks or racks[broker] not in used_racks):
            chosen.append(broker)
            used_racks.add(racks[broker])
    return tuple(chosen)
