"""Writer of a scenario that starts in the observed state of a consumer group."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from assignors.model.ids import TopicId
from scenarios.kafka.naming import is_base64_uuid, trailing_uuid
from scenarios.kafka.observation.cluster_lines import cluster_lines, header_lines, mapping_lines
from scenarios.kafka.observation.consumer_assignor import ReportedAssignor
from scenarios.kafka.observation.event_lines import duration_line, event_lines
from scenarios.kafka.observation.observation import (
    ConsumerHistory,
    Observation,
    ObservationError,
    ObservedConsumer,
    ObservedConsumers,
)
from scenarios.kafka.observation.observed_configs import broker_configs, consumer_configs, unmodeled_configs
from scenarios.kafka.observation.observed_releases import consumer_release_remarks, simulated_coordinator_release
from scenarios.kafka.observation.yaml_text import YamlValue, entry_lines, flow_text
from scenarios.language.consumer_configs import ConsumerConfigs
from scenarios.language.consumer_entries import POLL_MS
from scenarios.language.units import format_duration

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
        yield "# Add events to simulate, for example:"
        yield "# events:"
        yield f"#   - {{at: 1m, leave: {{clients: {flow_text(first)}}}}}"
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
    unmodeled = (f"{config} is not modeled: {effect}." for config, effect in unmodeled_configs(observation))
    return (*unmodeled, *_assignor(observation).warnings(), *observation.warnings)


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
    counts, used = Counter(names), Counter[str]()
    name_of: dict[str, str] = {}
    for member, name in zip(members, names, strict=True):
        used[name] += 1
        name_of[member.member_id] = f"{name}-{used[name]}" if counts[name] > 1 else name
    return name_of


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
    if member.rack is not None:
        yield from entry_lines("rack", member.rack, 8)
        if not member.announces_rack:
            yield "        client_rack: false"
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
