"""Check rolling restarts with other configs, and configs in which members of a consumer group differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assignors.consumer_groups import OfConsumerGroup
from assignors.consumers.selection import UNIFORM, select_assignor
from scenarios.language.consumer_entries import ConsumerGroupEntry
from scenarios.language.event_entries import RollingBounceEvent
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import FIRST_CONSUMER_RELEASE, NEWEST, parse_release
from scenarios.language.section import config_keys
from scenarios.language.validation import SourceMap
from scenarios.resolution.assignors import AssignorSpec
from scenarios.resolution.upgrades import Releases
from scenarios.sampling.blueprint import MAX_CLIENTS, ClientBlueprint
from scenarios.sampling.event_plans import PlannedEvent, RollingBouncePlan
from scenarios.schema import ScenarioDocument
from simulator.world.group_configs import GroupProtocol

_STRATEGY: Final = "partition.assignment.strategy"
_PROTOCOL: Final = "group.protocol"
_REMOTE: Final = "group.remote.assignor"
_OF_CONSUMERS: Final = frozenset({_STRATEGY, _PROTOCOL, _REMOTE})
_Lists = dict[str, tuple[str, ...] | None]
"""The assignors that the consumers of each client list; None for those of the group."""


def rolled_out(events: Sequence[PlannedEvent], default: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the lists of assignors that rolling restarts give to members, in order of time.

    The list of members that get the consumer protocol is the assignor of the coordinator. `default`: the list of
    members that go back to the classic protocol, unless stated.
    """
    plans = [event for event in events if isinstance(event, RollingBouncePlan)]
    plans.sort(key=lambda plan: plan.at_ms)
    updates = [plan.consumer for plan in plans if plan.consumer is not None]
    return tuple(
        (update.server_assignor or UNIFORM,) if update.has_consumer_protocol else update.strategies or tuple(default)
        for update in updates
    )


def first_assignor(entry: ConsumerGroupEntry, clients: Sequence[ClientBlueprint]) -> str:
    """Return the assignor of a classic group at the start; of members without a common one, the group's first one."""
    default = tuple(entry.configs.strategies)
    plans = [plan for plan in clients if plan.starts and not plan.consumer.has_consumer_protocol]
    lists = [plan.consumer.strategies or default for plan in plans for _ in range(plan.threads)]
    return (select_assignor(lists) if lists else None) or default[0]


def check_rollouts_of_application(document: ScenarioDocument, source_map: SourceMap) -> None:
    """Report configs of consumers that rolling restarts give to Kafka Streams."""
    for path, event in _bounces(document):
        for key in (_PROTOCOL, _REMOTE):
            if _is_set(event, key):
                message = (
                    "Kafka does not convert the group of a Kafka Streams application while it runs; stop all clients, "
                    "and describe the application with its new group.protocol"
                )
                source_map.add_mistake((*path, key), message)
        if event.configs.strategies is not None:
            message = "Kafka Streams has an assignor of its own; only members of consumer groups list assignors"
            source_map.add_mistake((*path, _STRATEGY), message)


def check_rollouts_of_group(
    document: ScenarioDocument,
    clients: Sequence[ClientBlueprint],
    events: Sequence[PlannedEvent],
    specs: Sequence[AssignorSpec],
    releases: Releases,
) -> None:
    """Report configs that members refuse, and members that the coordinator rejects or cannot convert.

    Members without an assignor in common with the others are rejected. Clients that join later are not checked for
    that; a run in which they cannot join fails. `document`: the document of a consumer group; `releases`: the releases
    of brokers and clients in the course of the scenario.
    """
    source_map = releases.source_map
    _check_protocols(document, specs, releases)
    paths: dict[int, ScenarioPath] = {}
    for path, event in _bounces(document):
        for key in sorted(config_keys(type(event.configs)) - _OF_CONSUMERS):
            if _is_set(event, key):
                source_map.add_mistake((*path, key), "belongs to Kafka Streams; consumers have no such config")
        if event.configs.strategies is not None:
            paths[_at_ms(document, path)] = (*path, _STRATEGY)
    own: dict[str, ScenarioPath] = {}
    for i, entry in valid_entries(document.application.entry.clients):  # type: ignore[attr-defined]
        if entry.configs.strategies is not None:
            numbers = range(min(entry.count or 0, MAX_CLIENTS))
            names = [entry.name, *(f"{entry.name}-{number}" for number in numbers)]
            own.update(dict.fromkeys(names, ("clients", i, "configs", _STRATEGY)))
    listed = [*own.values(), *paths.values()]
    for spec in specs if listed else ():
        if spec.protocol is GroupProtocol.CONSUMER:
            message = f"members of the consumer protocol list no assignors, but {spec.label} has that protocol"
            source_map.add_mistake(listed[0], message)
        elif isinstance(spec.info.make, OfConsumerGroup):
            steps = _Steps(spec.info.make.strategies, own, paths)
            for path, message in steps.mistakes(clients, events):
                source_map.add_mistake(path, message)


