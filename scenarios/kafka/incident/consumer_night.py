"""A recorded night of a consumer group: an observation and its history, from which a scenario is written.

Its assignments are recomputed and compared with what was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assignors.consumers.registry import ConsumerProtocol, find
from assignors.errors import AssignorError, UnknownAssignorError
from assignors.model.consumer_group import (
    NO_GENERATION,
    ConsumerAssignor,
    ConsumerGroupState,
    ConsumerMember,
    ConsumerTopic,
)
from assignors.model.ids import TopicId, TopicPartition
from scenarios.kafka.dumps.files import Dumps, broker_release, observed_brokers, observed_topic
from scenarios.kafka.incident.causes import ChangeKind, client_changes
from scenarios.kafka.incident.night import (
    NightOptions,
    racks_of_replicas,
    session_timeout_ms,
)
from scenarios.kafka.incident.recomputation import Mismatch, PartitionRacks
from scenarios.kafka.incident.recorded import (
    RecordedGroup,
    RecordedMember,
    RecordedRebalance,
    observed_consumer,
    recorded_consumer,
)
from scenarios.kafka.observation.observation import (
    ConsumerHistory,
    MembershipChange,
    Observation,
    ObservationError,
    ObservedConsumer,
    ObservedConsumers,
    ObservedTopic,
    check_stated_racks,
    with_stated_racks,
)
from scenarios.language.releases import NEWEST
from scenarios.language.units import format_duration

_GENERATION = 0
"""Generation of partitions that members own by the last recorded assignment, whatever its number."""


@dataclass(frozen=True, slots=True)
class RecomputedPartitions:
    """The assignment of an assignor for a recorded rebalance; clients by process id.

    Attributes:
        assigned: Client of each partition.
        withheld: Next client of each partition that another one must revoke first.
        error: Why there is no assignment; None if there is one.
    """

    assigned: Mapping[str, str]
    withheld: Mapping[str, str]
    error: str | None = None

    def owners(self) -> dict[str, str]:
        """Return the client of each partition, including withheld ones."""
        return {**self.assigned, **self.withheld}


@dataclass(frozen=True, slots=True)
class ConsumerStates:
    """Builds the input of the assignor in the rebalances of a consumer group.

    Attributes:
        racks: Rack of each replica of a partition, if it is known.
        topic_ids: Id of each topic, if it is known.
    """

    racks: PartitionRacks
    topic_ids: Mapping[str, TopicId]

    def recorded(self, rebalance: RecordedRebalance) -> ConsumerGroupState:
        """Return what the assignor of a rebalance got."""
        members = {member.id: recorded_consumer(member).reported for member in rebalance.members}
        listed = [members[name] for name in rebalance.coordinator_order]
        return ConsumerGroupState.of(listed, self._topics(rebalance), max_generation=rebalance.max_generation)

    def with_owned(self, rebalance: RecordedRebalance, before: RecordedRebalance | None) -> ConsumerGroupState:
        """Return what another assignor would get: the members own what the rebalance before assigned to them."""
        owned = {} if before is None else {member.id: member.active for member in before.members}
        of_client = {} if before is None else {member.process_id: member.active for member in before.members}
        members = {
            member.id: _owning(member, owned.get(member.id, of_client.get(member.process_id, ())))
            for member in rebalance.members
        }
        return ConsumerGroupState.of((members[name] for name in rebalance.coordinator_order), self._topics(rebalance))

    def _topics(self, rebalance: RecordedRebalance) -> Iterator[ConsumerTopic]:
        for name, number in rebalance.partitions.items():
            racks = [self.racks.get(TopicPartition(name, partition), ()) for partition in range(number)]
            known = tuple(racks) if all(racks) else ()
            yield ConsumerTopic(name, number, known, self.topic_ids.get(name))


def _owning(member: RecordedMember, partitions: tuple[str, ...]) -> ConsumerMember:
    reported = recorded_consumer(member).reported
    return replace(
        reported,
        owned=tuple(map(TopicPartition.parse, partitions)),
        generation=_GENERATION if partitions else NO_GENERATION,
        user_data_generation=_GENERATION if partitions else None,
    )


def find_recorded_assignor(name: str, protocol: str, release: str | None) -> ConsumerAssignor | None:
    """Return the assignor of the recorded name in a release; None if it is not Kafka's, or not in the release.

    `release`: release of the clients, or of the brokers if they assign; None for the newest.
    """
    try:
        info = find(name, ConsumerProtocol(protocol))
        return info.at(release or NEWEST).make()
    except UnknownAssignorError:
        return None


def recompute_partitions(
    rebalance: RecordedRebalance, state: ConsumerGroupState, assignor: ConsumerAssignor
) -> RecomputedPartitions:
    """Compute the assignment of a recorded rebalance again.

    `state`: the input of the assignor. Returns the assignment, or why there is none.
    """
    client_of = {member.id: member.process_id for member in rebalance.members}
    try:
        answer = assignor.assign(state)
    except AssignorError as error:
        return RecomputedPartitions({}, {}, str(error))
    clients = [client_of[member] for member in state.member_ids]
    return RecomputedPartitions(
        {
            str(state.topic_partition(key)): client
            for client, keys in zip(clients, answer.partitions, strict=True)
            for key in keys
        },
        {str(state.topic_partition(key)): clients[member] for key, member in answer.withheld},
    )


def compare_partitions(rebalance: RecordedRebalance, recomputed: RecomputedPartitions) -> tuple[Mismatch, ...]:
    """Return the partitions that the assignor gives to another client than recorded, sorted.

    Clients of withheld partitions are compared if the rebalance afterwards shows them.
    """
    recorded = {name: member.process_id for member in rebalance.members for name in member.active}
    names = {*recorded, *rebalance.withheld, *recomputed.assigned}
    mismatches = []
    for name in sorted(names, key=TopicPartition.parse):
        expected, answer = recorded.get(name), recomputed.assigned.get(name)
        if expected == answer and name in rebalance.withheld:
            expected, answer = rebalance.withheld[name], recomputed.withheld.get(name)
        if expected != answer:
            held, answers = (() if client is None else (client,) for client in (expected, answer))
            mismatches.append(Mismatch(name, "active", held, answers))
    return tuple(mismatches)


_SESSION: Final = "session.timeout.ms"
_COORDINATED_SESSION: Final = "group.consumer.session.timeout.ms"
_MAX_POLL: Final = "max.poll.interval.ms"
_OF_CONSUMERS: Final = ("group.id", "group.instance.id", "group.protocol", "group.remote.assignor")
"""Configs of consumers whose keys begin like those of brokers."""
_MIN_GAP_MS: Final = 1
_RESTART_MS: Final = 100
"""Assumed time between the closing of a consumer and its return, if both are within one rebalance."""
_LEADER: Final = 1
"""Broker of topics that no output of a tool describes."""


@dataclass(frozen=True, slots=True)
class ObservedConsumerNight:
    """The night of a consumer group.

    Attributes:
        observation: State at the first recorded rebalance.
        history: What followed.
    """

    observation: Observation
    history: ConsumerHistory
    states: ConsumerStates


def observe_consumer_night(group: RecordedGroup, dumps: Dumps, options: NightOptions) -> ObservedConsumerNight:
    """Return a recorded night as an observation and its history.

    `group`: the recorded rebalances, all of them with members. `dumps`: output of tools that describe the cluster; what
    is missing is assumed. `options`: information that the files lack. Raises ObservationError if no rebalance has
    members, a stated config is malformed, or a stated rack is that of no client.
    """
    rebalances = group.rebalances
    if not rebalances:
        raise ObservationError(f"group '{group.group}' has no recorded rebalance with members")
    assumptions = list(dumps.remarks)
    topics = _topics(group, dumps, assumptions)
    clients, names = _clients(rebalances)
    located, sentences = with_stated_racks(list(clients.values()), options.racks)
    assumptions += sentences
    by_client = dict(zip(clients, located, strict=True))
    initial = _owners(rebalances[0])
    newcomers = tuple(consumer for client, consumer in by_client.items() if client not in initial)
    configs, broker_configs = _configs(group, dumps, options)
    session_ms = session_timeout_ms(group, {**configs, **broker_configs})
    if group.protocol == "classic":
        configs.setdefault(_SESSION, str(session_ms))
    ids = {client: consumer.member_id for client, consumer in by_client.items()}
    changes = tuple(_changes(rebalances, session_ms, ids))
    assumptions += _assumptions(rebalances, changes)
    if group.protocol == "consumer" and _COORDINATED_SESSION not in broker_configs:
        assumptions.append(
            f"Records do not have the session timeout of the consumer protocol: {format_duration(session_ms)} is "
            f"assumed; state another one with --config {_COORDINATED_SESSION}=…."
        )
    observation = Observation(
        source="rebuilt from the records of its group",
        brokers=observed_brokers(dumps, topics),
        topics=topics,
        application_id=group.group,
        protocol=group.protocol,
        subtopologies=(),
        processes=(),
        configs=configs,
        broker_configs=broker_configs,
        broker_release=(options.release if group.protocol == "consumer" else None) or broker_release(dumps),
        client_release=options.release if group.protocol == "classic" else None,
        assumptions=tuple(assumptions),
        consumers=ObservedConsumers(
            rebalances[0].assignor,
            tuple(
                replace(consumer, partitions=tuple(sorted(map(TopicPartition.parse, initial[client]))))
                for client, consumer in by_client.items()
                if client in initial
            ),
        ),
    )
    check_stated_racks(observation, options.racks, newcomers)
    history = ConsumerHistory(
        newcomers,
        {consumer.member_id: names[client] for client, consumer in by_client.items()},
        changes,
        rebalances[-1].at_ms - rebalances[0].at_ms,
    )
    racks = racks_of_replicas(observation) if dumps.brokers is not None else {}
    return ObservedConsumerNight(observation, history, ConsumerStates(racks, group.topic_ids))


def _topics(group: RecordedGroup, dumps: Dumps, assumptions: list[str]) -> tuple[ObservedTopic, ...]:
    """Return the topics with as many partitions as the last rebalance had."""
    described = {topic.name: topic for topic in (dumps.topics.content if dumps.topics else ())}
    sizes = dumps.sizes.content if dumps.sizes else {}
    if not described:
        assumptions.append(
            "No output of kafka-topics.sh: each topic is assumed to have the partitions that were assigned, on one "
            "broker without a rack, and no size."
        )
    elif missing := sorted(group.rebalances[-1].partitions.keys() - described.keys()):
        assumptions.append(f"Topics that kafka-topics.sh did not describe are assumed empty: {', '.join(missing)}.")
    broker = min((broker for topic in described.values() for broker in topic.replicas[0]), default=_LEADER)
    topics = []
    for name, number in group.rebalances[-1].partitions.items():
        if name in described and len(described[name].replicas) >= number:
            topic = described[name]
            known = replace(topic, replicas=topic.replicas[:number], leaders=topic.leaders[:number])
            topics.append(observed_topic(known, sizes))
        else:
            topic_id = group.topic_ids.get(name)
            topics.append(ObservedTopic(name, ((broker,),) * number, (broker,) * number, topic_id=topic_id))
    return tuple(topics)


def _clients(rebalances: Sequence[RecordedRebalance]) -> tuple[dict[str, ObservedConsumer], dict[str, str]]:
    """Return each client as its first member of the night, and its name, by process id."""
    first: dict[str, RecordedMember] = {}
    for rebalance in rebalances:
        for member in rebalance.members:
            first.setdefault(member.process_id, member)
    ordered = sorted(first.values(), key=lambda member: member.id)
    return (
        {member.process_id: observed_consumer(member) for member in ordered},
        {member.process_id: member.client_id for member in ordered},
    )


def _owners(rebalance: RecordedRebalance) -> dict[str, list[str]]:
    """Return the partitions of each client, including those that are withheld for it."""
    owned: dict[str, list[str]] = {member.process_id: [] for member in rebalance.members}
    for name, client in rebalance.active().items():
        owned[client].append(name)
    return owned


def _configs(group: RecordedGroup, dumps: Dumps, options: NightOptions) -> tuple[dict[str, str], dict[str, str]]:
    """Return the configs of the consumers, and those of the brokers."""
    stated = {**(dumps.properties.content if dumps.properties else {}), **options.configs}
    stated.pop("group.id", None)
    broker = {key: value for key, value in stated.items() if key.startswith("group.") and key not in _OF_CONSUMERS}
    consumer = {key: value for key, value in stated.items() if key not in broker}
    recorded_ms = max(
        recorded_consumer(member).rebalance_timeout_ms for rebalance in group.rebalances for member in rebalance.members
    )
    if recorded_ms > 0:
        consumer.setdefault(_MAX_POLL, str(recorded_ms))
    return consumer, broker


def _changes(
    rebalances: Sequence[RecordedRebalance], session_ms: int, ids: Mapping[str, str]
) -> Iterator[MembershipChange]:
    """Yield the changes of the clients over the night, by time.

    A dynamic consumer leaves when it closes, and a static one does not: its session times out. A consumer that returned
    while its old member was in the group went down a session timeout before that was removed. A static one that
    returned within its session was down for half of the time in which it can have been.
    """
    start_ms = rebalances[0].at_ms
    events: list[MembershipChange] = []
    listed = client_changes(rebalances)
    static = {member.process_id for r in rebalances for member in r.members if member.instance_id is not None}
    for number, change in enumerate(listed):
        at_ms = rebalances[change.position].at_ms - start_ms
        before_ms = rebalances[change.position - 1].at_ms - start_ms + _MIN_GAP_MS
        crashed_ms = max(before_ms, at_ms - session_ms)
        client = (ids[change.process_id],)
        match change.kind:
            case ChangeKind.JOINED | ChangeKind.RETURNED:
                events.append(MembershipChange(at_ms, "join", client))
            case ChangeKind.RESTARTED if change.process_id in static:
                down_ms = max(_MIN_GAP_MS, (at_ms - crashed_ms) // 2)
                events.append(MembershipChange(crashed_ms, "crash", client, down_ms=down_ms))
            case ChangeKind.RESTARTED:
                later = (c for c in listed[number + 1 :] if c.process_id == change.process_id)
                expired = next((c for c in later if c.kind is ChangeKind.EXPIRED), None)
                if expired is None:
                    left_ms = max(before_ms, at_ms - _RESTART_MS)
                    events.append(MembershipChange(left_ms, "leave", client))
                    events.append(MembershipChange(max(at_ms, left_ms + _MIN_GAP_MS), "join", client))
                    continue
                ended_ms = rebalances[expired.position].at_ms - start_ms
                alive_ms = _last_seen_ms(rebalances[: change.position], change.process_id) - start_ms
                crashed_ms = max(alive_ms + _MIN_GAP_MS, min(ended_ms - session_ms, at_ms - _MIN_GAP_MS))
                down_ms = max(_MIN_GAP_MS, at_ms - crashed_ms)
                events.append(MembershipChange(crashed_ms, "crash", client, down_ms=down_ms))
            case ChangeKind.LEFT:
                left_ms = crashed_ms if change.process_id in static else at_ms
                events.append(MembershipChange(left_ms, "leave", client))
            case _:
                continue
    yield from sorted(events, key=lambda event: (event.at_ms, event.kind, event.process_ids))


def _last_seen_ms(rebalances: Sequence[RecordedRebalance], client: str) -> int:
    """Return when a client was certainly up: with the last stable assignment of its member, or when that joined."""
    seen_ms = rebalances[0].at_ms
    for rebalance in reversed(rebalances):
        if all(member.process_id != client for member in rebalance.members):
            break
        if rebalance.stable_at_ms is not None:
            return rebalance.stable_at_ms
        seen_ms = rebalance.at_ms
    return seen_ms


def _assumptions(rebalances: Sequence[RecordedRebalance], changes: Sequence[MembershipChange]) -> Iterator[str]:
    if any(change.kind == "leave" for change in changes):
        yield (
            "Records do not say whether a consumer closed or its session timed out: consumers without "
            "group.instance.id are assumed to have closed, and so to have left at once."
        )
    assignors = dict.fromkeys(rebalance.assignor for rebalance in rebalances)
    if len(assignors) > 1:
        yield f"The assignor changed ({', '.join(assignors)}): the scenario has the first one throughout."
    if rebalances[0].partitions != rebalances[-1].partitions:
        yield "Topics got partitions during the night: the scenario has all of them from the start."
