"""Partitions that move: one at once, or all those of a plan that is carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from assignors.errors import UnknownAssignorError
from assignors.model.ids import TopicPartition
from assignors.replicas import registry
from scenarios.kafka.formats.reassignment import PartitionReassignment, parse_reassignment
from scenarios.language.errors import Mistake, did_you_mean, format_list, format_value
from scenarios.language.event_entries import STRATEGY_KEYS, ReassignmentEvent, ReplicaMoveEvent
from scenarios.language.paths import ScenarioPath
from scenarios.resolution.event_context import EventContext
from scenarios.resolution.imported_files import ImportedContent
from scenarios.sampling.event_plans import ReassignmentPlan
from simulator.world.disturbances import LeaderElection, Reassignment, ReassignmentTarget, ReplicaMove


def resolve_replica_move(
    said: ReplicaMoveEvent, at_ms: int, path: ScenarioPath, around: EventContext
) -> Iterator[ReplicaMove]:
    """Understand a move; what is wrong is noted."""
    around.brokers.check_ids(said.replicas, (*path, "replicas"))
    wrong = _wrong_partition(said.topic, said.partition, around)
    if wrong is not None:
        key, message = wrong
        around.places.wrong((*path, key), message)
    else:
        yield ReplicaMove(at_ms, said.topic, said.partition, tuple(said.replicas))


def resolve_reassignment(
    said: ReassignmentEvent, at_ms: int, path: ScenarioPath, around: EventContext
) -> Iterator[Reassignment | ReassignmentPlan]:
    """Understand a reassignment; what is wrong is noted."""
    election = LeaderElection(said.elects_leaders)
    if said.plan is not None:
        for key in STRATEGY_KEYS:
            if getattr(said, key) is not None:
                around.places.wrong((*path, key), "the plan says what moves, so leave this out")
        plan = around.files.read((*path, "plan"), said.plan, parse_reassignment)
        targets = () if plan is None else tuple(_targets(plan, around))
        yield Reassignment(at_ms, targets, said.throttle, said.batch, election)
    elif said.strategy is not None:
        _check_strategy(said.strategy, said, path, around)
        around.brokers.check_ids(said.remove_brokers or (), (*path, "remove_brokers"))
        _check_topics(said.topics or (), path, around)
        yield ReassignmentPlan(
            at_ms=at_ms,
            path=path,
            strategy=said.strategy,
            parameters=tuple((said.parameters or {}).items()),
            topics=None if said.topics is None else tuple(said.topics),
            removed=tuple(said.remove_brokers or ()),
            replication_factor=said.replication_factor,
            rack_aware=said.rack_aware is not False,
            throttle_bytes_per_s=said.throttle,
            batch=said.batch,
            election=election,
        )
    elif around.places.is_valid(*path):
        around.places.wrong(path, "it has no plan; give plan: FILE, or strategy: NAME")


def _check_strategy(name: str, said: ReassignmentEvent, path: ScenarioPath, around: EventContext) -> None:
    try:
        info = registry.find_strategy(name)
        made = info.find_class()
    except UnknownAssignorError as error:
        around.places.wrong((*path, "strategy"), str(error))
        return
    defaults: dict[str, Any] = {field.name: field.default for field in fields(made)} if is_dataclass(made) else {}
    for key, value in (said.parameters or {}).items():
        at = (*path, "parameters", key)
        if key not in defaults:
            remark = did_you_mean(key, list(defaults), "parameters")
            around.places.wrong(at, f"not a parameter of {name} ({remark})")
            return
        if not _is_like(value, defaults[key]):
            around.places.wrong(
                at, f"{format_value(value)} is not a value for it ({format_value(defaults[key])} if not given)"
            )
            return
    try:
        registry.make(info, said.parameters)
    except UnknownAssignorError as error:
        around.places.wrong((*path, "parameters"), str(error))


def _is_like(value: object, default: object) -> bool:
    """Whether a value is of the kind of a default; anything is where that says nothing."""
    if isinstance(default, float):
        return type(value) in (int, float)
    kind = next((kind for kind in (bool, int, str) if isinstance(default, kind)), None)
    return kind is None or (isinstance(value, kind) and isinstance(value, bool) is (kind is bool))


def _check_topics(names: Sequence[str], path: ScenarioPath, around: EventContext) -> None:
    for i, name in enumerate(names):
        wrong = _wrong_partition(name, 0, around)
        if wrong is not None:
            around.places.wrong((*path, "topics", i), wrong[1])


def _targets(
    plan: ImportedContent[tuple[PartitionReassignment, ...]], around: EventContext
) -> Iterator[ReassignmentTarget]:
    """The targets of a plan, up to the first that cannot be."""
    for move in plan.content:
        wrong = _wrong_partition(move.topic, move.partition, around)
        strangers = [broker for broker in move.replicas if broker not in around.brokers.ids]
        if wrong is None and strangers and around.brokers.known is not None:
            brokers = format_list("brokers", around.brokers.ids)
            wrong = "replicas", f"{strangers[0]} is not a broker ({brokers})"
        if wrong is not None:
            around.mistakes.add(Mistake(plan.source, move.line, "", f"{move.topic}-{move.partition}: {wrong[1]}"))
            return
        yield ReassignmentTarget(TopicPartition(move.topic, move.partition), move.replicas)


def _wrong_partition(topic: str, partition: int, around: EventContext) -> tuple[str, str] | None:
    """What is wrong with a partition, and with which key; None if nothing is, as far as topics are known."""
    known = around.topics.get(topic)
    if known is None:
        if around.all_topics is None or topic in around.all_topics:
            return None
        return (
            "topic",
            f"{format_value(topic)} is not a topic ({did_you_mean(topic, sorted(around.all_topics), 'topics')})",
        )
    if partition >= known.num_partitions:
        return "partition", f"{partition} is not a partition of '{topic}' (0 to {known.num_partitions - 1})"
    return None
