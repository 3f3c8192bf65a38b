"""The changed partitions of a plan, for people and for JSON."""

from __future__ import annotations

from collections.abc import Sequence

from assignors.model.ids import TopicPartition
from assignors.replicas.state import NO_BROKER, ClusterState
from reports.analysis.plans.changes import PartitionChange
from scenarios.planning.strategy_results import StrategyResult


def partition_changes(state: ClusterState, result: StrategyResult) -> list[PartitionChange]:
    """Return the partitions whose replicas or leader a plan changes, by topic and partition.

    Args:
        state: the cluster before the plan.
        result: the plan; without one, nothing changes.
    """
    rows = {state.partition_id(row): row for row in range(state.num_partitions)}
    ids = state.ids.tolist()

    def change(
        key: TopicPartition, before: Sequence[int], after: Sequence[int], copied_bytes: int | None
    ) -> PartitionChange:
        leader = int(state.leader[rows[key]])
        leader_id = None if leader == NO_BROKER else ids[leader]
        return PartitionChange(*key, tuple(before), tuple(after), leader_id, after[0], copied_bytes)

    changes = [change(item.key, item.old, item.new, item.copied_bytes) for item in result.changes]
    for key in result.further_elections:
        replicas = [ids[broker] for broker in state.replicas[rows[key]].tolist() if broker != NO_BROKER]
        changes.append(change(key, replicas, replicas, 0))
    return sorted(changes, key=lambda change: (change.topic, change.partition))
