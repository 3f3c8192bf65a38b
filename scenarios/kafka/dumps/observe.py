"""Observation of an application or a consumer group from a folder with tool output and logs.

Kafka's tools do not print the subscriptions of members; they are inferred from the members' partitions.

Source: the distribution of partitions over members with the same subscription in
`org.apache.kafka.clients.consumer.RangeAssignor`, `RoundRobinAssignor` and `AbstractStickyAssignor`, and
`org.apache.kafka.coordinator.group.assignor.RangeAssignor` and `UniformAssignor`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from scenarios.kafka.dumps.files import (
    NO_RATES,
    OFFSETS,
    Dump,
    Dumps,
    broker_release,
    logged_release,
    no_member_message,
    observed_brokers,
    observed_topics,
    read_dumps,
    with_printed_topology,
)
from scenarios.kafka.dumps.groups import (
    ObservedGroup,
    add_late_threads,
    dropped_rebalances,
    follow_up_ms,
    from_consumer_group,
    from_leader,
    from_streams_group,
    min_standbys,
    rebalance_history,
    replayed_restarts,
    select_application,
)
from scenarios.kafka.formats.groups import GroupMember, GroupState, StreamsGroupMember
from scenarios.kafka.formats.topics import DescribedTopic
from scenarios.kafka.naming import application_of_thread, is_base64_uuid, process_client_id
from scenarios.kafka.observation.consumer_scenario_writer import consumer_names, migration_warnings
from scenarios.kafka.observation.described_subtopologies import applications_of_topology, describe_subtopologies
from scenarios.kafka.observation.observation import (
    Observation,
    ObservationError,
    ObservedConsumer,
    ObservedConsumers,
    ObservedProcess,
    ObservedSubtopology,
    ObservedTopic,
    RebalanceHistory,
    StatedRacks,
    check_stated_racks,
    matching_racks,
)
from scenarios.kafka.observation.releases import with_logged_release
from scenarios.language.client_configs import strategy_name
from scenarios.language.errors import format_list
from scenarios.language.units import parse_duration_ms

_EVEN_BY_TOPIC: Final = ("range",)
"""Assignors that distribute each topic evenly over its subscribers."""

_EVEN: Final = ("roundrobin", "sticky", "cooperative-sticky", "uniform")
"""Assignors that distribute all partitions evenly over members with the same subscription."""


def infer_subscriptions(members: Sequence[ObservedConsumer], assignor: str) -> Mapping[str, frozenset[str]]:
    """Return the topics of each member, by member id: all topics that a member reads, unless this is impossible.

    It is impossible if members with the same subscription would have about as many partitions, but have not. Then a
    member subscribes only to the topics that it reads; a member without partitions still subscribes to all. `members`:
    members of a stable group, with their partitions. `assignor`: name of its assignor; any number of partitions is
    possible with one that is not Kafka's.
    """
    read = {member.member_id: frozenset(one.topic for one in member.partitions) for member in members}
    every_topic = frozenset(topic for topics in read.values() for topic in topics)
    if assignor in _EVEN_BY_TOPIC:
        # A member with two partitions of a topic implies that each subscriber has one.
        exclusive = {topic for topic in every_topic if _max_partitions(members, topic) > 1}
    else:
        counts = [len(member.partitions) for member in members]
        is_even = assignor not in _EVEN or max(counts, default=0) - min(counts, default=0) <= 1
        exclusive = set() if is_even else set(every_topic)
    return {member: topics | (every_topic - exclusive) if topics else every_topic for member, topics in read.items()}


def _max_partitions(members: Sequence[ObservedConsumer], topic: str) -> int:
    return max(sum(partition.topic == topic for partition in member.partitions) for member in members)


_STREAMS: Final = "stream"
_STABLE: Final = "Stable"
_STRATEGY: Final = "partition.assignment.strategy"
_REMOTE: Final = "group.remote.assignor"


def has_consumer_group(dumps: Dumps, group: str) -> bool:
    """Return whether a group of the dumps consists of consumers without Kafka Streams.

    Raises ObservationError if the group has no members.
    """
    members = _members(dumps, group)
    state = _state(dumps, group)
    has_other_source = dumps.rebalances is not None or dumps.streams_members is not None
    if not members and not has_other_source:
        _fail_if_empty(dumps, group, state)
    if state is not None and state.assignor is not None:
        return state.assignor != _STREAMS
    if dumps.topology is not None or has_other_source:
        return False
    return bool(members) and all(process_client_id(member.client_id) == member.client_id for member in members)


def _fail_if_empty(dumps: Dumps, group: str, state: GroupState | None) -> None:
    """Reject a group without members in dumps that show members, or that say that it has none."""
    if dumps.states is not None and state is not None and state.state in ("Empty", "Dead"):
        raise ObservationError(
            f"group '{group}' has no members (state {state.state} in {dumps.states.file}): save the output while its "
            "clients are running"
        )
    if dumps.members is not None:
        raise ObservationError(no_member_message(dumps.members, group))


def _state(dumps: Dumps, group: str) -> GroupState | None:
    states = dumps.states.content if dumps.states else ()
    return next((state for state in states if state.group == group), None)


def _members(dumps: Dumps, group: str) -> list[GroupMember]:
    return [member for member in (dumps.members.content if dumps.members else ()) if member.group == group]


@dataclass(slots=True)
class DumpedConsumers:
    """Builds the observation of a consumer group from dumps.

    Attributes:
        configs: Configs of the consumers; they override those of a properties file.
    """

    dumps: Dumps
    group: str
    configs: Mapping[str, str]
    racks: StatedRacks
    assumptions: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def observe(self) -> Observation:
        """Return the observed state.

        Raises ObservationError if required information is missing; the message lists everything that is missing.
        """
        self.assumptions += self.dumps.remarks
        configs = self._configs()
        listed = _members(self.dumps, self.group)
        # Offsets, and members before 4.0, are printed without epochs.
        is_of_coordinator = any(member.has_epoch or is_base64_uuid(member.consumer_id) for member in listed)
        protocol = "consumer" if is_of_coordinator else "classic"
        self._require_files(listed)
        topics = {topic.name: topic for topic in self.dumps.topics.content} if self.dumps.topics else {}
        all_topics = self._topics_read(listed, topics)
        members = sorted(map(self._member, listed), key=lambda member: member.member_id)
        self._check_racks(members)
        assignor = self._assignor(protocol, configs)
        members = self._with_topics(members, all_topics, assignor)
        _fail_if_missing(self.missing, self.group)
        return Observation(
            source=f"in {', '.join(sorted(self.dumps.kinds))}",
            brokers=observed_brokers(self.dumps, topics.values(), self.assumptions),
            topics=observed_topics(self.dumps, all_topics, topics, self.assumptions),
            application_id=self.group,
            protocol=protocol,
            subtopologies=(),
            processes=(),
            configs=configs,
            broker_release=broker_release(self.dumps),
            assumptions=tuple(self.assumptions),
            consumers=ObservedConsumers(assignor, tuple(members)),
            warnings=tuple(migration_warnings(sum(member.is_classic for member in listed), len(listed))),
        )

    def _require_files(self, listed: Sequence[GroupMember]) -> None:
        if self.dumps.topics is None:
            self.missing.append("replicas: output of kafka-topics.sh --describe")
        if not listed:
            self.missing.append("assignment: output of kafka-consumer-groups.sh --describe --members --verbose")
        elif OFFSETS in self.dumps.kinds.values() and self.dumps.members is not None:
            file = self.dumps.members.file
            if self.dumps.kinds.get(file) == OFFSETS:
                self.assumptions.append(f"{file} omits members without partitions.")
        state = _state(self.dumps, self.group)
        if state is not None and state.state != _STABLE:
            self.assumptions.append(f"The group was in state {state.state}; its current assignment is used.")
        if self.dumps.sizes is None:
            self.assumptions.append("No output of kafka-log-dirs.sh: topics are assumed empty.")
        self.assumptions.append(NO_RATES)

    def _configs(self) -> dict[str, str]:
        """Return the configs of the consumers, without the `group.id`."""
        properties = self.dumps.properties
        stated = dict(properties.content) if properties is not None else {}
        group = stated.pop("group.id", self.group)
        if properties is not None and group != self.group:
            raise ObservationError(f"{properties.file} belongs to group '{group}', not '{self.group}'")
        return {**stated, **self.configs}

    def _topics_read(self, listed: Sequence[GroupMember], topics: Mapping[str, DescribedTopic]) -> tuple[str, ...]:
        """Return the topics that any member reads."""
        found = sorted({partition.topic for member in listed for partition in member.partitions})
        if listed and not found:
            self.missing.append("assignment: no member has a partition; describe the group when it is stable")
        unknown = [topic for topic in found if topic not in topics]
        if unknown and self.dumps.topics is not None:
            self.missing.append(f"replicas of {', '.join(unknown)}, which {self.dumps.topics.file} does not describe")
        return tuple(found)

    def _with_topics(
        self, members: Sequence[ObservedConsumer], all_topics: Sequence[str], assignor: str
    ) -> list[ObservedConsumer]:
        """Return the members with the topics to which they are assumed to subscribe."""
        state = _state(self.dumps, self.group)
        is_stable = state is None or state.state == _STABLE
        topics_of = infer_subscriptions(members, assignor if is_stable else "")
        subscribed = [replace(member, topics=tuple(sorted(topics_of[member.member_id]))) for member in members]
        if len(all_topics) > 1:
            self.assumptions += _subscription_assumptions(subscribed, all_topics, assignor)
        return subscribed

    def _member(self, member: GroupMember) -> ObservedConsumer:
        """Return a member without its topics."""
        observed = ObservedConsumer(
            member_id=member.consumer_id,
            client_id=member.client_id,
            host=member.host,
            instance_id=member.instance_id,
            rack=None,
            topics=(),
            partitions=member.partitions,
        )
        stated = next(iter(matching_racks(observed, self.racks)), None)
        return replace(observed, rack=stated)

    def _check_racks(self, members: Sequence[ObservedConsumer]) -> None:
        """Require the racks of members if brokers have racks."""
        unknown = [
            member.instance_id or member.client_id for member in members if not matching_racks(member, self.racks)
        ]
        has_racks = self.dumps.brokers is not None and any(broker.rack for broker in self.dumps.brokers.content)
        if unknown and has_racks:
            names = ", ".join(dict.fromkeys(unknown))
            self.missing.append(f"racks of {names}: --rack 'PATTERN=RACK', or --rack '*=' for no rack")

    def _assignor(self, protocol: str, configs: Mapping[str, str]) -> str:
        state = _state(self.dumps, self.group)
        if state is not None and state.assignor is not None:
            return state.assignor
        if protocol == "consumer":
            if _REMOTE not in configs:
                self.assumptions.append("The assignor is assumed to be uniform, the default of the brokers.")
            return configs.get(_REMOTE, "uniform")
        if _STRATEGY not in configs:
            source = "output of kafka-consumer-groups.sh --describe --state"
            if state is not None:
                source = f"none in state {state.state}; describe the group when it is stable"
            self.missing.append(f"assignor: {source}, or --config {_STRATEGY}=range")
            return ""
        preferred = configs[_STRATEGY].split(",")[0].strip()
        try:
            return strategy_name(preferred)
        except ValueError:
            return preferred


def _subscription_assumptions(
    members: Sequence[ObservedConsumer], all_topics: Sequence[str], assignor: str
) -> Iterator[str]:
    """Yield what is assumed about subscriptions, which the tools do not print."""
    fewer = [member.member_id for member in members if len(member.topics) < len(all_topics)]
    if not fewer:
        yield (
            "kafka-consumer-groups.sh does not print subscriptions: all members are assumed to subscribe to all topics "
            "that one of them reads; set topics of clients that subscribe to fewer."
        )
        return
    names = consumer_names(members)
    yield (
        f"kafka-consumer-groups.sh does not print subscriptions: {assignor} would balance partitions over members with "
        f"the same topics, so these are assumed to subscribe to fewer topics: "
        f"{', '.join(names[member] for member in fewer)}; correct the topics of the clients where that is wrong."
    )


_STANDBYS: Final = "num.standby.replicas"
_THREADS: Final = "num.stream.threads"
_TAGS: Final = "rack.aware.assignment.tags"


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """Information that dumps lack.

    Attributes:
        configs: Configs of the application; they override those of a properties file.
        replays: Whether to replay a leader's log from its first rebalance; otherwise the scenario starts at the last.
        release: Kafka release of the clients; None for the one that they log.
    """

    configs: Mapping[str, str] = field(default_factory=dict)
    racks: StatedRacks = ()
    replays: bool = True
    release: str | None = None


@dataclass(frozen=True, slots=True)
class ObservedDumps:
    """The result of reading dumps.

    Attributes:
        history: Rebalances that followed; None without a leader's log or without replay.
        kinds: Kind of each file that was read.
    """

    observation: Observation
    history: RebalanceHistory | None
    kinds: Mapping[str, str]
    ignored: tuple[str, ...]


def observe_dumps(folder: Path, group: str, options: DumpOptions | None = None) -> ObservedDumps:
    """Observe an application or a consumer group from a folder of dumps, identified by content, not by name.

    `folder` has the output of kafka-topics.sh and Topology.describe(), and one of: kafka-consumer-groups.sh,
    kafka-streams-groups.sh, the leader's log. Optional: kafka-broker-api-versions.sh, kafka-log-dirs.sh, and the
    properties of the application. A consumer group has no topology; kafka-consumer-groups.sh --state shows its
    assignor. `group`: `application.id` or `group.id`. `options`: information that dumps lack. Returns the observed
    state, and the history of a replayed log. Raises ObservationError if a file is malformed, or required information is
    missing; the message lists everything that is missing and how to provide it.
    """
    dumps = with_printed_topology(read_dumps(folder), group)
    chosen = options or DumpOptions()
    logged = logged_release(dumps, group) if chosen.release is None else None
    if has_consumer_group(dumps, group):
        observation = DumpedConsumers(dumps, group, chosen.configs, chosen.racks).observe()
        check_stated_racks(observation, chosen.racks)
        return ObservedDumps(with_logged_release(observation, logged), None, dumps.kinds, dumps.ignored)
    if dumps.rebalances is not None:
        dumps.rebalances = replace(dumps.rebalances, content=select_application(dumps.rebalances.content, group))
    observed = _DumpObserver(dumps, group, chosen).observe()
    check_stated_racks(observed.observation, chosen.racks, observed.history.newcomers if observed.history else ())
    return replace(observed, observation=with_logged_release(observed.observation, logged))


@dataclass(slots=True)
class _DumpObserver:
    """Builds an observation from dumps and collects assumptions and missing information."""

    dumps: Dumps
    group: str
    options: DumpOptions
    assumptions: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def observe(self) -> ObservedDumps:
        self.assumptions += self.dumps.remarks
        configs = self._configs()
        self._require_files(configs)
        topics = {topic.name: topic for topic in self.dumps.topics.content} if self.dumps.topics else {}
        subtopologies = self._subtopologies(topics)
        group = self._group(subtopologies, configs)
        history = self._history(configs)
        racks = self._racks((*group.processes, *(history.newcomers if history else ())))
        processes = tuple(replace(process, rack=racks[process.process_id]) for process in group.processes)
        self.assumptions += group.assumptions
        _fail_if_missing(self.missing, self.group)
        if _STANDBYS not in configs:
            configs[_STANDBYS] = self._num_standbys(processes, subtopologies)
        protocol = "streams" if self.dumps.streams_members is not None and not self._has_log() else "classic"
        observation = Observation(
            source=f"in {', '.join(sorted(self.dumps.kinds))}",
            brokers=observed_brokers(self.dumps, topics.values(), self.assumptions),
            topics=self._topics(topics, subtopologies),
            application_id=self.group,
            protocol=protocol,
            subtopologies=subtopologies,
            processes=processes,
            configs=configs,
            listed_members=group.listed_members,
            next_rebalance_ms=self._next_rebalance_ms(configs),
            broker_release=broker_release(self.dumps) if protocol == "streams" else None,
            assumptions=tuple(self.assumptions),
            warnings=tuple(self.warnings),
        )
        if history is not None:
            newcomers = tuple(replace(process, rack=racks[process.process_id]) for process in history.newcomers)
            history = replace(history, newcomers=newcomers)
        return ObservedDumps(observation, history, self.dumps.kinds, self.dumps.ignored)

    def _configs(self) -> dict[str, str]:
        properties = dict(self.dumps.properties.content) if self.dumps.properties else {}
        application_id = properties.get("application.id")
        if self.dumps.properties and application_id not in (None, self.group):
            raise ObservationError(
                f"{self.dumps.properties.file} belongs to application '{application_id}', not '{self.group}'"
            )
        return {**properties, **self.options.configs}

    def _has_log(self) -> bool:
        return self.dumps.rebalances is not None

    def _require_files(self, configs: Mapping[str, str]) -> None:
        dumps = self.dumps
        if dumps.topics is None:
            self.missing.append("replicas: output of kafka-topics.sh --describe")
        has_group = dumps.members is not None or dumps.streams_members is not None or self._has_log()
        if dumps.topology is None:
            unless = "" if has_group else ", unless this is a consumer group"
            self.missing.append(f"subtopologies and stores: output of Topology.describe(){unless}")
        if not has_group:
            self.missing.append(
                "assignment: output of kafka-consumer-groups.sh --describe --members --verbose or "
                "kafka-streams-groups.sh --describe --members --verbose, or the log of the group leader at INFO"
            )
        has_consumers_only = dumps.streams_members is None and not self._has_log() and dumps.members is not None
        if has_consumers_only and _STANDBYS not in configs:
            self.missing.append(f"number of standbys: --config {_STANDBYS}=N")
        rebalances = dumps.rebalances.content if dumps.rebalances else ()
        lacks_threads = any(client.threads is None for rebalance in rebalances for client in rebalance.clients)
        if lacks_threads and _THREADS not in configs:
            self.missing.append(f"number of threads of each client: --config {_THREADS}=N")
        if configs.get(_TAGS, "").strip():
            self.missing.append(
                f"client.tag.* of the clients, which {_TAGS} requires and dumps lack: import with --bootstrap, or "
                f"disable it with --config {_TAGS}="
            )
        if dumps.sizes is None:
            self.assumptions.append("No output of kafka-log-dirs.sh: topics and changelogs are assumed empty.")
        self.assumptions.append(NO_RATES)

    def _subtopologies(self, topics: Mapping[str, DescribedTopic]) -> tuple[ObservedSubtopology, ...]:
        if self.dumps.topology is None or self.dumps.topics is None:
            return ()
        text, file = self.dumps.topology.content, self.dumps.topology.file
        self._check_group(text, file, topics)
        subtopologies, assumptions = describe_subtopologies(text, self.group, topics, file)
        self.assumptions += assumptions
        return subtopologies

    def _check_group(self, topology: str, file: str, topics: Mapping[str, DescribedTopic]) -> None:
        """Reject a group of which the dumps have nothing, if they have another one.

        Raises ObservationError if the group is unknown; the message names the known ones.
        """
        dumps = self.dumps
        if dumps.streams_members is not None and not self._has_log():
            self._stream_threads(dumps.streams_members)
            return
        rebalances = dumps.rebalances.content if dumps.rebalances else ()
        is_named = any(application_of_thread(rebalance.leader or "") == self.group for rebalance in rebalances)
        is_listed = dumps.members is not None and any(member.group == self.group for member in dumps.members.content)
        if is_named or is_listed:
            return
        others = applications_of_topology(topology, self.group, topics, file)
        if others:
            listing = dumps.topics.file if dumps.topics else ""
            raise ObservationError(
                f"'{self.group}' has no internal topics in {listing}: those of {file} belong to other groups "
                f"({format_list('groups', others)})"
            )

    def _group(self, subtopologies: Sequence[ObservedSubtopology], configs: Mapping[str, str]) -> ObservedGroup:
        """Return the processes at the start of the scenario, from the most detailed dump."""
        dumps = self.dumps
        if dumps.rebalances is not None:
            rebalances = dumps.rebalances.content
            first = rebalances[0 if self.options.replays else -1]
            group = from_leader(first, self.group, _parse_number(configs, _THREADS))
            return add_late_threads(group, rebalances, self.group) if self.options.replays else group
        if dumps.streams_members is not None:
            return from_streams_group(self._stream_threads(dumps.streams_members))
        if dumps.members is None or not subtopologies:
            return ObservedGroup((), ())
        consumers = [member for member in dumps.members.content if member.group == self.group]
        if _parse_number(configs, _STANDBYS):
            self.assumptions.append(
                "kafka-consumer-groups.sh does not print standbys: the scenario starts without any; the first "
                "rebalance places them."
            )
        return from_consumer_group(consumers, subtopologies, dumps.members.file)

    def _stream_threads(self, listed: Dump[tuple[StreamsGroupMember, ...]]) -> list[StreamsGroupMember]:
        threads = [member for member in listed.content if member.group == self.group]
        if not threads:
            raise ObservationError(no_member_message(listed, self.group))
        return threads

    def _history(self, configs: Mapping[str, str]) -> RebalanceHistory | None:
        log = self.dumps.rebalances
        if log is None or not self.options.replays:
            return None
        timeout_ms = _parse_duration_ms(configs, "session.timeout.ms", 45_000)
        history = rebalance_history(log.content, self.group, timeout_ms, _parse_number(configs, _THREADS))
        if any(change.kind == "leave" for change in history.changes):
            self.assumptions.append(
                f"Clients that stopped are assumed to have stopped {timeout_ms} ms (session.timeout.ms) before the "
                "first rebalance without them; clients that were members more recently are assumed to have left the "
                "group."
            )
        self.assumptions += filter(None, [replayed_restarts(history)])
        self.warnings += filter(None, [dropped_rebalances(log.content, history)])
        return history

    def _next_rebalance_ms(self, configs: Mapping[str, str]) -> int | None:
        log = self.dumps.rebalances
        if log is None:
            return None
        rebalances = log.content if self.options.replays else log.content[-1:]
        return follow_up_ms(rebalances, _parse_duration_ms(configs, "probing.rebalance.interval.ms", 600_000))

    def _racks(self, processes: Sequence[ObservedProcess]) -> Mapping[str, str | None]:
        """Return the rack of each process, by process id; an unknown rack is missing if brokers have racks."""
        racks: dict[str, str | None] = {}
        unknown: list[str] = []
        for process in processes:
            matching = matching_racks(process, self.options.racks)
            racks[process.process_id] = matching[0] if matching else None
            if not matching:
                unknown.append(process.client_id)
        has_racks = self.dumps.brokers is not None and any(broker.rack for broker in self.dumps.brokers.content)
        if unknown and has_racks:
            names = ", ".join(unknown)
            self.missing.append(f"racks of {names}: --rack 'PATTERN=RACK', or --rack '*=' for no rack")
        return racks

    def _num_standbys(self, processes: Sequence[ObservedProcess], subtopologies: Sequence[ObservedSubtopology]) -> str:
        number = min_standbys(processes, [subtopology.id for subtopology in subtopologies if subtopology.changelogs])
        self.assumptions.append(
            f"{_STANDBYS} is assumed to be {number}, the minimum number of standbys of a stateful task."
        )
        return str(number)

    def _topics(
        self, topics: Mapping[str, DescribedTopic], subtopologies: Sequence[ObservedSubtopology]
    ) -> tuple[ObservedTopic, ...]:
        used = {name for subtopology in subtopologies for name in subtopology.topics}
        return observed_topics(self.dumps, sorted(used & set(topics)), topics, self.assumptions)


def _fail_if_missing(missing: Sequence[str], group: str) -> None:
    if missing:
        lines = "\n".join(f"- {item}" for item in missing)
        raise ObservationError(f"missing information on '{group}':\n{lines}")


def _parse_number(configs: Mapping[str, str], key: str) -> int | None:
    text = configs.get(key)
    if text is None:
        return None
    if not text.strip().isdecimal():
        raise ObservationError(f"{key}: '{text}' is not a number")
    return int(text)


def _parse_duration_ms(configs: Mapping[str, str], key: str, default_ms: int) -> int:
    text = configs.get(key)
    if text is None:
        return default_ms
    try:
        return parse_duration_ms(int(text) if text.strip().isdecimal() else text)
    except ValueError as error:
        raise ObservationError(f"{key}: {error}") from None
