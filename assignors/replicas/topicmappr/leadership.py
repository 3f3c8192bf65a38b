"""topicmappr's `--optimize-leadership`: whoever leads much for what it follows goes to the back of the list.

Source: DataDog/kafka-kit, `mapper/partitions.go` (`OptimizeLeaderFollower`, `replicasByLeaderFollowerRatio`).
"""

from __future__ import annotations

from collections.abc import Sequence

from assignors.replicas.topicmappr.rebuild import ReplicaLists


def order_by_ratio(replicas: ReplicaLists, num_brokers: int) -> None:
    """Sort every list by the brokers' ratio of leaders to followers, in place; as often as the first list is long.

    Ratios are those of the moment at which a list is sorted. A broker that follows nowhere comes behind all that do.
    The ratio is not the number of leaders: where brokers hold unlike numbers of replicas, leaders may end up less even
    than they were.

    Args:
        replicas: one list a partition, by topic and number.
        num_brokers: B.
    """
    leads, follows = [0] * num_brokers, [0] * num_brokers
    for row in replicas:
        _count(row, leads, follows, 1)

    def ratio(broker: int) -> tuple[bool, float]:
        if follows[broker]:
            return False, leads[broker] / follows[broker]
        return True, leads[broker]

    for _ in range(len(replicas[0]) if replicas else 0):
        for row in replicas:
            turned = sorted(row, key=ratio)
            _count(row, leads, follows, -1)
            _count(turned, leads, follows, 1)
            row[:] = turned


def _count(brokers: Sequence[int], leads: list[int], follows: list[int], step: int) -> None:
    leads[brokers[0]] += step
    for broker in brokers[1:]:
        follows[broker] += step
