"""Partitions that a topic gets during a run.

When a source topic of a stateful subtopology gets partitions, the subtopology needs more tasks than its changelogs have
partitions. Kafka Streams does not add partitions to internal topics: the leader of a classic group fails with a
StreamsException, and members of a streams group with a TopologyException. The same holds for repartition topics, whose
number of partitions is that of the largest source topic upstream, unless the application sets it.

Source: `InternalTopicManager.validateTopics`, `ChangelogTopics.setup`, `RepartitionTopics.computePartitionCount` of
`org.apache.kafka.streams.processor.internals`; `InternalTopicManager.missingInternalTopics` of
`org.apache.kafka.coordinator.group.streams.topics`, `StreamThread.handleStreamsRebalanceData`, Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from scenarios.events.scenario_event import ClusterEvent, EventContext
from scenarios.language.errors import format_list, format_value
from scenarios.language.fields import PartitionCount, ReplicaList, TopicName
from scenarios.language.units import format_duration
from scenarios.sampling.event_sampling import EventPlan, EventSampling, place_replicas
from simulator.world.disturbances import PartitionsAdded
from simulator.world.world import Subtopology, topics_written_by

_ADVICE: Final = "reset the application with kafka-streams-application-reset.sh, or let it read a new topic"


@dataclass(frozen=True, slots=True)
class PartitionsPlan(EventPlan):
    """A topic that gets more partitions, `num_partitions` in all.

    `replicas`: the brokers of each new partition; None for Kafka's placement, which depends on the seed.
    """

    at_ms: int
    topic: str
    num_partitions: int
    replicas: tuple[tuple[int, ...], ...] | None

    def realize(self, sampling: EventSampling) -> Iterator[PartitionsAdded]:
        replicas, cluster = self.replicas, sampling.world.cluster
        first = sampling.num_partitions.get(self.topic, cluster.topics[self.topic].num_partitions)
        sampling.num_partitions[self.topic] = self.num_partitions
        if replicas is None:
            factor = len(cluster.topics[self.topic].replicas[0])
            placed = place_replicas(self.topic, cluster.brokers, sampling.world.seed, self.num_partitions, factor)
            replicas = placed[first:]
        yield PartitionsAdded(self.at_ms, self.topic, first, replicas)

    def conflict(self, read: Collection[str], reader: str) -> str | None:
        if self.topic not in read:
            return None
        return f"reads {format_value(self.topic)}, to which an event adds partitions; only {reader} may read it"


class PartitionsAddedEvent(ClusterEvent):
    """A topic gets more partitions, as by kafka-topics.sh --alter --partitions.

    The rate of the topic does not change: the new partitions take over their part of it at once. The leader of a
    classic group notices them when it refreshes its metadata (metadata.max.age.ms); the coordinator of another group
    with the next heartbeat. Reassignments leave added partitions where they are, and other_traffic does not use them.
    """

    example = """\
application:                                   # without stores: changelogs do not get partitions
  id: shop
  subtopologies:
    - sources: [orders]
events:
  - {at: 30m, partitions_added: {topic: orders, partitions: 36}}
"""

    topic: TopicName = Field(description="A topic that the application, or the group, only reads.")
    partitions: PartitionCount = Field(description="Number of partitions from now on.")
    replicas: Annotated[list[ReplicaList], Field(min_length=1)] | None = Field(
        default=None,
        description="Broker ids of each added partition, the preferred leader first; by default Kafka's placement.",
    )

    def resolve(self, context: EventContext) -> Iterator[PartitionsPlan]:
        problem = context.partition_problem(self.topic, 0)
        if problem is not None:
            context.report(problem[1], "topic")
        replicas = self.replicas or []
        are_valid = [context.check_brokers(brokers, "replicas", i) for i, brokers in enumerate(replicas)]
        if problem is None and all(are_valid):
            listed = None if self.replicas is None else tuple(map(tuple, replicas))
            yield PartitionsPlan(context.at_ms, self.topic, self.partitions, listed)

    def check_in_order(self, planned: PartitionsPlan, context: EventContext) -> None:
        """Report the first increase that Kafka or the application would reject."""
        counts = context.num_partitions
        if self.topic not in counts:
            return
        before = counts[self.topic]
        after = {**counts, self.topic: self.partitions}
        mistake = self._mistake(planned, before, context) or _failure(self.topic, counts, after, context.subtopologies)
        if mistake is not None:
            key, message = mistake
            context.report(message, key)
            counts.clear()
            return
        counts[self.topic] = self.partitions
        context.budget.reserve(self.partitions - before, context.topics[self.topic].replication_factor)

    def _mistake(self, planned: PartitionsPlan, before: int, context: EventContext) -> tuple[str, str] | None:
        """Return the key and the message of what is wrong with an event in itself; None if nothing is."""
        added = self.partitions - before
        if added <= 0:
            when = f"'{self.topic}' has {before} partitions at {format_duration(context.at_ms)}"
            return "partitions", f"{self.partitions} is not an increase: {when}; Kafka cannot remove partitions"
        if planned.replicas is not None and len(planned.replicas) != added:
            listed = len(planned.replicas)
            return "replicas", f"lists {listed} partitions, but {added} are added; list the added ones only"
        if self.topic in topics_written_by(context.subtopologies):
            return "topic", f"the application itself writes {format_value(self.topic)}; name a topic that it only reads"
        if not any(self.topic in part.source_topics for part in context.subtopologies):
            read = sorted({topic for part in context.subtopologies for topic in part.source_topics})
            return (
                "topic",
                f"nothing reads {format_value(self.topic)}, so that nothing changes ({format_list('read', read)})",
            )
        return None


def _failure(
    topic: str, before: Mapping[str, int], after: Mapping[str, int], subtopologies: Iterable[Subtopology]
) -> tuple[str, str] | None:
    """Return the key and the message of why the application would fail with other numbers of partitions; else None."""
    for part in subtopologies:
        if topic not in part.source_topics:
            continue
        needed = _num_tasks(part, after)
        logs = [store.changelog for store in part.stores if store.changelog is not None]
        if logs and needed > _num_tasks(part, before):
            internal = next((log for log in logs if log not in part.source_topics), None)
            if internal is None:
                return "topic", f"is the changelog of subtopology {part.id}, too; added state is not simulated"
            return "topic", _rejected(f"changelog {format_value(internal)}", before[internal], needed)
        for written in part.written_topics:
            derived = _largest_upstream(written, subtopologies, before)
            if before.get(written) == derived and _is_read(written, subtopologies):
                new = _largest_upstream(written, subtopologies, after)
                if new != derived:
                    return "topic", _rejected(f"repartition topic {format_value(written)}", derived, new)
    return None


def _rejected(internal: str, before: int, needed: int) -> str:
    failure = f"would stop every client: {internal} has {before} partitions and would need {needed}"
    return f'{failure}, which Kafka Streams rejects ("Existing internal topic … has invalid partitions"); {_ADVICE}'


def _num_tasks(part: Subtopology, counts: Mapping[str, int]) -> int:
    return max(counts[name] for name in part.source_topics)


def _is_read(topic: str, parts: Iterable[Subtopology]) -> bool:
    return any(topic in part.source_topics for part in parts)


def _largest_upstream(topic: str, parts: Iterable[Subtopology], counts: Mapping[str, int]) -> int:
    """Return the number of partitions that a repartition topic gets."""
    return max((_num_tasks(part, counts) for part in parts if topic in part.written_topics), default=0)
