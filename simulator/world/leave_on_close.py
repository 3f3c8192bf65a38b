"""Whether a client that closes leaves its group: one rule for every event in which clients close.

Classic protocol: a member that closes without a LeaveGroup request stays in the group until its session times out. By
default, `KafkaStreams.close` sends none, for dynamic and for static members.

- Up to Kafka 4.1, `internal.leave.group.on.close` makes dynamic members send it, and `CloseOptions.leaveGroup(true)`
  removes static members only.
- From 4.2 on (KIP-1284), `CloseOptions` with `LEAVE_GROUP` makes every member leave. The config does not exist anymore.

A killed process never leaves; see `simulator.world.closing`.

Streams protocol: a dynamic member leaves, with a heartbeat of epoch -1; up to Kafka 4.3 whatever `CloseOptions` say.
From 4.4 on, it sends nothing with `REMAIN_IN_GROUP`, and stays in the group until its session times out. A static one
(from 4.4 on) reports epoch -2 and stays in the group until its session times out, except with `LEAVE_GROUP`.

Source: `KafkaStreams.shutdownHelper` and `streamThreadLeaveConsumerGroup`, `AbstractCoordinator.maybeLeaveGroup`,
`ConsumerConfig.LEAVE_GROUP_ON_CLOSE_CONFIG`, Kafka 3.8.1, 3.9.1 and 4.1.1; `StreamThread.completeShutdown`,
`org.apache.kafka.streams.CloseOptions`, `AbstractCoordinator.shouldSendLeaveGroupRequest`,
`StreamsMembershipManager.leaveGroupOnClose`, Kafka 4.2.0 and 4.3.1; `.leaveGroupEpoch` and `.isLeavingGroup`,
`StreamsGroupHeartbeatRequestManager.shouldSkipLeaveHeartbeat`, kafka-clients 4.4.0.
"""

from __future__ import annotations

from simulator.world.client_releases import group_configs_of
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import World


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
