"""The configs of the group protocol, and those that decide which state survives when a process is killed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_UNCOMMITTED_BYTES: Final = 64 * 1024 * 1024
"""The default of `statestore.uncommitted.max.bytes`."""


class OffsetStorage(StrEnum):
    """Where Kafka Streams keeps the changelog offsets of state on disk; see `simulator.flows.durable_state`.

    Attributes:
        CHECKPOINT_FILE: in a checkpoint file per task (up to 4.2.1).
        CHECKPOINT_FILE_WITHOUT_LEFTOVER: the same; with exactly-once, none is left while a task runs (from 4.2.2 on).
        STORES: in each store, next to its data (from 4.3 on).
    """

    CHECKPOINT_FILE = "checkpoint file"
    CHECKPOINT_FILE_WITHOUT_LEFTOVER = "checkpoint file, none while running with exactly-once"
    STORES = "stores"


@dataclass(frozen=True, slots=True)
class StateConfigs:
    """What decides which state survives when a process is killed.

    Attributes:
        exactly_once: whether `processing.guarantee` is `exactly_once_v2`.
        offset_storage: where the release keeps changelog offsets.
        transactional: whether stores get what is written only at commits (`enable.transactional.statestores`, 4.4);
            then the offsets are in stores.
        max_uncommitted_bytes: `statestore.uncommitted.max.bytes`, of all threads of a client together; more are
            committed at once. 0 is no limit.
    """

    exactly_once: bool = False
    commit_interval_ms: int = 30_000
    offset_storage: OffsetStorage = OffsetStorage.STORES
    transactional: bool = False
    max_uncommitted_bytes: int = MAX_UNCOMMITTED_BYTES


class GroupProtocol(StrEnum):
    """`group.protocol`: who computes assignments, and how members receive them.

    Attributes:
        CLASSIC: a member, the leader, computes the assignment; all members rejoin for each rebalance.
        STREAMS: the group coordinator computes it, and each member reconciles with its target by itself (KIP-1071).
        CONSUMER: the same for the members of a consumer group, whose tasks are partitions (KIP-848).
    """

    CLASSIC = "classic"
    STREAMS = "streams"
    CONSUMER = "consumer"


class EndedThreads(StrEnum):
    """How stream threads that end while their client goes on leave a classic group; see `world.leave_on_close`.

    Attributes:
        UNSUBSCRIBE: they unsubscribe, which sends a LeaveGroup request (up to 4.0).
        UNSUBSCRIBE_IF_CLOSE_LEAVES: the same, but only with `internal.leave.group.on.close` (4.1).
        CLOSE_OPERATION: removed threads leave, replaced ones remain (from 4.2 on).
    """

    UNSUBSCRIBE = "unsubscribe"
    UNSUBSCRIBE_IF_CLOSE_LEAVES = "unsubscribe if closing leaves"
    CLOSE_OPERATION = "close operation"


@dataclass(frozen=True, slots=True)
class GroupConfigs:
    """The configs of the group protocol, with Kafka's defaults.

    Attributes:
        session_timeout_ms: `session.timeout.ms` (streams groups: `group.streams.session.timeout.ms` of the brokers):
            after which time without a heartbeat the group removes a member.
        heartbeat_interval_ms: `heartbeat.interval.ms`: the time between two heartbeats of a member of a classic group.
        streams_heartbeat_interval_ms: `group.streams.heartbeat.interval.ms`: the interval in a streams group; under the
            consumer protocol `group.consumer.heartbeat.interval.ms`.
        streams_assignment_interval_ms: `group.streams.assignment.interval.ms`: the minimum time between two targets of
            a streams group (from Kafka 4.3 on; 0 before); under the consumer protocol that of `group.consumer`.
        metadata_max_age_ms: `metadata.max.age.ms`: how often the leader of a classic group reads how many partitions
            topics have.
        max_poll_interval_ms: `max.poll.interval.ms`: how long members have to join a rebalance, and how long the leader
            may compute.
        initial_rebalance_delay_ms: `group.initial.rebalance.delay.ms` (streams groups:
            `group.streams.initial.rebalance.delay.ms`): how long an empty group waits for more members.
        extends_every_initial_delay: whether new members prolong that wait whenever the group was empty (brokers from
            4.0 on), or only in a group that never had an assignment.
        leave_group_on_close: whether the clients' release has `internal.leave.group.on.close` and it is true; see
            `simulator.world.leave_on_close`.
        state_cleanup_delay_ms: `state.cleanup.delay.ms`: how long an unassigned copy stays on disk.
        rejoins_when_brokers_bounce: whether members with `client.rack` rejoin when a broker stops or starts, as in the
            releases before the fix of KAFKA-20778.
        leader_speed: the speed of the group leader, as a multiple of the machine on which Kafka was measured.
        ended_threads: how threads leave that end while their client goes on, which depends on the release.
        has_static_members: whether members can have a `group.instance.id`: in classic groups, and in streams groups of
            Kafka 4.4.
        broker_release: the minor release of the brokers, on which the coordinator of a streams group depends.
        can_remain_in_streams_group: whether dynamic members of a streams group can close without leaving it (clients
            from Kafka 4.4 on).
        reports_task_offsets: whether members of a streams group report the offsets of their copies (clients from Kafka
            4.4 on).
        task_offset_interval_ms: `group.streams.task.offset.interval.ms`: the time between two such reports; None if the
            coordinator reads none (brokers before Kafka 4.4).
        converted: the configs that a consumer group of the classic protocol has once it is converted to the consumer
            protocol; None if it cannot be.
    """

    protocol: GroupProtocol = GroupProtocol.CLASSIC
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    streams_heartbeat_interval_ms: int = 5_000
    streams_assignment_interval_ms: int = 1_000
    metadata_max_age_ms: int = 300_000
    max_poll_interval_ms: int = 300_000
    initial_rebalance_delay_ms: int = 3_000
    extends_every_initial_delay: bool = True
    leave_group_on_close: bool = False
    state_cleanup_delay_ms: int = 600_000
    rejoins_when_brokers_bounce: bool = False
    leader_speed: float = 1.0
    ended_threads: EndedThreads = EndedThreads.CLOSE_OPERATION
    has_static_members: bool = True
    broker_release: tuple[int, int] = (4, 4)
    can_remain_in_streams_group: bool = False
    reports_task_offsets: bool = False
    task_offset_interval_ms: int | None = 60_000
    converted: GroupConfigs | None = None
