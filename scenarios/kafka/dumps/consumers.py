"""Observation of a consumer group, which is no application of Kafka Streams, from a folder of dumps.

Kafka's tools do not print the subscriptions of members; they are inferred from the members' partitions.

Source: the distribution of partitions over members with the same subscription in
`org.apache.kafka.clients.consumer.RangeAssignor`, `RoundRobinAssignor` and `AbstractStickyAssignor`, and
`org.apache.kafka.coordinator.group.assignor.RangeAssignor` and `UniformAssignor`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from scenarios.kafka.dumps.cluster import NO_RATES, broker_release, observed_brokers, observed_topics
from scenarios.kafka.dumps.files import OFFSETS, Dumps, no_member_message
from scenarios.kafka.formats.consumer_groups import GroupMember, GroupState
from scenarios.kafka.formats.topics import DescribedTopic
from scenarios.kafka.naming import is_base64_uuid, process_client_id
from scenarios.kafka.observation.consumer_assignor import migration_warnings
from scenarios.kafka.observation.consumer_scenario_writer import consumer_names
from scenarios.kafka.observation.observation import (
    Observation,
    ObservationError,
    ObservedConsumer,
    ObservedConsumers,
    ObservedTopic,
)
from scenarios.kafka.observation.stated_racks import StatedRacks, matches_consumer
from scenarios.language.consumer_configs import strategy_name

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
        dumps: Parsed files.
        group: `group.id`.
        configs: Configs of the consumers; they override those of a properties file.
        racks: Racks of members.
        assumptions: Sentences on what was assumed.
        missing: Descriptions of missing information.
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
        if self.missing:
            lines = "\n".join(f"- {item}" for item in self.missing)
            raise ObservationError(f"missing information on '{self.group}':\n{lines}")
        return Observation(
            source=f"in {', '.join(sorted(self.dumps.kinds))}",
            brokers=observed_brokers(self.dumps, self.assumptions),
            topics=self._topics(all_topics, topics),
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
        stated = next((rack for pattern, rack in self.racks if matches_consumer(observed, pattern)), None)
        return replace(observed, rack=stated)

    def _check_racks(self, members: Sequence[ObservedConsumer]) -> None:
        """Require the racks of members if brokers have racks."""
        patterns = [pattern for pattern, _ in self.racks]
        unknown = [
            member.instance_id or member.client_id
            for member in members
            if not any(matches_consumer(member, pattern) for pattern in patterns)
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

    def _topics(self, names: Sequence[str], topics: Mapping[str, DescribedTopic]) -> tuple[ObservedTopic, ...]:
        return observed_topics(self.dumps, names, topics, self.assumptions)


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
