"""The observed state of a cluster, and of a Kafka Streams application or a consumer group on it, and what followed it.

`live` (Kafka's Admin API) and `dumps` (saved tool output) create an `Observation`; `scenario_writer` writes a scenario
from it. A watch polls a `GroupSnapshot`, which exists in every state of the group, an `Observation` only of a stable
one. Task ids are in Kafka's text form (`0_3`, `name__0_3`); a task of a consumer group is a partition (`orders-3`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeVar

from assignors.model.consumer_group import NO_GENERATION
from assignors.model.ids import TaskId, TopicId, TopicPartition
from scenarios.language.errors import format_list


class GroupKind(StrEnum):
    """What the members of a group are.

    Attributes:
        APPLICATION: stream threads of a Kafka Streams application.
        CONSUMERS: other consumers.
    """

    APPLICATION = "application"
    CONSUMERS = "consumers"


class GroupPhase(StrEnum):
    """The phase of a group, of either protocol.

    Attributes:
        STABLE: every member has its assignment.
        REBALANCING: members join, the assignment is computed, or members do not have their target yet.
        EMPTY: the group has no members.
        GONE: the group does not exist.
    """

    STABLE = "stable"
    REBALANCING = "rebalancing"
    EMPTY = "empty"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class SnapshotMember:
    """A member: a stream thread, or a consumer.

    Attributes:
        client_id: Client id of its process; of a consumer a distinct name, since many consumers have the default one.
        process_id: UUID of its process. Kafka does not expose which consumers share a process: each counts as one, with
            its `group.instance.id` or else its member id.
        instance_id: `group.instance.id`; None for a dynamic member.
        active: Active tasks, sorted.
        standby: Standbys and warm-ups, sorted.
        target_active: Active tasks of its target, sorted; those of a classic group are its active tasks.
        target_standby: Standbys and warm-ups of its target, sorted.
        owned: Partitions that a member of a classic group owned when it joined the last rebalance, as its assignor
            reads them; of a consumer under the consumer protocol its target, in the coordinator's order.
        offset_sums: Offset sums by task that it reported: -2 for a task that was active.
        joined: Changes with each rebalance that the member joins.
        topics: Topics to which a consumer subscribes, in the order in which it lists them.
        pattern: Pattern to which a consumer of the consumer protocol subscribes; None without one.
        generation: Generation of `owned` that a consumer of a classic group reports.
        user_data_generation: The same in what a sticky assignor adds; None if it adds none.
    """

    id: str
    client_id: str
    process_id: str
    rack: str | None
    tags: Mapping[str, str]
    instance_id: str | None
    active: tuple[str, ...]
    standby: tuple[str, ...]
    target_active: tuple[str, ...]
    target_standby: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    offset_sums: Mapping[str, int] = field(default_factory=dict)
    joined: str = ""
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    generation: int = NO_GENERATION
    user_data_generation: int | None = None


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """The progress of a task in its source partitions.

    Attributes:
        committed: Sum of the committed offsets.
        end: Sum of the log end offsets, of the partitions with a committed offset.
    """

    committed: int
    end: int


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """A group at one moment.

    Attributes:
        at_ms: Time since 1970.
        group: `application.id`, or `group.id` of a consumer group.
        protocol: `classic`, `streams`, or `consumer` (KIP-848).
        state: Kafka's name of the state, such as `PreparingRebalance`.
        epoch: Number of the last assignment: the assignment epoch if the coordinator assigns, and the generation of a
            classic group if its members report it; None if unknown.
        members: Members, in the order in which the coordinator lists them; empty while a classic group rebalances,
            since its coordinator then returns no metadata.
        member_ids: Ids of all members, sorted, in every phase.
        next_rebalance_at_ms: Time at which a member must rejoin, since 1970; 0 at once, None if no member must.
        error_code: Largest error code that the leader sent instead of an assignment; 0 for none.
        changelog_ends: Sum of the end offsets of the changelogs of each stateful task.
        progress: Progress by task; none of tasks without committed offsets.
        offsets_error: Why offsets could not be read; None if they were, or were not requested.
        kind: What the members are; None if the state does not show it, as while a classic group rebalances.
    """

    at_ms: int
    group: str
    protocol: str
    state: str
    phase: GroupPhase
    epoch: int | None = None
    members: tuple[SnapshotMember, ...] = ()
    member_ids: tuple[str, ...] = ()
    next_rebalance_at_ms: int | None = None
    error_code: int = 0
    changelog_ends: Mapping[str, int] = field(default_factory=dict)
    progress: Mapping[str, TaskProgress] = field(default_factory=dict)
    offsets_error: str | None = None
    kind: GroupKind | None = None

    @property
    def is_coordinated(self) -> bool:
        """Return whether the coordinator assigns; it then lists members, assignments and targets in every state."""
        return self.protocol != "classic"

    @property
    def has_outdated_target(self) -> bool:
        """Return whether the group has changed since its coordinator computed the target."""
        return self.is_coordinated and self.state == "Assigning"

    @property
    def rebalance(self) -> tuple[object, ...]:
        """Return what is different after each rebalance, and equal between two.

        A static consumer that returns replaces what it reported without a rebalance, and without a new generation.
        """
        has_generation = self.kind is GroupKind.CONSUMERS and self.epoch is not None
        if self.is_coordinated or has_generation:
            return (self.epoch,)
        return (self.epoch, tuple(sorted((member.id, member.joined) for member in self.members)))

    def clients(self) -> dict[str, str]:
        """Return the client id of each process, by process id."""
        return {member.process_id: member.client_id for member in sorted(self.members, key=lambda member: member.id)}

    def actives(self) -> dict[str, str]:
        """Return the process of each active task."""
        return {task: member.process_id for member in self.members for task in member.active}

    def target_actives(self) -> dict[str, str]:
        """Return the process of each active task of the target."""
        return {task: member.process_id for member in self.members for task in member.target_active}


class ObservationError(ValueError):
    """Required information could not be observed; the message says what is missing and how to provide it."""


BROKER_CONFIGS_NOT_VISIBLE: Final = (
    "Broker configs are not visible (they require DescribeConfigs on the cluster): Kafka's defaults are assumed."
)
"""Assumption of an observation without broker configs."""


@dataclass(frozen=True, slots=True)
class ObservedBroker:
    """A broker. `rack`: `broker.rack`; None if it has none."""

    id: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class ObservedTopic:
    """A topic; tuples have one entry per partition, None if not observed.

    Attributes:
        replicas: Broker ids of each partition, the preferred leader first.
        leaders: Leading broker, -1 if none.
        size_bytes: Size of one replica on disk.
        start_offsets: First offset whose record still occupies disk space; consumers may no longer be able to read it.
        records_per_s: Growth of the end offset.
        topic_id: Topic id; None if not observed.
        configs: Configs of the topic, among them those of its brokers; Kafka's defaults may be missing. None if not
            observed.
    """

    name: str
    replicas: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    size_bytes: tuple[int, ...] | None = None
    start_offsets: tuple[int, ...] | None = None
    end_offsets: tuple[int, ...] | None = None
    records_per_s: tuple[float, ...] | None = None
    topic_id: TopicId | None = None
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ObservedThread:
    """A stream thread (a group member).

    Attributes:
        active: Active tasks, sorted.
        standby: Standby tasks, sorted.
    """

    member_id: str
    active: tuple[str, ...]
    standby: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObservedProcess:
    """A Kafka Streams process.

    Attributes:
        client_id: Client id that its threads share.
        rack: Rack; None if it has none, or none is known.
        threads: Threads, by member id.
        offset_sums: Offset sum of each task with a local copy (active, standby or dormant), as the process reported it
            in its last subscription; -2 (`Task.LATEST_OFFSET`) for a task that was active there. In a stable group,
            standbys are at the end offset, because they have caught up since. None if not observed.
        is_static: Whether it has a `group.instance.id`.
        announces_rack: Whether its rack is its `client.rack`, so that Kafka knows it.
    """

    process_id: str
    client_id: str
    rack: str | None
    tags: Mapping[str, str]
    threads: tuple[ObservedThread, ...]
    offset_sums: Mapping[str, int] | None = None
    is_static: bool = False
    announces_rack: bool = True


@dataclass(frozen=True, slots=True)
class ObservedSubtopology:
    """A subtopology; topics by their full names.

    Attributes:
        id: Number of the subtopology, the first part of its task ids.
        sources: Topics it reads, including repartition topics.
        changelogs: Changelog topic of each logged store, by store name.
        unlogged_stores: Stores without a changelog.
        writes: Topics it writes, except changelogs and topics chosen per record.
    """

    id: int
    sources: tuple[str, ...]
    changelogs: Mapping[str, str] = field(default_factory=dict)
    unlogged_stores: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that it reads and writes."""
        return (*self.sources, *self.changelogs.values(), *self.writes)


