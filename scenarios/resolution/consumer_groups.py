"""Consumer groups as applications: one subtopology for each topic, without stores, so that each task is a partition.

A group of `consumers` becomes a document of its own, whose paths are those of the group in the file. Its members may
differ in their topics and configs, also through rolling restarts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from assignors.consumer_groups import OfConsumerGroup
from assignors.consumers.selection import UNIFORM, select_assignor
from assignors.model.columns import ConsumerProperties
from assignors.model.ids import TopicPartition
from scenarios.events.event_entry import EventEntry, listed_events
from scenarios.events.rolling_bounce import RollingBouncePlan, RolloutConfigs
from scenarios.events.scenario_event import Releases
from scenarios.language.application_entries import ClientEntry, SubtopologyEntry, TimesEntry
from scenarios.language.client_configs import CLASSIC_ONLY, CONSUMER_ONLY, StreamsConfigs, server_assignor_name
from scenarios.language.consumer_entries import ConsumerClientEntry, ConsumerGroupEntry, ConsumerGroupSection
from scenarios.language.errors import Mistakes, did_you_mean, format_list, format_value
from scenarios.language.fields import InvalidEntry, config_keys, invalid_entries, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import FIRST_CONSUMER_RELEASE, NEWEST, parse_release
from scenarios.language.validation import OtherPaths, SourceMap
from scenarios.references import ResolvedClients
from scenarios.resolution.assignors import AssignorSpec
from scenarios.sampling.blueprint import MAX_CLIENTS, ClientBlueprint
from scenarios.sampling.event_sampling import PlannedEvent
from scenarios.schema import DEFAULT_ASSIGNOR, AssignorSettings, ScenarioDocument, ScenarioFileDocument
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
    for path, _, configs in _rollouts(document):
        for key in (_PROTOCOL, _REMOTE):
            if _is_set(configs, key):
                message = (
                    "Kafka does not convert the group of a Kafka Streams application while it runs; stop all clients, "
                    "and describe the application with its new group.protocol"
                )
                source_map.add_mistake((*path, key), message)
        if configs.strategies is not None:
            message = "Kafka Streams has an assignor of its own; only members of consumer groups list assignors"
            source_map.add_mistake((*path, _STRATEGY), message)


def check_rollouts_of_group(
    document: ScenarioDocument,
    clients: Sequence[ClientBlueprint],
    events: Sequence[PlannedEvent],
    specs: Sequence[AssignorSpec],
    releases: Releases,
    source_map: SourceMap,
) -> None:
    """Report configs that members refuse, and members that the coordinator rejects or cannot convert.

    Members without an assignor in common with the others are rejected. Clients that join later are not checked for
    that; a run in which they cannot join fails. `document`: the document of a consumer group; `releases`: the releases
    of brokers and clients in the course of the scenario.
    """
    _check_protocols(document, specs, releases, source_map)
    paths: dict[int, ScenarioPath] = {}
    for path, at_ms, configs in _rollouts(document):
        for key in sorted(config_keys(type(configs)) - _OF_CONSUMERS):
            if _is_set(configs, key):
                source_map.add_mistake((*path, key), "belongs to Kafka Streams; consumers have no such config")
        if configs.strategies is not None:
            paths[at_ms] = (*path, _STRATEGY)
    own: dict[str, ScenarioPath] = {}
    for i, entry in valid_entries(document.application.entry.clients):  # type: ignore[attr-defined]
        if entry.configs.strategies is not None:
            own.update(dict.fromkeys(_names(entry), ("clients", i, "configs", _STRATEGY)))
    listed = [*own.values(), *paths.values()]
    for spec in specs if listed else ():
        if spec.protocol is GroupProtocol.CONSUMER:
            message = f"members of the consumer protocol list no assignors, but {spec.label} has that protocol"
            source_map.add_mistake(listed[0], message)
        elif isinstance(spec.info.make, OfConsumerGroup):
            steps = _Steps(spec.info.make.strategies, own, paths)
            for path, message in steps.mistakes(clients, events):
                source_map.add_mistake(path, message)


def _check_protocols(
    document: ScenarioDocument, specs: Sequence[AssignorSpec], releases: Releases, source_map: SourceMap
) -> None:
    """Report group protocols of members that contradict their other configs, their release or the group."""
    entries = valid_entries(document.application.entry.clients)  # type: ignore[attr-defined]
    of_clients = [(("clients", i, "configs"), 0, entry.configs) for i, entry in entries]
    for path, at_ms, configs in (*of_clients, *_rollouts(document)):
        is_consumer = configs.group_protocol == GroupProtocol.CONSUMER.value
        if is_consumer and configs.strategies is not None:
            message = "consumers refuse to start with it if group.protocol is consumer; remove it"
            source_map.add_mistake((*path, _STRATEGY), message)
        if configs.remote_assignor is not None and not is_consumer:
            message = "applies to members of the consumer protocol only; set group.protocol: consumer beside it"
            source_map.add_mistake((*path, _REMOTE), message)
        then = releases.at(at_ms)
        brokers, own = then.brokers or NEWEST, then.clients or NEWEST
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

    `default`: the assignors that members list unless stated. `own`: where clients state lists, by name. `rollouts`:
    where rolling restarts state lists, by their time.
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


def _rollouts(document: ScenarioDocument) -> Iterator[tuple[ScenarioPath, int, RolloutConfigs]]:
    """Yield the configs that clients get by restarts, with their paths and times in ms."""
    for at_ms, path, event in listed_events(document.events):
        if isinstance(event.changed_configs, RolloutConfigs):
            yield (*path, "configs"), at_ms, event.changed_configs


def _is_set(configs: RolloutConfigs, key: str) -> bool:
    fields = type(configs).model_fields
    return any(fields[name].alias == key or name == key for name in configs.model_fields_set)


def subscribed_topics(entry: ConsumerGroupEntry) -> Mapping[str, ScenarioPath]:
    """Return where a group lists its topics, relative to the group: first those of the group, then those of clients."""
    path_of: dict[str, ScenarioPath] = {}
    for i, name in enumerate(entry.topics or ()):
        path_of.setdefault(name, ("topics", i))
    for i, client in valid_entries(entry.clients):
        for j, name in enumerate(client.topics or ()):
            path_of.setdefault(name, ("clients", i, "topics", j))
    return path_of


def check_subscriptions(entry: ConsumerGroupEntry, source_map: SourceMap) -> None:
    """Report topics that are listed twice or that no client subscribes to, and clients without topics."""
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
    """Set what the consumers of each client have of their own: their subscription, ids and assignors."""
    topics = frozenset(subscribed_topics(entry))
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


CONSUMERS: Final[ScenarioPath] = ("consumers",)


class GroupSourceMap(OtherPaths):
    """The source map of a file in which the paths of an application are the paths of one consumer group.

    `topics`: those of the group, whose numbers are those of the subtopologies, with their paths.
    """

    def __init__(
        self, file: SourceMap, path: ScenarioPath, topics: Mapping[str, ScenarioPath], mistakes: Mistakes
    ) -> None:
        super().__init__(file, mistakes)
        self._path = path
        self._topics = list(topics.values())

    def in_file(self, path: ScenarioPath) -> ScenarioPath:
        """Return the path in the file."""
        match path:
            case ("application", "id", *rest):
                return (*self._path, "group", *rest)
            case ("application", "subtopologies", int(number), *_):
                return (*self._path, *self._topics[number])
            case ("application", "subtopologies"):
                return (*self._path, "topics")
            case ("application", *rest):
                return (*self._path, *rest)
            case ("clients", int(number), "tasks", *rest):
                return (*self._path, "clients", number, "partitions", *rest[1:])
            case ("clients" | "assignors", *_):
                return (*self._path, *path)
        return path


@dataclass(frozen=True, slots=True)
class GroupDocument:
    """A consumer group of a file, as a document of its own.

    `path`: that of the group in the file; empty for the application.
    """

    document: ScenarioDocument
    source_map: SourceMap
    path: ScenarioPath = ()


def split_groups(
    file: ScenarioFileDocument, source_map: SourceMap, mistakes: Mistakes
) -> tuple[GroupDocument | None, list[GroupDocument]]:
    """Return the document that a file is about, None if it is invalid, and the documents of what runs beside it.

    Mistakes in how the parts of the file fit together are reported.
    """
    groups = dict(valid_entries(file.consumers or []))
    _check_parts(file, source_map)
    _check_names(file, list(groups.items()), source_map)
    subject = _subject(file, groups, source_map)
    router = _EventRouter(file, groups, subject, source_map)
    documents: dict[int | None, GroupDocument] = {}
    if file.application is not None and file.clients is not None:
        assignors = file.assignors or [AssignorSettings(assignor=DEFAULT_ASSIGNOR)]
        application = ScenarioDocument.of(file, file.application, file.clients, assignors)
        application = application.model_copy(update={"events": router.events_of(None)})
        documents[None] = GroupDocument(application, source_map)
    for number, entry in groups.items():
        path = (*CONSUMERS, number)
        group_map = GroupSourceMap(source_map, path, subscribed_topics(entry), mistakes)
        check_group(entry, file, group_map)
        documents[number] = GroupDocument(_group_document(file, entry, router.events_of(number)), group_map, path)
    own = documents.pop(subject, None)
    return own, list(documents.values())


def _subject(file: ScenarioFileDocument, groups: Mapping[int, ConsumerGroupEntry], source_map: SourceMap) -> int | None:
    """Return the number of the group that a file is about, None for the application."""
    has_application = file.application is not None or not source_map.is_valid("application")
    default = None if has_application else next(iter(groups), None)
    ids: dict[str, int | None] = {} if file.application is None else {file.application.id: None}
    ids.update({entry.group: number for number, entry in groups.items()})
    if file.subject is None or file.subject in ids:
        return default if file.subject is None else ids[file.subject]
    if all(source_map.is_valid(name) for name in ("application", "consumers")):
        hint = did_you_mean(file.subject, list(ids), "ids")
        source_map.add_mistake(
            ("subject",), f"unknown application.id or group.id {format_value(file.subject)} ({hint})"
        )
    return default


def _check_parts(file: ScenarioFileDocument, source_map: SourceMap) -> None:
    """Report parts of an application without the others."""
    if file.consumers is not None:
        has_application = file.application is not None or not source_map.is_valid("application")
        has_clients = file.clients is not None or not source_map.is_valid("clients")
        if has_application and not has_clients:
            source_map.add_mistake(("clients",), "missing")
        if has_clients and not has_application:
            source_map.add_mistake(
                ("clients",), "there is no application; list the clients of a group in consumers[].clients"
            )
        if file.assignors is not None and not has_application:
            source_map.add_mistake(
                ("assignors",), "there is no application; list the assignors of a group in consumers[].assignors"
            )


def _check_names(
    file: ScenarioFileDocument, groups: Sequence[tuple[int, ConsumerGroupEntry]], source_map: SourceMap
) -> None:
    """Report group ids that occur twice, and names of clients of several groups."""
    ids = {} if file.application is None else {file.application.id: "the application.id"}
    names = {name: "the application" for _, entry in valid_entries(file.clients or []) for name in _names(entry)}
    for number, entry in groups:
        path = (*CONSUMERS, number)
        if entry.group in ids:
            message = f"'{entry.group}' is also {ids[entry.group]}; groups on a cluster need different ids"
            source_map.add_mistake((*path, "group"), message)
        ids.setdefault(entry.group, f"the id of consumers[{number}]")
        own: dict[str, str] = {}
        for i, client in valid_entries(entry.clients):
            twice = next((name for name in _names(client) if name in names), None)
            if twice is not None:
                message = f"'{twice}' is also the name of a client of {names[twice]}"
                source_map.add_mistake((*path, "clients", i, "name"), message)
            own.update(dict.fromkeys(_names(client), f"group '{entry.group}'"))
        names.update(own)


def _names(entry: Any) -> Iterator[str]:
    """Yield the names of an entry of clients, and that of the entry; too many clients are reported later."""
    yield entry.name
    yield from (f"{entry.name}-{number}" for number in range(min(entry.count or 0, MAX_CLIENTS)))


def check_group(entry: ConsumerGroupEntry, file: ScenarioFileDocument, source_map: SourceMap) -> None:
    """Report configs and releases with which consumers refuse to start, or brokers reject them."""
    path: ScenarioPath = ("application", "configs")
    protocol = entry.configs.group_protocol
    for key in CONSUMER_ONLY if protocol == "classic" else CLASSIC_ONLY:
        field = next(name for name, field in type(entry.configs).model_fields.items() if field.alias == key)
        if field in entry.configs.model_fields_set:
            message = f"consumers refuse to start with it if group.protocol is {protocol}; remove it"
            source_map.add_mistake((*path, key), message)
    if entry.poll_interval >= entry.configs.max_poll_interval_ms:
        limit = f"max.poll.interval.ms ({entry.configs.max_poll_interval_ms} ms)"
        message = f"{entry.poll_interval} ms is not less than {limit}; the group would lose every member"
        source_map.add_mistake(("application", "poll_interval"), message)
    check_subscriptions(entry, source_map)
    clients = parse_release(entry.kafka or NEWEST)
    brokers = parse_release(file.cluster.kafka or NEWEST)
    if protocol == "consumer" and min(clients, brokers) < FIRST_CONSUMER_RELEASE:
        stated = f"kafka of the group: {entry.kafka or NEWEST}, cluster.kafka: {file.cluster.kafka or NEWEST}"
        message = f"Kafka has group.protocol: consumer from 4.0 on ({stated})"
        source_map.add_mistake((*path, "group.protocol"), message)


def _group_document(
    file: ScenarioFileDocument, entry: ConsumerGroupEntry, events: Sequence[EventEntry | InvalidEntry]
) -> ScenarioDocument:
    """Return a consumer group as the document of an application."""
    numbers = {name: number for number, name in enumerate(subscribed_topics(entry))}
    topics = [SubtopologyEntry.model_construct(id=number, sources=[name]) for name, number in numbers.items()]
    configs = entry.configs
    section = ConsumerGroupSection.model_construct(
        _fields_set={"id", "starts", "kafka", "configs", "subtopologies", "times"},
        id=entry.group,
        starts=entry.starts,
        kafka=entry.kafka,
        configs=StreamsConfigs.model_construct(
            _fields_set=configs.model_fields_set & StreamsConfigs.model_fields.keys(),
            session_timeout_ms=configs.session_timeout_ms,
            heartbeat_interval_ms=configs.heartbeat_interval_ms,
            metadata_max_age_ms=configs.metadata_max_age_ms,
            max_poll_interval_ms=configs.max_poll_interval_ms,
            group_protocol=configs.group_protocol,
        ),
        subtopologies=topics,
        times=TimesEntry(
            start=entry.starts_in, open_store=0, restore_start=0, rejoin=entry.poll_interval, uncertainty=1.0
        ),
        entry=entry,
    )
    clients: list[ClientEntry | InvalidEntry] = [
        client if isinstance(client, InvalidEntry) else client.to_client(numbers) for client in entry.clients
    ]
    document = ScenarioDocument.of(file, section, clients, entry.assignors or [])
    return document.model_copy(update={"events": list(events)})


class _EventRouter:
    """Gives each event to the application or the consumer group whose clients it names."""

    def __init__(
        self,
        file: ScenarioFileDocument,
        groups: Mapping[int, ConsumerGroupEntry],
        subject: int | None,
        source_map: SourceMap,
    ) -> None:
        self._file = file
        self._subject = subject
        self._group_of: dict[str, int | None] = {
            name: None for _, entry in valid_entries(file.clients or []) for name in _names(entry)
        }
        for number, group in groups.items():
            own = {name: number for _, entry in valid_entries(group.clients) for name in _names(entry)}
            self._group_of.update(own)
        is_complete = not any(isinstance(entry, InvalidEntry) for group in groups.values() for entry in group.clients)
        self._places = [self._place(i, entry, source_map, is_complete) for i, entry in enumerate(file.events)]

    def events_of(self, group: int | None) -> list[EventEntry | InvalidEntry]:
        """Return the events of a group, or of the application, at their positions in the file.

        Events of brokers, racks and replicas are those of the document that the file is about, as for neighbors.
        """
        return [
            entry if group in places else InvalidEntry(None)
            for places, entry in zip(self._places, self._file.events, strict=True)
        ]

    def _place(
        self, number: int, entry: EventEntry | InvalidEntry, source_map: SourceMap, is_complete: bool
    ) -> set[int | None]:
        main = self._subject
        everywhere: set[int | None] = {main, *self._group_of.values()}
        if isinstance(entry, InvalidEntry):
            return everywhere
        if len(entry.events) != 1:
            return {main}
        [(kind, event)] = entry.events
        path = ("events", number, kind)
        if event.is_of_all:
            return everywhere
        clients = event.listed_clients
        owners = {self._group_of[name] for name in clients if name in self._group_of}
        if clients and not owners and len(everywhere) > 1 and is_complete:
            hint = did_you_mean(clients[0], list(self._group_of), "clients")
            source_map.add_mistake((*path, "clients"), f"unknown client {format_value(clients[0])} ({hint})")
            return set()
        if len(owners) > 1:
            names = format_list("clients", clients)
            source_map.add_mistake((*path, "clients"), f"{names} are of several groups; use one event for each group")
            return set()
        places: set[int | None] = owners or {main}
        if event.is_of_streams and places != {None}:
            source_map.add_mistake(path, "applies to applications of Kafka Streams only, not to consumer groups")
            return set()
        return places
