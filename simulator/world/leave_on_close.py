"""Whether a client that closes, or a stream thread that ends, leaves its group: one rule for every event.

Classic protocol: a member that closes without a LeaveGroup request stays in the group until its session times out. By
default, `KafkaStreams.close` sends none, for dynamic and for static members.

- Up to Kafka 4.1, `internal.leave.group.on.close` makes dynamic members send it, and `CloseOptions.leaveGroup(true)`
  removes static members only.
- From 4.2 on (KIP-1284), `CloseOptions` with `LEAVE_GROUP` makes every member leave. The config does not exist anymore.
- A thread that `StreamsUncaughtExceptionHandler` replaces (REPLACE_THREAD) unsubscribes up to 4.0, which makes a
  dynamic member leave. In 4.1, unsubscribing sends a LeaveGroup request only with `internal.leave.group.on.close`. From
  4.2 on, `KafkaStreams.replaceStreamThread` closes it with REMAIN_IN_GROUP. A member that stays blocks the rebalance
  for its replacement until its session times out.
- A thread that `KafkaStreams.removeStreamThread` ends leaves, too: up to 4.1 a dynamic one like a replaced one, and a
  static one by `Admin.removeMembersFromConsumerGroup`; from 4.2 on both close with LEAVE_GROUP.

A killed process never leaves; see `simulator.world.pod_events`.

Streams protocol: a dynamic member leaves, with a heartbeat of epoch -1; up to Kafka 4.3 whatever `CloseOptions` say.
From 4.4 on, it sends nothing with `REMAIN_IN_GROUP`, and stays in the group until its session times out. A static one
(from 4.4 on) reports epoch -2 and stays in the group until its session times out, except with `LEAVE_GROUP`. A member
whose thread ends leaves when its consumer closes, except for a static one that is replaced: its consumer closes with
REMAIN_IN_GROUP. From Kafka 4.4 on, a replaced dynamic one stays, too, until its session times out.

Source: `KafkaStreams.shutdownHelper`, `.replaceStreamThread`, `.removeStreamThread` and
`streamThreadLeaveConsumerGroup`, `StreamThread.run`, `AbstractCoordinator.maybeLeaveGroup`,
`ConsumerConfig.LEAVE_GROUP_ON_CLOSE_CONFIG`, Kafka 3.8.1, 3.9.1, 4.0.0, 4.1.1 and 4.1.2;
`StreamThread.completeShutdown`, `org.apache.kafka.streams.CloseOptions`,
`AbstractCoordinator.shouldSendLeaveGroupRequest`, `StreamsMembershipManager.leaveGroupOnClose`, Kafka 4.2.0 and 4.3.1;
`.leaveGroupEpoch` and `.isLeavingGroup`, `StreamsGroupHeartbeatRequestManager.shouldSkipLeaveHeartbeat`, kafka-clients
4.4.0.
"""

from __future__ import annotations

from simulator.world.disturbances import BrokerUpgrade, ReplaceThread, RollingBounce, StreamThreads
from simulator.world.group_configs import EndedThreads, GroupConfigs, GroupProtocol
from simulator.world.world import World


def leaves_when_replaced(configs: GroupConfigs, *, is_static: bool) -> bool:
    """Return whether a thread that died of an exception leaves the group when it is replaced."""
    if configs.protocol is GroupProtocol.STREAMS:
        return not is_static and not configs.can_remain_in_streams_group
    return configs.ended_threads is not EndedThreads.CLOSE_OPERATION and _unsubscribes(configs, is_static)


def leaves_when_removed(configs: GroupConfigs, *, is_static: bool) -> bool:
    """Return whether a thread leaves the group when it is removed."""
    if configs.protocol is GroupProtocol.STREAMS or is_static:
        return True
    return configs.ended_threads is EndedThreads.CLOSE_OPERATION or _unsubscribes(configs, is_static)


def _unsubscribes(configs: GroupConfigs, is_static: bool) -> bool:
    """Return whether a member that unsubscribes leaves the group."""
    sends = configs.ended_threads is EndedThreads.UNSUBSCRIBE or configs.leave_group_on_close
    return sends and not is_static


def num_thread_numbers(world: World) -> list[int]:
    """Count the numbers of stream threads in the course of a run.

    A thread gets the lowest free number. A thread that replaces another starts before that has ended. Returns how many
    numbers the threads of each client have.
    """
    threads = {client.name: client.threads for client in world.clients}
    replaced: set[str] = set()
    for event in world.disturbances:
        match event:
            case StreamThreads(clients=clients, threads=number):
                threads.update({client: max(number, threads[client]) for client in clients})
            case ReplaceThread(clients=clients):
                replaced.update(clients)
    return [threads[client.name] + (client.name in replaced) for client in world.clients]


def group_configs_of(world: World, client: str, at_ms: int) -> GroupConfigs:
    """Return the group configs that a client has, given its Kafka release at a time.

    `world`: the disturbances, of which upgrades change releases. `at_ms`: the time; a client that restarts at that time
    has its new release.
    """
    upgrades = [
        (restart_ms, bounce.group_configs)
        for bounce in world.disturbances
        if isinstance(bounce, RollingBounce) and bounce.group_configs is not None
        for name, restart_ms in zip(bounce.clients, bounce.restarts_ms, strict=True)
        if name == client and restart_ms <= at_ms
    ]
    return max(upgrades, key=lambda upgrade: upgrade[0])[1] if upgrades else world.application.group_configs


def releases_after_upgrades(world: World, *, of_brokers: bool) -> frozenset[str]:
    """Return the releases to which brokers, or else clients, are upgraded."""
    if of_brokers:
        return frozenset(event.release for event in world.disturbances if isinstance(event, BrokerUpgrade))
    bounces = (event for event in world.disturbances if isinstance(event, RollingBounce))
    return frozenset(bounce.release for bounce in bounces if bounce.release is not None)


def leaves_on_close(world: World, client: str, leaves_group: bool | None, at_ms: int) -> bool:
    """Return whether a client leaves the group when it closes.

    `world`: the group's protocol and configs, and which members are static. `leaves_group`: the request of the event
    (`CloseOptions.GroupMembershipOperation`); None for the configs' default. `at_ms`: when it closes, with the release
    that it has then. Returns False if the group removes the client after its session timeout only.
    """
    configs = group_configs_of(world, client, at_ms)
    is_static = any(candidate.is_static for candidate in world.clients if candidate.name == client)
    if configs.protocol is GroupProtocol.STREAMS and not is_static:
        return leaves_group is not False or not configs.can_remain_in_streams_group
    if leaves_group is not None:
        return leaves_group
    return configs.leave_group_on_close and not is_static