@dataclass(frozen=True, slots=True)
class ObservedConsumer:
    """A member of a consumer group that is no application of Kafka Streams.

    Attributes:
        host: Host of the client, as the coordinator sees it.
        instance_id: `group.instance.id`; None for a dynamic member.
        rack: Rack; None if it has none, or none is known.
        topics: Topics to which it subscribes, sorted.
        partitions: Partitions that it owns, sorted.
        announces_rack: Whether its rack is its `client.rack`, so that Kafka knows it.
    """

    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    rack: str | None
    topics: tuple[str, ...]
    partitions: tuple[TopicPartition, ...]
    announces_rack: bool = True


@dataclass(frozen=True, slots=True)
class ObservedConsumers:
    """The members of a consumer group.

    Attributes:
        assignor: Name of the assignor that Kafka reports, such as `range`: of the client under the classic protocol, of
            the group coordinator under the consumer protocol.
    """

    assignor: str
    members: tuple[ObservedConsumer, ...]


@dataclass(frozen=True, slots=True)
class ClientRates:
    """Rates of a process from its own metrics; None if not measured.

    Attributes:
        restore_bytes_per_s: Restoration rate of all its tasks.
        records_per_s: Records per second that a thread can process.
        assumed: Names of the fields above that are the median of the other processes.
    """

    restore_bytes_per_s: int | None = None
    records_per_s: int | None = None
    assumed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Observation:
    """A cluster and an application, or a consumer group, at one point in time.

    Attributes:
        source: Where and when it was observed, for the scenario's header; without passwords and parent folders.
        topics: Topics that the application reads and writes, by name; all topics on request.
        application_id: `application.id`, or `group.id` of a consumer group.
        protocol: `classic`, `streams`, or `consumer` (KIP-848).
        subtopologies: Subtopologies, by id; none of a consumer group.
        processes: Processes, by process id; empty if the application is not running, and of a consumer group.
        configs: Configs of the application that were observed or given, by Kafka's keys.
        broker_configs: Configs of the brokers, by Kafka's keys.
        listed_members: Member ids of a streams group in the order in which its coordinator lists them, which breaks
            ties in its assignments; empty for other groups.
        next_rebalance_ms: Time until the next probing rebalance; None if none is scheduled.
        broker_release: Kafka release of the brokers, such as `4.3` or `4.4 or later`, if they assign the tasks; None if
            it is unknown, and for a classic group.
        client_release: Kafka release of the application's clients, such as `4.3`; None if unknown.
        client_rates: Rates of processes with client metrics, by process id.
        measurements: Sentences on what client metrics showed, for the scenario's header.
        assumptions: Sentences on what was not observed and what was assumed instead, for the scenario's header.
        consumers: Members of a consumer group; None of an application of Kafka Streams.
    """

    source: str
    brokers: tuple[ObservedBroker, ...]
    topics: tuple[ObservedTopic, ...]
    application_id: str
    protocol: str
    subtopologies: tuple[ObservedSubtopology, ...]
    processes: tuple[ObservedProcess, ...]
    configs: Mapping[str, str] = field(default_factory=dict)
    broker_configs: Mapping[str, str] = field(default_factory=dict)
    listed_members: tuple[str, ...] = ()
    next_rebalance_ms: int | None = None
    broker_release: str | None = None
    client_release: str | None = None
    client_rates: Mapping[str, ClientRates] = field(default_factory=dict)
    measurements: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    consumers: ObservedConsumers | None = None

    def process_by_member(self) -> dict[str, str]:
        """Return the process id of each member of a streams group, in the order in which its coordinator lists them."""
        process_of = {thread.member_id: process.process_id for process in self.processes for thread in process.threads}
        return {member_id: process_of[member_id] for member_id in self.listed_members}


