"""Whether a stream thread that ends while its client goes on leaves the group.

Classic protocol, a thread that `StreamsUncaughtExceptionHandler` replaces (REPLACE_THREAD): up to 4.0, it unsubscribes,
which makes a dynamic member leave. In 4.1, unsubscribing sends a LeaveGroup request only with
`internal.leave.group.on.close`. From 4.2 on, `KafkaStreams.replaceStreamThread` closes it with REMAIN_IN_GROUP. A
member that stays blocks the rebalance for its replacement until its session times out.

A thread that `KafkaStreams.removeStreamThread` ends leaves, too: up to 4.1 a dynamic one like a replaced one, and a
static one by `Admin.removeMembersFromConsumerGroup`; from 4.2 on both close with LEAVE_GROUP.

Streams protocol: a member leaves when its consumer closes, except for a static one that is replaced: its consumer
closes with REMAIN_IN_GROUP. From Kafka 4.4 on, a replaced dynamic one stays, too, until its session times out.

Source: `StreamThread.run` and `.completeShutdown`, `KafkaStreams.replaceStreamThread` and `.removeStreamThread`,
`AbstractCoordinator.maybeLeaveGroup`, Kafka 3.9.1, 4.0.0, 4.1.2, 4.2.0 and 4.3.1;
`StreamsGroupHeartbeatRequestManager.shouldSkipLeaveHeartbeat`, kafka-clients 4.4.0.
"""

from __future__ import annotations

from simulator.world.disturbances import ReplaceThread, StreamThreads
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
