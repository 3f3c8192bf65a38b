"""Resolve events that add partitions to topics, and report those that an application would not survive.

When a source topic of a stateful subtopology gets partitions, the subtopology needs more tasks than its changelogs have
partitions. Kafka Streams does not add partitions to internal topics: the leader of a classic group fails with a
StreamsException, and members of a streams group with a TopologyException. The same holds for repartition topics, whose
number of partitions is that of the largest source topic upstream, unless the application sets it.

Source: `InternalTopicManager.validateTopics`, `ChangelogTopics.setup`, `RepartitionTopics.computePartitionCount` of
`org.apache.kafka.streams.processor.internals`; `InternalTopicManager.missingInternalTopics` of
`org.apache.kafka.coordinator.group.streams.topics`, `StreamThread.handleStreamsRebalanceData`, Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from scenarios.language.errors import format_list, format_value
from scenarios.language.event_entries import PartitionsAddedEvent
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.resolution.event_context import EventContext
from scenarios.resolution.reassignment_events import find_partition_problem
from scenarios.sampling.event_plans import PartitionsPlan
from simulator.world.world import Subtopology, topics_written_by

_ADVICE = "reset the application with kafka-streams-application-reset.sh, or let it read a new topic"


def resolve_partitions_added(
    event: PartitionsAddedEvent, at_ms: int, path: ScenarioPath, context: EventContext
) -> Iterator[PartitionsPlan]:
    """Resolve an increase of the number of partitions, and report mistakes that do not depend on other events."""
    problem = find_partition_problem(event.topic, 0, context)
    if problem is not None:
        context.source_map.add_mistake((*path, "topic"), problem[1])
    replicas = event.replicas or []
    are_valid = [context.brokers.check_ids(brokers, (*path, "replicas", i)) for i, brokers in enumerate(replicas)]
    if problem is None and all(are_valid):
        listed = None if event.replicas is None else tuple(map(tuple, replicas))
        yield PartitionsPlan(at_ms, event.topic, event.partitions, listed)


def check_added_partitions(plans: Iterable[tuple[ScenarioPath, PartitionsPlan]], context: EventContext) -> None:
    """Report increases in the number of partitions that Kafka or the application would reject.

    `context`: what they refer to.
    """
    counts = {name: plan.num_partitions for name, plan in context.topics.items()}
    for path, plan in sorted(plans, key=lambda located: located[1].at_ms):
        if plan.topic not in counts:
            continue
        before = counts[plan.topic]
        after = {**counts, plan.topic: plan.num_partitions}
        mistake = _mistake(plan, before, context) or _failure(plan.topic, counts, after, context)
        if mistake is not None:
            key, message = mistake
            context.source_map.add_mistake((*path, key), message)
            return
        counts = after
        context.budget.reserve(plan.num_partitions - before, context.topics[plan.topic].replication_factor)


def _mistake(plan: PartitionsPlan, before: int, context: EventContext) -> tuple[str, str] | None:
    """Return the key and the message of what is wrong with an event in itself; None if nothing is."""
    added = plan.num_partitions - before
    if added <= 0:
        when = f"'{plan.topic}' has {before} partitions at {format_duration(plan.at_ms)}"
        return "partitions", f"{plan.num_partitions} is not an increase: {when}; Kafka cannot remove partitions"
    if plan.replicas is not None and len(plan.replicas) != added:
        return "replicas", f"lists {len(plan.replicas)} partitions, but {added} are added; list the added ones only"
    if plan.topic in topics_written_by(context.subtopologies):
        return "topic", f"the application itself writes {format_value(plan.topic)}; name a topic that it only reads"
    if not any(plan.topic in part.source_topics for part in context.subtopologies):
        read = sorted({topic for part in context.subtopologies for topic in part.source_topics})
        return (
            "topic",
            f"nothing reads {format_value(plan.topic)}, so that nothing changes ({format_list('read', read)})",
        )
    return None


def _failure(
    topic: str, before: Mapping[str, int], after: Mapping[str, int], context: EventContext
) -> tuple[str, str] | None:
    """Return the key and the message of why the application would fail with other numbers of partitions; else None."""
    for part in context.subtopologies:
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
            derived = _largest_upstream(written, context.subtopologies, before)
            if before.get(written) == derived and _is_read(written, context.subtopologies):
                new = _largest_upstream(written, context.subtopologies, after)
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