def parse_task_id(task: str) -> TaskId:
    """Parse a task id.

    Raises ObservationError if the text is not a task id, or belongs to a named topology, which cannot be simulated.
    """
    try:
        return TaskId.parse(task)
    except ValueError as error:
        raise ObservationError(f"{error}; tasks of named topologies cannot be simulated") from None


def sort_tasks(tasks: Iterable[str]) -> tuple[str, ...]:
    """Return distinct tasks in Kafka's order, `2_0` before `10_0`."""
    return tuple(map(str, sorted(set(map(parse_task_id, tasks)))))


_MAX_LENGTH = 100
_UUID_DIGITS = 8


def client_names(processes: Sequence[ObservedProcess]) -> Mapping[str, str]:
    """Return a distinct name for each process, by process id.

    A name is the client id; a process id at its end, as by default, is shortened to its first digits. Names that would
    be equal are numbered.
    """
    names = [_base_name(process) for process in processes]
    return numbered_names([process.process_id for process in processes], names)


def numbered_names(ids: Sequence[str], names: Sequence[str]) -> Mapping[str, str]:
    """Return a distinct name for each id: names that would be equal are numbered."""
    counts, used = Counter(names), Counter[str]()
    name_of: dict[str, str] = {}
    for id, name in zip(ids, names, strict=True):
        used[name] += 1
        name_of[id] = f"{name}-{used[name]}" if counts[name] > 1 else name
    return name_of


