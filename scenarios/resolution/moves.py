"""Replica moves: one that stands in the scenario, or all those of a plan in a file."""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.errors import Mistake, did_you_mean, listing, show
from scenarios.event_entries import MOVE_KEYS, ReplicaMoveEvent
from scenarios.importers.reassignment import PlannedMove, read_plan
from scenarios.paths import Path
from scenarios.resolution.files import Imported
from scenarios.resolution.surroundings import Surroundings
from simulator.disturbances import ReplicaMove


def resolve_moves(said: ReplicaMoveEvent, at_ms: int, path: Path, around: Surroundings) -> Iterator[ReplicaMove]:
    """Understand a move or a plan; what is wrong is noted."""
    if said.plan is not None:
        for key in MOVE_KEYS:
            if getattr(said, key) is not None:
                around.places.wrong((*path, key), "the plan says what moves, so leave this out")
        plan = around.files.read((*path, "plan"), said.plan, read_plan)
        yield from () if plan is None else _moves_of(plan, at_ms, around)
        return
    missing = [key for key in MOVE_KEYS if getattr(said, key) is None]
    if missing and around.places.is_sound(*path):
        around.places.wrong((*path, missing[0]), f"missing; give {', '.join(MOVE_KEYS)}, or plan: FILE")
    if said.replicas is not None:
        around.brokers.check_ids(said.replicas, (*path, "replicas"))
    if said.topic is not None and said.partition is not None:
        wrong = _wrong_partition(said.topic, said.partition, around)
        if wrong is not None:
            key, message = wrong
            around.places.wrong((*path, key), message)
        elif said.replicas is not None:
            yield ReplicaMove(at_ms, said.topic, said.partition, tuple(said.replicas))


def _moves_of(plan: Imported[tuple[PlannedMove, ...]], at_ms: int, around: Surroundings) -> Iterator[ReplicaMove]:
    """The moves of a plan, up to the first that cannot be."""
    for move in plan.content:
        wrong = _wrong_partition(move.topic, move.partition, around)
        strangers = [broker for broker in move.replicas if broker not in around.brokers.ids]
        if wrong is None and strangers and around.brokers.known is not None:
            brokers = listing("brokers", around.brokers.ids)
            wrong = "replicas", f"{strangers[0]} is not a broker ({brokers})"
        if wrong is not None:
            around.mistakes.add(Mistake(plan.source, move.line, "", f"{move.topic}-{move.partition}: {wrong[1]}"))
            return
        yield ReplicaMove(at_ms, move.topic, move.partition, move.replicas)


def _wrong_partition(topic: str, partition: int, around: Surroundings) -> tuple[str, str] | None:
    """What is wrong with a partition, and with which key; None if nothing is, as far as topics are known."""
    known = around.topics.get(topic)
    if known is None:
        if around.all_topics is None or topic in around.all_topics:
            return None
        return "topic", f"{show(topic)} is not a topic ({did_you_mean(topic, sorted(around.all_topics), 'topics')})"
    if partition >= known.num_partitions:
        return "partition", f"{partition} is not a partition of '{topic}' (0 to {known.num_partitions - 1})"
    return None
