"""Writer of a scenario that starts in the observed state of a consumer group.

Under the classic protocol, Kafka reports the assignor that the group coordinator picked, and not what members list.

Source: `org.apache.kafka.coordinator.group.classic.ClassicGroup.selectProtocol` (of the assignors that all members
list, the one that most members prefer).
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assignors.consumers.selection import BROKER_RANGE, COOPERATIVE_STICKY, UNIFORM
from assignors.model.ids import TopicId
from scenarios.kafka.naming import is_base64_uuid, trailing_uuid
from scenarios.kafka.observation.observation import (
    ConsumerHistory,
    Observation,
    ObservationError,
    ObservedConsumer,
    ObservedConsumers,
    numbered_names,
)
from scenarios.kafka.observation.releases import consumer_release_remarks, simulated_coordinator_release
from scenarios.kafka.observation.scenario_lines import (
    YamlValue,
    broker_configs,
    cluster_lines,
    consumer_configs,
    duration_line,
    entry_lines,
    event_lines,
    example_event_lines,
    flow_text,
    header_lines,
    mapping_lines,
    rack_lines,
    unmodeled_configs,
)
from scenarios.language.client_configs import DEFAULT_STRATEGY, ConsumerConfigs, strategy_name
from scenarios.language.consumer_entries import POLL_MS
from scenarios.language.units import format_duration

_CLASSIC_ASSIGNORS: Final = ("range", "roundrobin", "sticky", COOPERATIVE_STICKY)
_COORDINATOR_ASSIGNORS: Final[Mapping[str, str]] = {"uniform": UNIFORM, "range": BROKER_RANGE}
_PROTOCOL: Final = "group.protocol"
_REMOTE: Final = "group.remote.assignor"
_STRATEGY: Final = "partition.assignment.strategy"


def migration_warnings(classic: int, members: int) -> Iterator[str]:
    """Yield a warning if some members of a group of the consumer protocol still use the classic one."""
    if classic:
        yield (
            f"The group is being migrated: {classic} of {members} members still use the classic protocol, but are "
            "simulated with the consumer protocol."
        )


@dataclass(frozen=True, slots=True)
class ReportedAssignor:
    """The assignor of a group.

    Attributes:
        protocol: `classic` or `consumer`.
        reported: Name of the assignor that Kafka reports.
        configs: Stated configs of the consumers, by Kafka's keys.
    """

    protocol: str
    reported: str
    configs: Mapping[str, str]

    @property
    def is_kafkas(self) -> bool:
        """Whether it is one of Kafka's, and not a custom one."""
        return self.reported in (_COORDINATOR_ASSIGNORS if self.protocol == "consumer" else _CLASSIC_ASSIGNORS)

    @property
    def name(self) -> str:
        """Name of the assignor in a scenario; Kafka's default in place of one that is not Kafka's."""
        if self.protocol == "consumer":
            return _COORDINATOR_ASSIGNORS.get(self.reported, UNIFORM)
        return self.reported if self.reported in _CLASSIC_ASSIGNORS else DEFAULT_STRATEGY[0]

    @property
    def follows_from_configs(self) -> bool:
        """Whether only the configs choose it: `cooperative-sticky` rebalances eagerly beside another assignor."""
        return (
            self.protocol == "classic" and self.name == COOPERATIVE_STICKY == self._listed[0] and len(self._listed) > 1
        )

    def scenario_configs(self) -> Mapping[str, YamlValue]:
        """Return the configs of the group that choose its protocol and its assignor."""
        if self.protocol == "consumer":
            return {_PROTOCOL: "consumer", _REMOTE: "range" if self.name == BROKER_RANGE else "uniform"}
        chosen = {_PROTOCOL: "classic"} if _PROTOCOL in self.configs else {}
        return {**chosen, _STRATEGY: ",".join(self._listed)}

    def warnings(self) -> Iterator[str]:
        """Yield what is not simulated."""
        if not self.is_kafkas:
            yield (
                f"The assignor {self.reported} is not Kafka's: the group is simulated with {self.name}, whose "
                "assignments differ."
            )
        stated_protocol = self.configs.get(_PROTOCOL, self.protocol).strip().lower()
        if stated_protocol != self.protocol:
            yield f"{_PROTOCOL}={stated_protocol} is ignored: the group has the {self.protocol} protocol."
        if self.protocol == "consumer" or not self.is_kafkas:
            return
        if unknown := [text for text in self._stated if text not in self._of_kafka]:
            yield f"{_STRATEGY} lists assignors that are not Kafka's, which are omitted: {', '.join(unknown)}."
        if self._stated and self.name not in self._of_kafka.values():
            yield (
                f"{_STRATEGY} is ignored: the group has the assignor {self.name}, which all members must list, but "
                f"{_STRATEGY} does not."
            )

    def assumptions(self) -> Iterator[str]:
        """Yield what is assumed about the lists of the members."""
        if self.protocol == "consumer":
            return
        if self.name != self._listed[0]:
            yield (
                f"The group has the assignor {self.name}, although {_STRATEGY} lists {self._listed[0]} first: members "
                "list different assignors, and Kafka picked one that all of them list. The group is simulated with "
                "it throughout. If joins and departures can change it, state the list of each client in its configs, "
                "and remove assignors."
            )
        if self.name == COOPERATIVE_STICKY and not self._stated:
            yield (
                f"All members are assumed to list only {COOPERATIVE_STICKY} in {_STRATEGY}; with another assignor "
                "beside it, the group would rebalance eagerly."
            )

    @property
    def _stated(self) -> list[str]:
        """The stated assignors of the client."""
        return [text.strip() for text in self.configs.get(_STRATEGY, "").split(",") if text.strip()]

    @property
    def _of_kafka(self) -> Mapping[str, str]:
        """The name of each stated assignor that is Kafka's."""
        names = {}
        for text in self._stated:
            try:
                names[text] = strategy_name(text)
            except ValueError:
                continue
        return names

    @property
    def _listed(self) -> list[str]:
        """The assignors that members list in the scenario, which include that of the group."""
        names = list(self._of_kafka.values())
        return names if self.name in names else [self.name]