def _base_name(process: ObservedProcess) -> str:
    client_id, process_id = process.client_id.strip(), process.process_id
    if client_id.endswith(process_id):
        client_id = client_id[: len(client_id) - len(process_id) + _UUID_DIGITS]
    return client_id[:_MAX_LENGTH] if client_id and client_id.isprintable() else process_id[:_UUID_DIGITS]


@dataclass(frozen=True, slots=True)
class MembershipChange:
    """Processes, or consumers, that joined or left between two rebalances.

    Attributes:
        at_ms: Time since the start of the history.
        kind: Whether the processes joined, left, or crashed and returned.
        process_ids: Process ids, sorted; member ids of consumers.
        leaves_group: Whether processes that stopped left the group, so that it did not wait for their session timeout.
        down_ms: Time until processes that crashed returned.
    """

    at_ms: int
    kind: Literal["join", "leave", "crash"]
    process_ids: tuple[str, ...]
    leaves_group: bool = False
    down_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ObservedRebalance:
    """The assignment of one rebalance.

    Attributes:
        number: Number of the rebalance; 0 is the initial assignment of the history.
        at_ms: Time since the start of the history.
        active: Process id of each task's active copy.
        standby: Process ids of each task's standby copies, sorted; tasks without standbys are omitted.
        is_stable: Whether no follow-up rebalance was requested; None if not logged.
    """

    number: int
    at_ms: int
    active: dict[str, str]
    standby: dict[str, tuple[str, ...]]
    is_stable: bool | None


