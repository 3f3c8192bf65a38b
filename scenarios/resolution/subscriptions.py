"""Resolve the subscriptions of a consumer group: topics of the group, or of single clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assignors.model.columns import ConsumerProperties
from assignors.model.ids import TopicPartition
from scenarios.language.consumer_configs import server_assignor_name
from scenarios.language.consumer_entries import ConsumerClientEntry, ConsumerGroupEntry
from scenarios.language.errors import format_list, format_value
from scenarios.language.fields import invalid_entries, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.references.clients import ResolvedClients


@dataclass(frozen=True, slots=True)
class SubscribedTopic:
    """A topic to which members of a group subscribe.

    `path`: where the group, or else the first client, lists it; relative to the group.
    """

    name: str
    path: ScenarioPath


def subscribed_topics(entry: ConsumerGroupEntry) -> tuple[SubscribedTopic, ...]:
    """Return the topics of a group in the order of the scenario: first those of the group, then those of clients."""
    path_of: dict[str, ScenarioPath] = {}
    for i, name in enumerate(entry.topics or ()):
        path_of.setdefault(name, ("topics", i))
    for i, client in valid_entries(entry.clients):
        for j, name in enumerate(client.topics or ()):
            path_of.setdefault(name, ("clients", i, "topics", j))
    return tuple(SubscribedTopic(name, path) for name, path in path_of.items())


def check_subscriptions(entry: ConsumerGroupEntry, source_map: SourceMap) -> None:
    """Report topics that are listed twice or that no client subscribes to, and clients without topics.

    `source_map`: collects the mistakes, at the paths of the group.
    """
    clients = list(valid_entries(entry.clients))
    _report_duplicates(entry.topics or (), ("application", "topics"), source_map)
    for i, client in clients:
        _report_duplicates(client.topics or (), ("clients", i, "topics"), source_map)
        _check_partitions(client, entry, ("clients", i, "partitions"), source_map)
    _check_instance_ids(clients, source_map)
    if invalid_entries(entry.clients):
        return
    default = [client.name for _, client in clients if client.topics is None]
    if entry.topics is None and default and source_map.is_valid("application", "topics"):
        source_map.add_mistake(("application", "topics"), f"missing: client '{default[0]}' has no topics of its own")
    own = {name for _, client in clients for name in client.topics or ()}
    for i, name in enumerate(entry.topics or ()):
        if not default and name not in own:
            message = f"no client subscribes to {format_value(name)}, as all have topics of their own; remove it"
            source_map.add_mistake(("application", "topics", i), message)


def _report_duplicates(topics: Sequence[str], path: ScenarioPath, source_map: SourceMap) -> None:
    for i, name in enumerate(topics):
        if name in topics[:i]:
            source_map.add_mistake((*path, i), f"duplicate topic {format_value(name)}")


def _check_partitions(
    client: ConsumerClientEntry, entry: ConsumerGroupEntry, path: ScenarioPath, source_map: SourceMap
) -> None:
    """Report partitions that a client owns of topics to which it does not subscribe."""
    subscription = entry.topics if client.topics is None else client.topics
    for partition, at in _located(client, path):
        if subscription is not None and partition.topic not in subscription:
            topics = format_list("its topics", subscription)
            source_map.add_mistake(
                at, f"'{client.name}' does not subscribe to {format_value(partition.topic)} ({topics})"
            )


def _located(client: ConsumerClientEntry, path: ScenarioPath) -> Iterator[tuple[TopicPartition, ScenarioPath]]:
    entries: Sequence[TopicPartition | list[TopicPartition]] = client.partitions or ()
    for i, listed in enumerate(entries):
        if isinstance(listed, list):
            yield from ((partition, (*path, i, j)) for j, partition in enumerate(listed))
        else:
            yield listed, (*path, i)


def _check_instance_ids(clients: Sequence[tuple[int, ConsumerClientEntry]], source_map: SourceMap) -> None:
    """Report a `group.instance.id` of several members, which the coordinator fences."""
    holders: dict[str, str] = {}
    for i, client in clients:
        if client.instance_id is None:
            continue
        path: ScenarioPath = ("clients", i, "instance_id")
        if (client.count or 1) > 1 or client.consumers > 1:
            message = "several consumers cannot share a group.instance.id; set static_membership: true instead"
            source_map.add_mistake(path, message)
        if client.instance_id in holders:
            message = f"{format_value(client.instance_id)} is also that of '{holders[client.instance_id]}'"
            source_map.add_mistake(path, message)
        holders.setdefault(client.instance_id, client.name)


def with_consumer_properties(clients: ResolvedClients, entry: ConsumerGroupEntry) -> None:
    """Set what the consumers of each client have of their own: their subscription, ids and assignors.

    `clients`: the resolved clients of the group, which are changed.
    """
    topics = frozenset(topic.name for topic in subscribed_topics(entry))
    properties = {i: _properties(client, entry, topics) for i, client in valid_entries(entry.clients)}
    index_of: Mapping[str, int] = {name: int(path[1]) for name, path in clients.origins.items()}
    clients.plans = tuple(
        replace(plan, consumer=properties.get(index_of[plan.name], plan.consumer)) for plan in clients.plans
    )


def _properties(client: ConsumerClientEntry, entry: ConsumerGroupEntry, topics: frozenset[str]) -> ConsumerProperties:
    own = frozenset((entry.topics or ()) if client.topics is None else client.topics)
    configs = client.configs
    return ConsumerProperties(
        topics=None if own == topics else own,
        client_id=client.client_id,
        instance_id=client.instance_id,
        strategies=None if configs.strategies is None else tuple(configs.strategies),
        has_consumer_protocol=configs.group_protocol == "consumer",
        server_assignor=server_assignor_name(configs.remote_assignor),
    )
