"""Consumer partition assignors as task assignors: in a consumer group, every task is one partition.

A client of the state is a process, and each of its threads is a member of the group with a consumer of its own. The
member ids have Kafka's form, so that assignors order members as they do there: with the default `client.id`, by the
random part of the id, unless members have a `group.instance.id`. A member subscribes to all topics of the tasks, or to
those of its client.

Some assignors depend on the order in which members list the partitions that they own. An eager member remembers the
order of its last assignment, a coordinator that of its record of the target, and a cooperative member lists partitions
by topic and number.

Assignors get the members in the order of the coordinator's map, which depends on when they joined if ids share a bin.

Members of the classic protocol may list different assignors; then the coordinator selects one in each rebalance. While
a member has the consumer protocol, the group is converted to it, and an assignor of the coordinator assigns.

Source: `org.apache.kafka.clients.consumer.ConsumerConfig.maybeOverrideClientId` (client ids),
`GroupMetadataManager` (member ids of the classic protocol: the client id, or the instance id, with a UUID),
`ConsumerMembershipManager` (member ids of the consumer protocol: `Uuid.randomUuid`), `StickyAssignor.onAssignment`,
`ConsumerCoordinator.onJoinComplete` (a sorted set), `TargetAssignmentBuilder.build`, `ClassicGroup.members`,
`ConsumerGroup.fromClassicGroup`, `.createConsumerGroupRecords`, Kafka 4.3.1.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from assignors.consumers.selection import (
    COOPERATIVE_STICKY,
    STICKY,
    is_eager,
    select_assignor,
    select_server_assignor,
)
from assignors.errors import AssignorError
from assignors.java.hash_order import StringHashMap, TimelineOrder
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignment
from assignors.model.columns import NO_RACK, ConsumerProperties, IntArray
from assignors.model.consumer_group import (
    ConsumerAssignment,
    ConsumerAssignor,
    ConsumerGroupState,
    ConsumerMember,
    ConsumerTopic,
    partition_of,
    topic_of,
)
from assignors.model.ids import ProcessId, TopicId, TopicPartition
from assignors.model.state import ApplicationState

_GENERATION = 0
"""The generation of partitions that members own: the group's last one, whatever its number."""

Place = tuple[int, int]
"""The column of a client and its thread."""