_TIMES: Final[Mapping[str, Sequence[str]]] = {
    "classic": ("session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms"),
    "consumer": ("max.poll.interval.ms",),
}
"""Configs of consumers that decide when things happen, by group protocol; a cluster does not expose them."""


def consumer_scenario_text(observation: Observation, history: ConsumerHistory | None = None) -> str:
    """Return a scenario in YAML.

    `observation`: state at the start of the scenario; `history`: what followed, if observed. Raises ObservationError if
    the group has no members.
    """
    group = _members(observation)
    names = consumer_names(group.members) if history is None else history.names
    newcomers = () if history is None else history.newcomers
    cluster = cluster_lines(observation, simulated_coordinator_release(observation))
    header = header_lines(observation, consumer_warnings(observation), consumer_assumptions(observation))
    own = _group_lines(observation, group, newcomers, names)
    events = _events(history, names[group.members[0].member_id])
    return "\n".join([*header, "", *cluster, "", *own, "", *events, ""])


def _events(history: ConsumerHistory | None, first: str) -> Iterator[str]:
    if history is None:
        yield from example_event_lines(first)
        return
    if history.changes:
        yield from event_lines(history.changes, history.names)
        yield ""
    yield duration_line(history.last_ms)


def consumer_assumptions(observation: Observation) -> tuple[str, ...]:
    """Return sentences on what was assumed: by the observation, and because Kafka does not expose it."""
    return (*observation.assumptions, *_writer_assumptions(observation, _members(observation)))


def consumer_warnings(observation: Observation) -> tuple[str, ...]:
    """Return sentences on what was observed but cannot be simulated."""
    return (*unmodeled_configs(observation), *_assignor(observation).warnings(), *observation.warnings)


def consumer_names(members: Sequence[ObservedConsumer]) -> Mapping[str, str]:
    """Return a distinct client name for each member, by member id.

    A name is the `group.instance.id`, or else the `client.id`, with the host if several members have the same. Names
    that would still be equal are numbered.
    """
    names = [member.instance_id or member.client_id.strip() or member.member_id for member in members]
    counts = Counter(names)
    names = [
        f"{name}@{member.host}" if counts[name] > 1 and member.host else name
        for member, name in zip(members, names, strict=True)
    ]
    return numbered_names([member.member_id for member in members], names)


def _assignor(observation: Observation) -> ReportedAssignor:
    return ReportedAssignor(observation.protocol, _members(observation).assignor, observation.configs)


def has_kafkas_assignor(observation: Observation) -> bool:
    """Return whether the group reports an assignor of Kafka, and not a custom one."""
    return _assignor(observation).is_kafkas


