"""Looks at what Kafka's tools printed and what the application logged, in the files of a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.dumps.files import Dumps, read_dumps
from scenarios.kafka.dumps.groups import (
    ObservedGroup,
    from_consumer_group,
    from_leader,
    from_streams_group,
    least_standbys,
)
from scenarios.kafka.dumps.history import follow_up_ms, of_application, trace_of, with_all_threads
from scenarios.kafka.formats.topics import DescribedTopic
from scenarios.kafka.observation.described_subtopologies import described_subtopologies
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.history import RebalanceHistory
from scenarios.kafka.observation.observation import (
    Observation,
    ObservedBroker,
    ObservedProcess,
    ObservedSubtopology,
    ObservedTopic,
)
from scenarios.language.units import parse_duration_ms

_STANDBYS: Final = "num.standby.replicas"
_THREADS: Final = "num.stream.threads"
_TAGS: Final = "rack.aware.assignment.tags"


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """What dumps lack and somebody knows.

    Attributes:
        configs: the application's configs; they count before those of a properties file.
        racks: patterns (`*` and `?`) of client ids and process ids, with the rack of those; None for none. The first
            that fits counts.
        replays: whether a leader's log is to be replayed from its first round, rather than gone on with from its last.
    """

    configs: Mapping[str, str] = field(default_factory=dict)
    racks: Sequence[tuple[str, str | None]] = ()
    replays: bool = True


@dataclass(frozen=True, slots=True)
class ObservedDumps:
    """What was seen, and what happened then, if a leader's log tells.

    Attributes:
        kinds: what each file is that was read.
        passed_over: the names of files that are something else.
    """

    observation: Observation
    trace: RebalanceHistory | None
    kinds: Mapping[str, str]
    passed_over: tuple[str, ...]


def observe_dumps(folder: Path, group: str, options: DumpOptions | None = None) -> ObservedDumps:
    """Look at the dumps in a folder; files are told by what is in them, not by their names.

    Args:
        folder: with what kafka-topics.sh prints, Topology.describe(), and one of: kafka-consumer-groups.sh,
            kafka-streams-groups.sh, the leader's log; if it is there, what kafka-broker-api-versions.sh and
            kafka-log-dirs.sh print, and the application's properties.
        group: the `application.id`.
        options: what the dumps lack.

    Raises:
        ObservationError: a file is broken, or something is missing of which there is no default: all of it is named,
            with what would give it.
    """
    found = read_dumps(folder)
    if found.rebalances is not None:
        found.rebalances = replace(found.rebalances, content=of_application(found.rebalances.content, group))
    return _Looking(found, group, options or DumpOptions()).look()


@dataclass(slots=True)
class _Looking:
    """Collects what was seen, what was assumed, and what is missing."""

    found: Dumps
    group: str
    options: DumpOptions
    assumptions: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def look(self) -> ObservedDumps:
        configs = self._configs()
        self._require_files(configs)
        topics = {topic.name: topic for topic in self.found.topics.content} if self.found.topics else {}
        subtopologies = self._subtopologies(topics)
        members = self._members(subtopologies, configs)
        trace = self._trace(configs)
        racks = self._racks((*members.processes, *(trace.newcomers if trace else ())))
        processes = tuple(replace(each, rack=racks[each.process_id]) for each in members.processes)
        self.assumptions += members.assumptions
        self._refuse_if_missing()
        if _STANDBYS not in configs:
            configs[_STANDBYS] = self._standbys(processes, subtopologies)
        observation = Observation(
            source=f"in {', '.join(sorted(self.found.kinds))}",
            brokers=self._brokers(topics),
            topics=self._topics(topics, subtopologies),
            application_id=self.group,
            protocol="streams" if self.found.streams_members is not None and not self._has_log() else "classic",
            subtopologies=subtopologies,
            processes=processes,
            configs=configs,
            listed_members=members.listed_members,
            next_rebalance_ms=self._next_rebalance_ms(configs),
            assumptions=tuple(self.assumptions),
        )
        if trace is not None:
            newcomers = tuple(replace(each, rack=racks[each.process_id]) for each in trace.newcomers)
            trace = replace(trace, newcomers=newcomers)
        return ObservedDumps(observation, trace, self.found.kinds, self.found.passed_over)

    def _configs(self) -> dict[str, str]:
        given = dict(self.found.properties.content) if self.found.properties else {}
        file_id = given.get("application.id")
        if self.found.properties and file_id not in (None, self.group):
            raise ObservationError(
                f"{self.found.properties.file} is of the application '{file_id}', not '{self.group}'"
            )
        return {**given, **self.options.configs}

    def _has_log(self) -> bool:
        return self.found.rebalances is not None

    def _require_files(self, configs: Mapping[str, str]) -> None:
        found = self.found
        if found.topics is None:
            self.missing.append("where the replicas are: what kafka-topics.sh --describe prints")
        if found.topology is None:
            self.missing.append("what the application reads and stores: what its Topology.describe() prints")
        if found.members is None and found.streams_members is None and not self._has_log():
            self.missing.append(
                "who has which tasks: what kafka-consumer-groups.sh --describe --members --verbose prints, or "
                "kafka-streams-groups.sh --describe --members --verbose, or the log of the group's leader at INFO"
            )
        only_consumers = found.streams_members is None and not self._has_log() and found.members is not None
        if only_consumers and _STANDBYS not in configs:
            self.missing.append(f"how many standbys there are: --config {_STANDBYS}=N")
        log = found.rebalances.content if found.rebalances else ()
        unknown = any(client.threads is None for each in log for client in each.clients)
        if unknown and _THREADS not in configs:
            self.missing.append(f"how many threads each client has: --config {_THREADS}=N")
        if configs.get(_TAGS, "").strip():
            self.missing.append(
                f"client.tag.* of the clients, which no dump has and {_TAGS} needs: import with --bootstrap, or leave "
                f"it out with --config {_TAGS}="
            )
        if found.sizes is None:
            self.assumptions.append("kafka-log-dirs.sh was not there: topics and changelogs are taken to be empty.")
        self.assumptions.append("No tool prints rates: nothing is produced until you give topics bytes_per_s.")

    def _refuse_if_missing(self) -> None:
        if self.missing:
            listed = "\n".join(f"- {one}" for one in self.missing)
            raise ObservationError(f"this is missing to go on with '{self.group}':\n{listed}")

    def _subtopologies(self, topics: Mapping[str, DescribedTopic]) -> tuple[ObservedSubtopology, ...]:
        if self.found.topology is None or self.found.topics is None:
            return ()
        text, file = self.found.topology.content, self.found.topology.file
        seen, assumptions = described_subtopologies(text, self.group, topics, file)
        self.assumptions += assumptions
        return seen

    def _members(self, subtopologies: Sequence[ObservedSubtopology], configs: Mapping[str, str]) -> ObservedGroup:
        """The processes at the moment at which the scenario starts, by the source that tells most."""
        found = self.found
        if found.rebalances is not None:
            rounds = found.rebalances.content
            logged = rounds[0 if self.options.replays else -1]
            seen = from_leader(logged, self.group, _number(configs, _THREADS))
            return with_all_threads(seen, rounds, self.group) if self.options.replays else seen
        if found.streams_members is not None:
            streams = [member for member in found.streams_members.content if member.group == self.group]
            groups = {member.group for member in found.streams_members.content}
            return from_streams_group(streams) if streams else self._no_member(found.streams_members.file, groups)
        if found.members is None or not subtopologies:
            return ObservedGroup((), ())
        consumers = [member for member in found.members.content if member.group == self.group]
        if not consumers:
            return self._no_member(found.members.file, {member.group for member in found.members.content})
        if _number(configs, _STANDBYS):
            self.assumptions.append(
                "kafka-consumer-groups.sh prints no standbys: there is none at the start, and the first rebalance "
                "places them."
            )
        return from_consumer_group(consumers, subtopologies, found.members.file)

    def _no_member(self, file: str, groups: set[str]) -> ObservedGroup:
        known = ", ".join(sorted(groups)) or "none"
        raise ObservationError(f"{file} has no member of '{self.group}' (groups: {known})")

    def _trace(self, configs: Mapping[str, str]) -> RebalanceHistory | None:
        log = self.found.rebalances
        if log is None or not self.options.replays:
            return None
        timeout_ms = _duration(configs, "session.timeout.ms", 45_000)
        trace = trace_of(log.content, self.group, timeout_ms, _number(configs, _THREADS))
        if any(change.kind == "leave" for change in trace.changes):
            self.assumptions.append(
                f"Clients that closed are assumed to have closed {timeout_ms} ms (session.timeout.ms) before the round "
                "without them; those that a round less than that before still had, to have left the group."
            )
        return trace

    def _next_rebalance_ms(self, configs: Mapping[str, str]) -> int | None:
        log = self.found.rebalances
        if log is None:
            return None
        logged = log.content if self.options.replays else log.content[-1:]
        return follow_up_ms(logged, _duration(configs, "probing.rebalance.interval.ms", 600_000))

    def _racks(self, processes: Sequence[ObservedProcess]) -> Mapping[str, str | None]:
        """The rack of each process, by process id; those of which none is known are missing if brokers have racks."""
        racks: dict[str, str | None] = {}
        unknown: list[str] = []
        for process in processes:
            fitting = [rack for pattern, rack in self.options.racks if _fits(process, pattern)]
            racks[process.process_id] = fitting[0] if fitting else None
            if not fitting:
                unknown.append(process.client_id)
        has_racks = self.found.brokers is not None and any(broker.rack for broker in self.found.brokers.content)
        if unknown and has_racks:
            names = ", ".join(unknown)
            self.missing.append(f"the racks of {names}: --rack 'PATTERN=RACK', or --rack '*=' if they have none")
        return racks

    def _standbys(self, processes: Sequence[ObservedProcess], subtopologies: Sequence[ObservedSubtopology]) -> str:
        least = least_standbys(processes, [part.id for part in subtopologies if part.changelogs])
        self.assumptions.append(
            f"{_STANDBYS} is taken to be {least}, which is how many standbys every stateful task has at least."
        )
        return str(least)

    def _brokers(self, topics: Mapping[str, DescribedTopic]) -> tuple[ObservedBroker, ...]:
        if self.found.brokers is not None:
            listed = sorted(self.found.brokers.content, key=lambda broker: broker.id)
            return tuple(ObservedBroker(broker.id, broker.rack) for broker in listed)
        self.assumptions.append("kafka-broker-api-versions.sh was not there: brokers are taken to have no racks.")
        ids = {broker for topic in topics.values() for replicas in topic.replicas for broker in replicas}
        return tuple(ObservedBroker(broker, None) for broker in sorted(ids))

    def _topics(
        self, topics: Mapping[str, DescribedTopic], subtopologies: Sequence[ObservedSubtopology]
    ) -> tuple[ObservedTopic, ...]:
        used = {name for part in subtopologies for name in (*part.sources, *part.changelogs.values(), *part.writes)}
        sizes = self.found.sizes.content if self.found.sizes else {}
        return tuple(_topic(topics[name], sizes) for name in sorted(used & set(topics)))


def _topic(topic: DescribedTopic, sizes: Mapping[TopicPartition, int]) -> ObservedTopic:
    own = [sizes.get(TopicPartition(topic.name, partition)) for partition in range(len(topic.replicas))]
    known = any(size is not None for size in own)
    return ObservedTopic(topic.name, topic.replicas, topic.leaders, tuple(size or 0 for size in own) if known else None)


def _fits(process: ObservedProcess, pattern: str) -> bool:
    return fnmatchcase(process.client_id, pattern) or fnmatchcase(process.process_id, pattern)


def _number(configs: Mapping[str, str], key: str) -> int | None:
    text = configs.get(key)
    if text is None:
        return None
    if not text.strip().isdecimal():
        raise ObservationError(f"{key}: '{text}' is not a number")
    return int(text)


def _duration(configs: Mapping[str, str], key: str, otherwise: int) -> int:
    text = configs.get(key)
    if text is None:
        return otherwise
    try:
        return parse_duration_ms(int(text) if text.strip().isdecimal() else text)
    except ValueError as error:
        raise ObservationError(f"{key}: {error}") from None
