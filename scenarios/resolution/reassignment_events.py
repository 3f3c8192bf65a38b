"""Resolve events of replicas and partitions: moves, reassignments and added partitions.

Reassignments are checked before a run: whether a plan exists, and whether the run is long enough to complete it.

When a source topic of a stateful subtopology gets partitions, the subtopology needs more tasks than its changelogs have
partitions. Kafka Streams does not add partitions to internal topics: the leader of a classic group fails with a
StreamsException, and members of a streams group with a TopologyException. The same holds for repartition topics, whose
number of partitions is that of the largest source topic upstream, unless the application sets it.

Source: `InternalTopicManager.validateTopics`, `ChangelogTopics.setup`, `RepartitionTopics.computePartitionCount` of
`org.apache.kafka.streams.processor.internals`; `InternalTopicManager.missingInternalTopics` of
`org.apache.kafka.coordinator.group.streams.topics`, `StreamThread.handleStreamsRebalanceData`, Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from assignors.errors import UnknownAssignorError
from assignors.model.ids import TopicPartition
from assignors.replicas import registry
from scenarios.kafka.formats.reassignment import PartitionReassignment, parse_reassignment
from scenarios.language.errors import Mistake, did_you_mean, format_list, format_value
from scenarios.language.event_entries import STRATEGY_KEYS, PartitionsAddedEvent, ReassignmentEvent, ReplicaMoveEvent
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.references import ImportedContent
from scenarios.resolution.event_context import EventContext
from scenarios.sampling.blueprint import Blueprint
from scenarios.sampling.event_plans import PartitionsPlan, ReassignmentPlan
from scenarios.sampling.event_sampling import NoPlanError
from simulator.timeline import replicas_at
from simulator.world.disturbances import LeaderElection, Reassignment, ReassignmentTarget, ReplicaMove
from simulator.world.world import Subtopology, World, topics_written_by


def check_reassignments(
    blueprint: Blueprint, seed: int, paths: Mapping[int, ScenarioPath], source_map: SourceMap
) -> None:
    """Report strategies without a plan, and warn about reassignments that do not complete.

    `seed` places the replicas; no other is checked. `paths`: those of the reassignments in the scenario, by time.
    """
    if not any(isinstance(event, Reassignment | ReassignmentPlan) for event in blueprint.events):
        return
    try:
        world = blueprint.world(seed)
    except NoPlanError as error:
        source_map.add_mistake(error.path, error.message)
        return
    _check_unfinished(world, paths, source_map)


def _check_unfinished(world: World, paths: Mapping[int, ScenarioPath], source_map: SourceMap) -> None:
    at_end = replicas_at(world, world.duration_ms)
    lagging = [str(name) for name in at_end.falling_behind()]
    for reassignment, left in at_end.unfinished():
        status = f"not complete when the run ends at {format_duration(world.duration_ms)}"
        advice = "set a longer duration or a higher throttle"
        message = f"{status}: {left:,} of {len(reassignment.targets):,} partitions remain; {advice}"
        source_map.add_warning(paths[reassignment.at_ms], message)
    if lagging:
        path = (*paths[at_end.unfinished()[0][0].at_ms], "throttle")
        problem = "the throttle does not exceed the produce rate, so the reassignment never completes"
        source_map.add_warning(path, f"{problem} ({format_list('partitions', lagging, max_names=4)})")


def resolve_replica_move(
    event: ReplicaMoveEvent, at_ms: int, path: ScenarioPath, context: EventContext
) -> Iterator[ReplicaMove]:
    """Resolve a replica move, and report mistakes."""
    context.brokers.check_ids(event.replicas, (*path, "replicas"))
    problem = find_partition_problem(event.topic, event.partition, context)
    if problem is not None:
        key, message = problem
        context.source_map.add_mistake((*path, key), message)
    else:
        yield ReplicaMove(at_ms, event.topic, event.partition, tuple(event.replicas))


def resolve_reassignment(
    event: ReassignmentEvent, at_ms: int, path: ScenarioPath, context: EventContext
) -> Iterator[Reassignment | ReassignmentPlan]:
    """Resolve a reassignment, and report mistakes."""
    election = LeaderElection(event.elects_leaders)
    if event.plan is not None:
        for key in STRATEGY_KEYS:
            if getattr(event, key) is not None:
                context.source_map.add_mistake((*path, key), "conflicts with plan; remove this")
        plan = context.files.read((*path, "plan"), event.plan, parse_reassignment)
        targets = () if plan is None else tuple(_targets(plan, context))
        yield Reassignment(at_ms, targets, event.throttle, event.batch, election)
    elif event.strategy is not None:
        _check_strategy(event.strategy, event, path, context)
        context.brokers.check_ids(event.remove_brokers or (), (*path, "remove_brokers"))
        _check_topics(event.topics or (), path, context)
        yield ReassignmentPlan(
            at_ms=at_ms,
            path=path,
            strategy=event.strategy,
            parameters=tuple((event.parameters or {}).items()),
            topics=None if event.topics is None else tuple(event.topics),
            removed=tuple(event.remove_brokers or ()),
            replication_factor=event.replication_factor,
            rack_aware=event.rack_aware is not False,
            throttle_bytes_per_s=event.throttle,
            batch=event.batch,
            election=election,
        )
    elif context.source_map.is_valid(*path):
        context.source_map.add_mistake(path, "no plan; set plan: FILE, or strategy: NAME")


def _check_strategy(name: str, event: ReassignmentEvent, path: ScenarioPath, context: EventContext) -> None:
    try:
        info = registry.find_strategy(name)
        strategy_class = info.find_class()
    except UnknownAssignorError as error:
        context.source_map.add_mistake((*path, "strategy"), str(error))
        return
    defaults: dict[str, Any] = (
        {field.name: field.default for field in fields(strategy_class)} if is_dataclass(strategy_class) else {}
    )
    for key, value in (event.parameters or {}).items():
        parameter_path = (*path, "parameters", key)
        if key not in defaults:
            remark = did_you_mean(key, list(defaults), "parameters")
            context.source_map.add_mistake(parameter_path, f"not a parameter of {name} ({remark})")
            return
        if not _has_type_of(value, defaults[key]):
            context.source_map.add_mistake(
                parameter_path, f"{format_value(value)} is not a valid value (default: {format_value(defaults[key])})"
            )
            return
    try:
        registry.make(info, event.parameters)
    except UnknownAssignorError as error:
        context.source_map.add_mistake((*path, "parameters"), str(error))


def _has_type_of(value: object, default: object) -> bool:
    """Return whether a value has the type of the default; True if the default has no scalar type."""
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    kind = next((kind for kind in (bool, int, str) if isinstance(default, kind)), None)
    return kind is None or (isinstance(value, kind) and isinstance(value, bool) is (kind is bool))


def _check_topics(names: Sequence[str], path: ScenarioPath, context: EventContext) -> None:
    for i, name in enumerate(names):
        problem = find_partition_problem(name, 0, context)
        if problem is not None:
            context.source_map.add_mistake((*path, "topics", i), problem[1])


def _targets(
    plan: ImportedContent[tuple[PartitionReassignment, ...]], context: EventContext
) -> Iterator[ReassignmentTarget]:
    """Yield the targets of a plan up to the first invalid one, which is reported."""
    for move in plan.content:
        problem = find_partition_problem(move.topic, move.partition, context)
        unknown = [broker for broker in move.replicas if broker not in context.brokers.ids]
        if problem is None and unknown and context.brokers.known is not None:
            brokers = format_list("brokers", context.brokers.ids)
            problem = "replicas", f"unknown broker {unknown[0]} ({brokers})"
        if problem is not None:
            context.mistakes.add(Mistake(plan.source, move.line, "", f"{move.topic}-{move.partition}: {problem[1]}"))
            return
        yield ReassignmentTarget(TopicPartition(move.topic, move.partition), move.replicas)


def find_partition_problem(topic: str, partition: int, context: EventContext) -> tuple[str, str] | None:
    """Return the key and the message of an unknown topic or partition; None if valid or unknown."""
    known = context.topics.get(topic)
    if known is None:
        if context.all_topics is None or topic in context.all_topics:
            return None
        return (
            "topic",
            f"unknown topic {format_value(topic)} ({did_you_mean(topic, sorted(context.all_topics), 'topics')})",
        )
    if partition >= known.num_partitions:
        return "partition", f"{partition} is not a partition of '{topic}' (0 to {known.num_partitions - 1})"
    return None


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
    """Report increases in the number of partitions that Kafka or the application would reject."""
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