def _members(observation: Observation) -> ObservedConsumers:
    group = observation.consumers
    if group is None or not group.members:
        raise ObservationError(
            f"group '{observation.application_id}' has no members, so there is no state to start from; observe it "
            "while its consumers are running"
        )
    return group


def _group_lines(
    observation: Observation, group: ObservedConsumers, newcomers: Sequence[ObservedConsumer], names: Mapping[str, str]
) -> Iterator[str]:
    subscription = _most_common_subscription([*group.members, *newcomers])
    yield "consumers:"
    yield f"  - group: {flow_text(observation.application_id)}"
    if observation.client_release is not None:
        yield from entry_lines("kafka", observation.client_release, 4)
    yield from entry_lines("topics", subscription, 4)
    yield "    starts: running"
    yield from mapping_lines("configs", _configs(observation), 4)
    yield "    clients:"
    for member in group.members:
        yield from _client(member, names[member.member_id], subscription, observation)
        yield from entry_lines("partitions", list(map(str, member.partitions)), 8)
    for member in newcomers:
        yield from _client(member, names[member.member_id], subscription, observation)
        yield "        starts: false"
    assignor = _assignor(observation)
    if not assignor.follows_from_configs:
        yield f"    assignors: [{assignor.name}]"


def _most_common_subscription(members: Sequence[ObservedConsumer]) -> tuple[str, ...]:
    """Return the subscription that most members have; of several, the one with most topics, then the first."""
    counts = Counter(member.topics for member in members)
    return min(counts, key=lambda topics: (-counts[topics], -len(topics), topics))


def _configs(observation: Observation) -> Mapping[str, YamlValue]:
    configs, _ = consumer_configs(observation)
    return {**configs, **_assignor(observation).scenario_configs()}


def _client(
    member: ObservedConsumer, name: str, subscription: Sequence[str], observation: Observation
) -> Iterator[str]:
    yield f"      - name: {flow_text(name)}"
    yield from entry_lines("process_id", _process_id(member), 8)
    if member.instance_id is not None:
        yield from entry_lines("instance_id", member.instance_id, 8)
    elif observation.protocol == "classic" and member.client_id != f"consumer-{observation.application_id}-1":
        yield from entry_lines("client_id", member.client_id, 8)
    yield from rack_lines(member, 8)
    if tuple(member.topics) != tuple(subscription):
        yield from entry_lines("topics", member.topics, 8)


def _process_id(member: ObservedConsumer) -> str:
    """Return the random part of a member id as a UUID, or one derived from a member id of another form."""
    at_end = trailing_uuid(member.member_id)
    if at_end is not None:
        return str(uuid.UUID(at_end))
    if not is_base64_uuid(member.member_id):
        return str(uuid.uuid5(uuid.NAMESPACE_URL, member.member_id))
    topic_id = TopicId.parse(member.member_id)
    bits = (topic_id.most_significant_bits % 2**64 << 64) | topic_id.least_significant_bits % 2**64
    return str(uuid.UUID(int=bits))


def has_member_id_of_kafka(member: ObservedConsumer, protocol: str) -> bool:
    """Return whether a member id has the form that Kafka's coordinator or consumer gives it."""
    if protocol == "consumer":
        return is_base64_uuid(member.member_id)
    return member.member_id == f"{member.instance_id or member.client_id}-{trailing_uuid(member.member_id)}"


def _writer_assumptions(observation: Observation, group: ObservedConsumers) -> Iterator[str]:
    for _, remarks in (consumer_configs(observation), broker_configs(observation)):
        yield from remarks
    yield from consumer_release_remarks(observation)
    unknown = [key for key in _TIMES[observation.protocol] if key not in observation.configs]
    if unknown:
        fields = {field.alias: field.default for field in ConsumerConfigs.model_fields.values()}
        defaults = ", ".join(f"{key} ({format_duration(fields[key])})" for key in unknown)
        yield (
            f"Kafka does not expose configs of consumers: its defaults are assumed, {defaults}; state others with "
            "--config."
        )
    yield (
        f"The longest time between two polls is assumed to be {POLL_MS} ms: set consumers[0].poll_interval to what a "
        "batch takes."
    )
    if len(group.members) > 1:
        yield (
            "Kafka does not expose which members share a process: each member is a separate client; let an event of a "
            "process name all of them."
        )
    yield from _assignor(observation).assumptions()
    other = [member.member_id for member in group.members if not has_member_id_of_kafka(member, observation.protocol)]
    if other:
        yield f"Member ids that Kafka's clients do not have may break ties differently: {', '.join(other)}."
