"""Consumer groups as applications: one subtopology for each topic, without stores, so that each task is a partition.

A group of `consumers` becomes a document of its own, whose paths are those of the group in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scenarios.language.application_entries import ClientEntry, SubtopologyEntry, TimesEntry
from scenarios.language.consumer_configs import CLASSIC_ONLY, CONSUMER_ONLY
from scenarios.language.consumer_entries import ConsumerGroupEntry, ConsumerGroupSection
from scenarios.language.errors import Mistakes, did_you_mean, format_list, format_value
from scenarios.language.event_entries import EVENT_KINDS, EventEntry
from scenarios.language.fields import InvalidEntry, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import FIRST_CONSUMER_RELEASE, NEWEST, parse_release
from scenarios.language.streams_configs import StreamsConfigs
from scenarios.language.validation import OtherPaths, SourceMap
from scenarios.resolution.subscriptions import SubscribedTopic, check_subscriptions, subscribed_topics
from scenarios.sampling.blueprint import MAX_CLIENTS
from scenarios.schema import DEFAULT_ASSIGNOR, AssignorSettings, ScenarioDocument, ScenarioFileDocument

CONSUMERS: Final[ScenarioPath] = ("consumers",)

_ONLY_STREAMS: Final = ("config_change", "replace_thread", "stream_threads")
"""Events that only applications of Kafka Streams have."""

_OF_ALL: Final = ("traffic",)
"""Events that concern the application and all groups."""


class GroupSourceMap(OtherPaths):
    """The source map of a file in which the paths of an application are the paths of one consumer group.

    `topics`: the topics of the group, whose numbers are those of the subtopologies.
    """

    def __init__(
        self, file: SourceMap, path: ScenarioPath, topics: Sequence[SubscribedTopic], mistakes: Mistakes
    ) -> None:
        super().__init__(file, mistakes)
        self._path = path
        self._topics = topics

    def in_file(self, path: ScenarioPath) -> ScenarioPath:
        """Return the path in the file."""
        match path:
            case ("application", "id", *rest):
                return (*self._path, "group", *rest)
            case ("application", "subtopologies", int(number), *_):
                return (*self._path, *self._topics[number].path)
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

    Attributes:
        source_map: the source map of the file, with the paths of the group.
        path: the path of the group in the file; that of the application is empty.
    """

    document: ScenarioDocument
    source_map: SourceMap
    path: ScenarioPath = ()


def split_groups(
    file: ScenarioFileDocument, source_map: SourceMap, mistakes: Mistakes
) -> tuple[GroupDocument | None, list[GroupDocument]]:
    """Return the document that a file is about, and the documents of what runs beside it.

    `source_map`: its source map, which collects the mistakes in how its parts fit together. Returns the subject, None
    if it is invalid; then the others, in the order of the file.
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
    numbers = {topic.name: number for number, topic in enumerate(subscribed_topics(entry))}
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
        kinds = [kind for kind in EVENT_KINDS if getattr(entry, kind) is not None]
        if len(kinds) != 1:
            return {main}
        kind, event = kinds[0], getattr(entry, kinds[0])
        path = ("events", number, kind)
        if kind in _OF_ALL:
            return everywhere
        clients = getattr(event, "clients", None)
        owners = {self._group_of[name] for name in clients or () if name in self._group_of}
        if clients and not owners and len(everywhere) > 1 and is_complete:
            hint = did_you_mean(clients[0], list(self._group_of), "clients")
            source_map.add_mistake((*path, "clients"), f"unknown client {format_value(clients[0])} ({hint})")
            return set()
        if len(owners) > 1:
            names = format_list("clients", clients or ())
            source_map.add_mistake((*path, "clients"), f"{names} are of several groups; use one event for each group")
            return set()
        places: set[int | None] = owners or {main}
        if kind in _ONLY_STREAMS and places != {None}:
            source_map.add_mistake(path, "applies to applications of Kafka Streams only, not to consumer groups")
            return set()
        return places
