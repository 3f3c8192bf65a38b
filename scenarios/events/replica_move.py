"""An instantaneous change of a partition's replicas."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from scenarios.events.scenario_event import ClusterEvent, EventContext
from scenarios.language.fields import INT_MAX, ReplicaList, TopicName
from simulator.world.disturbances import ReplicaMove


class ReplicaMoveEvent(ClusterEvent):
    """An instantaneous change of a partition's replicas; nothing is copied, and the first replica leads."""

    example = "events:\n  - {at: 30m, replica_move: {topic: orders, partition: 0, replicas: [4, 5]}}\n"

    topic: TopicName = Field(description="The topic.")
    partition: Annotated[int, Field(ge=0, le=INT_MAX)] = Field(description="The partition.")
    replicas: ReplicaList = Field(description="Its new brokers, the leader first.")

    def resolve(self, context: EventContext) -> list[ReplicaMove]:
        context.check_brokers(self.replicas, "replicas")
        problem = context.partition_problem(self.topic, self.partition)
        if problem is None:
            return [ReplicaMove(context.at_ms, self.topic, self.partition, tuple(self.replicas))]
        key, message = problem
        context.report(message, key)
        return []