def _check_protocols(document: ScenarioDocument, specs: Sequence[AssignorSpec], releases: Releases) -> None:
    """Report group protocols of members that contradict their other configs, their release or the group."""
    source_map = releases.source_map
    entries = valid_entries(document.application.entry.clients)  # type: ignore[attr-defined]
    of_clients = [(("clients", i, "configs"), 0, entry.configs) for i, entry in entries]
    of_bounces = [(path, _at_ms(document, path), event.configs) for path, event in _bounces(document)]
    for path, at_ms, configs in (*of_clients, *of_bounces):
        is_consumer = configs.group_protocol == GroupProtocol.CONSUMER.value
        if is_consumer and configs.strategies is not None:
            message = "consumers refuse to start with it if group.protocol is consumer; remove it"
            source_map.add_mistake((*path, _STRATEGY), message)
        if configs.remote_assignor is not None and not is_consumer:
            message = "applies to members of the consumer protocol only; set group.protocol: consumer beside it"
            source_map.add_mistake((*path, _REMOTE), message)
        brokers, own = (release or NEWEST for release in releases.at(at_ms))
        if is_consumer and min(map(parse_release, (brokers, own))) < FIRST_CONSUMER_RELEASE:
            message = (
                f"Kafka has group.protocol: consumer from 4.0 on (at this time, brokers have {brokers} and consumers "
                f"{own}); upgrade them before"
            )
            source_map.add_mistake((*path, _PROTOCOL), message)
        by_coordinator = next((spec for spec in specs if spec.protocol is GroupProtocol.CONSUMER), None)
        if configs.group_protocol == GroupProtocol.CLASSIC.value and by_coordinator is not None:
            message = (
                f"{by_coordinator.label} has the consumer protocol from the start; members can differ only in a group "
                "with group.protocol: classic, in which clients[].configs may have group.protocol: consumer"
            )
            source_map.add_mistake((*path, _PROTOCOL), message)


@dataclass(frozen=True, slots=True)
class _Steps:
    """The lists of a group's members over time.

    Attributes:
        default: the assignors that members list unless stated.
        own: where clients state lists, by name.
        rollouts: where rolling restarts state lists, by their time.
    """

    default: tuple[str, ...]
    own: Mapping[str, ScenarioPath]
    rollouts: Mapping[int, ScenarioPath]

    def mistakes(
        self, clients: Sequence[ClientBlueprint], events: Sequence[PlannedEvent]
    ) -> Iterator[tuple[ScenarioPath, str]]:
        """Yield the first member that the others would reject, at the start and in each rolling restart."""
        lists: _Lists = {}
        for plan in clients:
            if not plan.starts or plan.consumer.has_consumer_protocol:
                continue
            lists[plan.name] = plan.consumer.strategies
            if (message := self._rejection(plan.name, lists)) is not None:
                stated = next((name for name in (plan.name, *lists) if name in self.own), None)
                if stated is not None:
                    yield self.own[stated], message
                    return
        for event in sorted(events, key=lambda event: event.at_ms):
            if not isinstance(event, RollingBouncePlan) or event.consumer is None:
                continue
            for client in event.clients:
                if event.consumer.has_consumer_protocol:
                    lists.pop(client, None)  # The coordinator assigns while a member has this protocol.
                    continue
                lists[client] = event.consumer.strategies or lists.get(client)
                if (message := self._rejection(client, lists)) is not None:
                    yield self._stated(event.at_ms), message
                    return

    def _stated(self, at_ms: int) -> ScenarioPath:
        """Return where the list of a rolling restart is stated, whose event may be repeated."""
        return self.rollouts[max(first_ms for first_ms in self.rollouts if first_ms <= at_ms)]

    def _rejection(self, client: str, lists: _Lists) -> str | None:
        names = {name: self.default if listed is None else listed for name, listed in lists.items()}
        if select_assignor(list(dict.fromkeys(names.values()))) is not None:
            return None
        other = next(
            (name for name, listed in names.items() if not set(listed).intersection(names[client])),
            next(name for name in names if name != client),
        )
        return (
            f"'{client}' lists {', '.join(names[client])} and '{other}' {', '.join(names[other])}: without an assignor "
            "in common, the coordinator rejects the member (InconsistentGroupProtocolException); restart twice, with "
            "both assignors after the first time"
        )


def _bounces(document: ScenarioDocument) -> Iterator[tuple[ScenarioPath, RollingBounceEvent]]:
    """Yield the configs of rolling restarts, with their path."""
    for i, event in valid_entries(document.events):
        if event.rolling_bounce is not None:
            yield ("events", i, "rolling_bounce", "configs"), event.rolling_bounce


def _at_ms(document: ScenarioDocument, path: ScenarioPath) -> int:
    [event] = [event for i, event in valid_entries(document.events) if i == path[1]]
    return int(event.at)


def _is_set(event: RollingBounceEvent, key: str) -> bool:
    fields = type(event.configs).model_fields
    return any(fields[name].alias == key or name == key for name in event.configs.model_fields_set)