@dataclass(frozen=True, slots=True)
class RebalanceHistory:
    """Successive rebalances of one group.

    Attributes:
        newcomers: Processes that were not members at the start.
        changes: Membership changes, by time.
        rebalances: Rebalances by time, including the initial assignment.
    """

    newcomers: tuple[ObservedProcess, ...]
    changes: tuple[MembershipChange, ...]
    rebalances: tuple[ObservedRebalance, ...]


@dataclass(frozen=True, slots=True)
class ConsumerHistory:
    """What followed the observed state of a consumer group.

    Attributes:
        newcomers: Consumers that were not members at the start.
        names: Distinct client name of each consumer, by member id.
        changes: Membership changes, by time; consumers that close leave the group unless they are static.
        last_ms: Time of the last rebalance since the start.
    """

    newcomers: tuple[ObservedConsumer, ...]
    names: Mapping[str, str]
    changes: tuple[MembershipChange, ...]
    last_ms: int


Client = TypeVar("Client", ObservedProcess, ObservedConsumer)

StatedRacks = Sequence[tuple[str, str | None]]
"""Patterns (`*` and `?`) with a rack, or None for no rack; the first match applies.

They match client ids and process ids; of a consumer also its host, its instance id and its member id.
"""


def matching_racks(client: ObservedProcess | ObservedConsumer, racks: StatedRacks) -> list[str | None]:
    """Return the racks of all patterns that match a client, in the order of the patterns."""
    return [rack for pattern, rack in racks if _matches(client, pattern)]


def check_stated_racks(
    observation: Observation, racks: StatedRacks, newcomers: Sequence[ObservedProcess | ObservedConsumer] = ()
) -> None:
    """Reject patterns that match no client of an observed group.

    `newcomers`: clients that join later. Raises ObservationError if a pattern matches no client; the message names the
    clients.
    """
    members = observation.consumers.members if observation.consumers is not None else ()
    clients = (*observation.processes, *members, *newcomers)
    for pattern, rack in racks if clients else ():
        if not any(_matches(client, pattern) for client in clients):
            listed = format_list("clients", sorted(set(map(_name, clients))))
            raise ObservationError(f"--rack '{pattern}={rack or ''}': no client matches '{pattern}' ({listed})")


def with_stated_racks(clients: Sequence[Client], racks: StatedRacks) -> tuple[tuple[Client, ...], list[str]]:
    """Set the racks of clients that report none; Kafka does not know these racks.

    Returns the clients, and sentences on racks that were not reported or are ignored.
    """
    located: list[Client] = []
    unreported: list[str] = []
    contradicted: list[str] = []
    for client in clients:
        rack = next(iter(matching_racks(client, racks)), None)
        if rack is None or rack == client.rack:
            located.append(client)
        elif client.rack is not None:
            located.append(client)
            contradicted.append(f"{_name(client)} ({client.rack})")
        else:
            located.append(replace(client, rack=rack, announces_rack=False))
            unreported.append(_name(client))
    return tuple(located), _sentences(unreported, contradicted)


def _sentences(unreported: Sequence[str], contradicted: Sequence[str]) -> list[str]:
    sentences = []
    if unreported:
        sentences.append(
            "Clients without client.rack are in the racks given with --rack, which Kafka does not know (client_rack: "
            f"false): {', '.join(dict.fromkeys(unreported))}."
        )
    if contradicted:
        names = ", ".join(dict.fromkeys(contradicted))
        sentences.append(f"--rack is ignored for clients that report client.rack: {names}.")
    return sentences


def _name(client: ObservedProcess | ObservedConsumer) -> str:
    return client.client_id if isinstance(client, ObservedProcess) else client.instance_id or client.client_id


def _matches(client: ObservedProcess | ObservedConsumer, pattern: str) -> bool:
    if isinstance(client, ObservedProcess):
        ids = [client.client_id, client.process_id]
    else:
        ids = [client.client_id, client.host, client.instance_id or "", client.member_id]
    return any(fnmatchcase(text, pattern) for text in ids)
