"""topicmappr's `--optimize-leadership`: brokers with a high ratio of leaders to followers move to the end of the lists.

Source: DataDog/kafka-kit, `mapper/partitions.go` (`OptimizeLeaderFollower`, `replicasByLeaderFollowerRatio`).
"""

from __future__ import annotations

from collections.abc import Sequence

from assignors.replicas.topicmappr.rebuild import ReplicaLists


def order_by_ratio(replicas: ReplicaLists, num_brokers: int) -> None:
    """Sort every list by the brokers' ratio of leaders to followers, in place.

    The lists are sorted in as many passes as the first list has entries, each list by the ratios at that moment. A
    broker that follows no partition comes last. The ratio is not the number of leaders: if brokers hold different
    numbers of replicas, leaders may become less even. `replicas`: one list per partition, by topic and number.
    """
    num_leaders, num_followers = [0] * num_brokers, [0] * num_brokers
    for row in replicas:
        _count(row, num_leaders, num_followers, 1)

    def ratio(broker: int) -> tuple[bool, float]:
        if num_followers[broker]:
            return False, num_leaders[broker] / num_followers[broker]
        return True, num_leaders[broker]

    for _ in range(len(replicas[0]) if replicas else 0):
        for row in replicas:
            reordered = sorted(row, key=ratio)
            _count(row, num_leaders, num_followers, -1)
            _count(reordered, num_leaders, num_followers, 1)
            row[:] = reordered


def _count(brokers: Sequence[int], num_leaders: list[int], num_followers: list[int], step: int) -> None:
    num_leaders[brokers[0]] += step
    for broker in brokers[1:]:
        num_followers[broker] += step
