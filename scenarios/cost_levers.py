"""Changes that can lower the bill of cross-rack traffic, each as a change of the world that a run then simulates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from assignors.model.configs import RackAwareStrategy
from scenarios.load import AssignorSpec
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import OtherTraffic, Topic, World


class NotApplicableError(Exception):
    """A change that a scenario cannot make or has made already; the message has the reason."""


@dataclass(frozen=True, slots=True)
class CostLever:
    """A change that can lower the bill.

    `key`: in records. `change`: what to set. `apply`: returns the changed world; raises NotApplicableError.
    """

    key: str
    title: str
    change: str
    apply: Callable[[World, AssignorSpec], World]


def _with_follower_fetching(world: World, spec: AssignorSpec) -> World:
    """Let brokers serve the nearest replica, and let all consumers announce their racks."""
    other = world.other_traffic
    announced = all(client.announces_rack or client.rack is None for client in world.clients)
    groups = () if other is None else other.groups
    if world.cluster.reads_from_nearest_replica and announced and all(group.announces_rack for group in groups):
        raise NotApplicableError("in use")
    if other is not None:
        other = replace(other, groups=tuple(replace(group, announces_rack=True) for group in other.groups))
    return replace(
        world,
        cluster=replace(world.cluster, reads_from_nearest_replica=True),
        clients=tuple(replace(client, announces_rack=True) for client in world.clients),
        other_traffic=other,
    )


def _with_rack_aware_assignment(world: World, spec: AssignorSpec) -> World:
    """Set `rack.aware.assignment.strategy` to `min_traffic`."""
    application = world.application
    if application.group_configs.protocol is GroupProtocol.STREAMS:
        raise NotApplicableError("streams groups have no rack-aware assignment")
    if spec.info.ignores("rack.aware.assignment.strategy"):
        raise NotApplicableError(f"{spec.info.name} does not read the config")
    if application.assignment_configs.rack_aware_assignment_strategy is not RackAwareStrategy.NONE:
        raise NotApplicableError("in use")
    configs = replace(application.assignment_configs, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
    return replace(world, application=replace(application, assignment_configs=configs))


def _with_rack_aware_producers(world: World, spec: AssignorSpec) -> World:
    """Let producers of records without keys prefer partitions whose leader is in their rack."""
    other = _with_producers(world)
    if all(producer.has_keys for producer in other.producers):
        raise NotApplicableError("all records have keys")
    if all(producer.has_keys or producer.is_rack_aware for producer in other.producers):
        raise NotApplicableError("in use")
    producers = (replace(producer, is_rack_aware=not producer.has_keys) for producer in other.producers)
    return replace(world, other_traffic=replace(other, producers=tuple(producers)))


def _with_compression(world: World, spec: AssignorSpec) -> World:
    """Let all producers compress with the codec that compresses best."""
    other = _with_producers(world)
    if not other.compression_ratios:
        raise NotApplicableError("compression_ratios are not stated")
    best = max(other.compression_ratios, key=lambda codec: other.compression_ratios[codec])
    if all(producer.codec == best for producer in other.producers):
        raise NotApplicableError("in use")
    if unknown := [producer.codec for producer in other.producers if other.ratio(producer.codec) is None]:
        raise NotApplicableError(f"the ratio of {unknown[0]} is not stated")
    topics = dict(world.cluster.topics)
    producers = {producer.name: dict(producer.share_of) for producer in other.producers}
    for name in dict.fromkeys(topic for producer in other.producers for topic in producer.share_of):
        if name not in other.topic_codecs:
            topics[name], shares = _compressed(topics[name], other, best)
            for producer, share in shares.items():
                producers[producer][name] = share
    changed = tuple(replace(user, codec=best, share_of=producers[user.name]) for user in other.producers)
    return replace(
        world,
        cluster=replace(world.cluster, topics=topics),
        other_traffic=replace(other, producers=changed),
    )


def _compressed(topic: Topic, other: OtherTraffic, codec: str) -> tuple[Topic, Mapping[str, float]]:
    """Return a topic whose producers compress with a codec, and the new share of each producer."""
    ratio = other.ratio(codec) or 1.0
    kept = {
        user.name: user.share_of[topic.name] * (other.ratio(user.codec) or 1.0) / ratio
        for user in other.producers
        if topic.name in user.share_of
    }
    unknown = 1.0 - sum(user.share_of.get(topic.name, 0.0) for user in other.producers)
    factor = max(unknown, 0.0) + sum(kept.values())
    smaller = replace(
        topic,
        bytes_per_s=_scaled(topic.bytes_per_s, factor),
        record_bytes=max(1, round(topic.record_bytes * factor)),
        hourly_bytes_per_s=tuple(_scaled(rates, factor) for rates in topic.hourly_bytes_per_s),
    )
    return smaller, {name: share / factor for name, share in kept.items()}


def _scaled(rates: tuple[int, ...], factor: float) -> tuple[int, ...]:
    return tuple(round(rate * factor) for rate in rates)


def _with_producers(world: World) -> OtherTraffic:
    """Return the other traffic, with producers; raise NotApplicableError if the scenario states none."""
    if world.other_traffic is None or not world.other_traffic.producers:
        raise NotApplicableError("no producers are stated")
    return world.other_traffic


COST_LEVERS: Final = (
    CostLever(
        "follower_fetching",
        "Follower fetching (KIP-392)",
        "replica.selector.class and client.rack",
        _with_follower_fetching,
    ),
    CostLever(
        "rack_aware_assignment",
        "Rack-aware assignment (min_traffic)",
        "rack.aware.assignment.strategy: min_traffic",
        _with_rack_aware_assignment,
    ),
    CostLever(
        "rack_aware_producing",
        "Rack-aware producing (KIP-1123)",
        "partitioner.rack.aware, for records without keys",
        _with_rack_aware_producers,
    ),
    CostLever("compression", "Best compression", "compression.type of the producers", _with_compression),
)
"""The known changes, in the order of reports."""