@dataclass(frozen=True, slots=True)
class ConsumerTasks:
    """A consumer partition assignor that assigns the tasks of a consumer group.

    Attributes:
        by_coordinator: whether the group coordinator runs it (KIP-848), not a member.
        is_eager: whether members revoke all partitions before they join a rebalance of the classic protocol.
        forgets: whether members own nothing when they rejoin, since they revoke first and keep no record.
        strategies: the assignors that members list unless they have a list of their own.
        by_name: the assignors of the classic protocol by name, of which the coordinator selects one if members have
            lists of their own, and those of the coordinator, of which it selects one if a member has the consumer
            protocol.
    """

    assignor: ConsumerAssignor
    by_coordinator: bool = False
    is_eager: bool = False
    group: str = "group"
    forgets: bool = False
    strategies: tuple[str, ...] = ()
    by_name: Mapping[str, ConsumerAssignor] = field(default_factory=dict, repr=False, compare=False)
    _selected: list[str] = field(default_factory=list, repr=False, compare=False)
    _listed: dict[str, tuple[TopicPartition, ...]] = field(default_factory=dict, repr=False, compare=False)
    _known: TimelineOrder | StringHashMap = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", TimelineOrder() if self.by_coordinator else StringHashMap())

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the member of each partition; a partition that another member must revoke first counts as assigned.

        The next owner of such a partition gets it when it is free, and the simulated group protocol sees to that.
        Raises AssignorError if the members list no assignor in common.
        """
        selected = self._select(state)
        is_converting = self._is_of_coordinator(state.clients.consumers) != self._is_converted
        if is_converting:
            self._convert()
        before = {member: place for place, member in enumerate(self._known)}
        group, places = self._group(state, selected, None if is_converting or not self._is_converted else set(before))
        if is_converting and self._is_converted:
            # The coordinator then reads its records of the converted group, and fills the map once more.
            self._fill_map(sorted(self._known, key=lambda member: before.get(member, len(before))))
        answer = (self.assignor if selected is None else self.by_name[selected]).assign(group)
        if selected is not None:
            self._selected[:] = [selected]
        if self._is_converted or (self.is_eager if selected is None else selected == STICKY):
            self._remember(group, answer)
        pairs = [(key, member) for member, keys in enumerate(answer.partitions) for key in keys]
        row_of = {_partition(state, row): row for row in range(len(state.tasks))}
        active = np.full(len(state.tasks), UNASSIGNED, dtype=np.int64)
        thread = np.zeros((len(state.tasks), len(state.clients)), dtype=np.int64)
        for key, member in (*pairs, *answer.withheld):
            row = row_of[TopicPartition(group.topics[topic_of(key)].name, partition_of(key))]
            column, number = places[member]
            active[row], thread[row, column] = column, number
        standby = np.zeros(thread.shape, dtype=np.bool_)
        return AssignmentColumns(active, standby, None, thread).to_assignment(state)

    def strategies_of(self, client: ConsumerProperties) -> tuple[str, ...]:
        """Return the assignors that the consumers of a client list."""
        return self.strategies if client.strategies is None else client.strategies

    def is_eager_client(self, client: ConsumerProperties) -> bool:
        """Return whether the consumers of a client revoke all partitions before they join a rebalance."""
        return self.is_eager if client.strategies is None else not self.by_coordinator and is_eager(client.strategies)

    def selected(self, members: Sequence[ConsumerProperties]) -> str | None:
        """Return the assignor that the coordinator selects for members; None if they have none in common."""
        if not self.by_coordinator and self._is_of_coordinator(members):
            of_protocol = [own for own in members if own.has_consumer_protocol]
            of_trigger = next((own.server_assignor for own in of_protocol if own.triggers_target), None)
            return select_server_assignor([own.server_assignor for own in of_protocol], of_trigger)
        return select_assignor([self.strategies_of(own) for own in members]) if members else None

    def _is_of_coordinator(self, members: Iterable[ConsumerProperties]) -> bool:
        """Return whether the coordinator assigns: always, or as long as a member has the consumer protocol."""
        return self.by_coordinator or any(own.has_consumer_protocol for own in members)

    @property
    def _is_converted(self) -> bool:
        """Whether the coordinator made the last assignment, and keeps members in a map of its own."""
        return isinstance(self._known, TimelineOrder)

    def _convert(self) -> None:
        """Copy members to the map of the other protocol, in the order of the map before."""
        before = list(self._known)
        object.__setattr__(self, "_known", StringHashMap() if self._is_converted else TimelineOrder())
        self._fill_map(before)
        self._listed.clear()

    def _fill_map(self, members: Iterable[str]) -> None:
        """Fill a new map of the current protocol with members."""
        known = type(self._known)()
        for member in members:
            known.add(member)
        object.__setattr__(self, "_known", known)

    def _select(self, state: ApplicationState) -> str | None:
        """Return the assignor that the coordinator selects; None if no client has a list of its own."""
        clients = state.clients
        if self.by_coordinator or all(
            own.strategies is None and not own.has_consumer_protocol for own in clients.consumers
        ):
            return None
        threads = zip(clients.consumers, clients.threads.tolist(), strict=True)
        members = [own for own, count in threads for _ in range(count)]
        selected = self.selected(members)
        if selected is None:
            lists = dict.fromkeys(map(self.strategies_of, members))
            listed = "; ".join(map(", ".join, lists))
            raise AssignorError(
                f"members list no assignor in common ({listed}), so the coordinator rejects the last one to join "
                "(InconsistentGroupProtocolException); change partition.assignment.strategy in two rolling restarts, "
                "with both assignors after the first"
            )
        return selected

    def _reports(self, client: ConsumerProperties, selected: str | None) -> bool:
        """Return whether the consumers of a client report to the assignor what they owned before."""
        if self._is_converted:
            return True
        if selected is None:
            return not self.forgets
        if selected == COOPERATIVE_STICKY:
            return not is_eager(self.strategies_of(client))
        # Members remember only what the sticky assignor itself assigned.
        return self._selected in ([], [selected])

    def _in_map_order(self, members: Sequence[str]) -> list[str]:
        """Return member ids in the order of the coordinator's map, and note who is a member.

        A member of the consumer protocol whose first heartbeat triggers an assignment is not in the map yet, and comes
        last; of several new members, this is taken to be the last one.
        """
        known = set(self._known)
        for member in known.difference(members):
            self._known.remove(member)
        new = [member for member in members if member not in known]
        last = new[-1:] if self._is_converted else []
        for member in new[: len(new) - len(last)]:
            self._known.add(member)
        listed = [*self._known, *last]
        for member in last:
            self._known.add(member)
        return listed

    def _remember(self, group: ConsumerGroupState, answer: ConsumerAssignment) -> None:
        """Note the order in which members, or the coordinator, list what members own after this rebalance."""
        listed = answer.stored_after(group) if self._is_converted else answer.partitions
        for member, keys in zip(group.member_ids, listed, strict=True):
            self._listed[member] = tuple(map(group.topic_partition, keys))

    def _in_listed_order(self, member: str, owned: Sequence[TopicPartition]) -> tuple[TopicPartition, ...]:
        listed = self._listed.get(member, ())
        return listed if set(listed) == set(owned) else tuple(owned)

    def _group(
        self, state: ApplicationState, selected: str | None, known: Set[str] | None
    ) -> tuple[ConsumerGroupState, list[Place]]:
        """Return the group, and the place of each of its members.

        `state`: the clients and what they own. `selected`: the assignor that the coordinator selects. `known`: the
        members of a group of the consumer protocol so far; None for a classic group, and for one that has just been
        converted.
        """
        topics = tuple(_topics(state))
        names = tuple(topic.name for topic in topics)
        own = state.clients.consumers or (ConsumerProperties(),) * len(state.clients)
        owned = {place: keys for place, keys in _owned(state).items() if self._reports(own[place[0]], selected)}
        places = [(column, thread) for column, count in enumerate(state.clients.threads) for thread in range(count)]
        places.sort(
            key=lambda place: own[place[0]].has_consumer_protocol
        )  # A member of this protocol converts a group.
        members = [self._member(state, place, names, owned.get(place, ()), known) for place in places]
        row_of = {member.member_id: row for row, member in enumerate(members)}
        order = [row_of[member] for member in self._in_map_order(list(row_of))]
        return ConsumerGroupState.of([members[row] for row in order], topics), [places[row] for row in order]

    def _member(
        self,
        state: ApplicationState,
        place: Place,
        topics: tuple[str, ...],
        owned: Sequence[TopicPartition],
        known: Set[str] | None,
    ) -> ConsumerMember:
        column, thread = place
        rack, instances = int(state.clients.rack[column]), state.clients.instance_ids
        own = state.clients.consumers[column] if state.clients.consumers else ConsumerProperties()
        client = instances[column] if instances else None
        instance = None if client is None else own.instance_id or f"{client}-{thread + 1}"
        prefix = instance or own.client_id or f"consumer-{self.group}-{thread + 1}"
        process = state.clients.ids[column]
        is_random = self.by_coordinator or own.has_consumer_protocol
        member = _member_id(process, thread, None if is_random else prefix)
        if known is not None and member not in known:
            member = _member_id(process, thread, None)  # A member of the classic protocol gets a random id, too.
        return ConsumerMember(
            member_id=member,
            topics=topics if own.topics is None else tuple(topic for topic in topics if topic in own.topics),
            instance_id=instance,
            rack=None if rack == NO_RACK else state.partitions.racks[rack],
            owned=self._in_listed_order(member, owned),
            **({"generation": _GENERATION, "user_data_generation": _GENERATION} if owned else {}),
        )


def _member_id(process: ProcessId, thread: int, prefix: str | None) -> str:
    """Return the id of a member; without a prefix, that of the consumer protocol."""
    own = uuid.UUID(str(process))
    if thread:
        own = uuid.UUID(bytes=hashlib.sha256(f"{process} {thread}".encode()).digest()[:16], version=4)
    return str(TopicId.of(own)) if prefix is None else f"{prefix}-{own}"


def _topics(state: ApplicationState) -> Iterator[ConsumerTopic]:
    """Yield the topics of the partitions, which are complete, in the order of the tasks."""
    racks: dict[str, list[tuple[str | None, ...]]] = {}
    for row in range(len(state.tasks)):
        racks.setdefault(_partition(state, row).topic, []).append(_racks(state, row))
    for name, of_partitions in racks.items():
        yield ConsumerTopic(name, len(of_partitions), tuple(of_partitions), state.partitions.topic_ids.get(name))


def _partition(state: ApplicationState, row: int) -> TopicPartition:
    return state.partitions.names[int(state.tasks.source.row(row)[0])]


def _racks(state: ApplicationState, row: int) -> tuple[str | None, ...]:
    [partition] = state.tasks.source.row(row).tolist()
    known: IntArray = np.flatnonzero(state.partitions.in_rack[partition])
    racks = tuple(state.partitions.racks[column] for column in known.tolist())
    return racks if state.partitions.racks_known[partition] else (*racks, None)


def _owned(state: ApplicationState) -> dict[Place, list[TopicPartition]]:
    """Return the partitions that each member owns, by topic and partition."""
    owned: dict[Place, list[TopicPartition]] = {}
    for column, tasks in enumerate(state.previous_active):
        for task in tasks:
            row = state.row_of_task[task]
            thread = 0 if state.previous_thread is None else int(state.previous_thread[row, column])
            owned.setdefault((column, thread), []).append(_partition(state, row))
    return owned
