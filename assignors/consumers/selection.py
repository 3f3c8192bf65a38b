"""Which assignor a group of the classic protocol has, if its members list different ones.

Each member lists assignors in `partition.assignment.strategy`, the preferred one first. It votes for the first one that
all members list, and the assignor with most votes assigns. Of several with as many votes, the first one in a hash table
does; brokers older than 4.0 may take another one.

A member rebalances cooperatively only if all its assignors can.

In a group of the consumer protocol, members may name an assignor of the coordinator in `group.remote.assignor`. The one
that most members name assigns; if none does, the first one of the brokers' `group.consumer.assignors`.

Source: `org.apache.kafka.coordinator.group.classic.ClassicGroup.selectProtocol` and `.candidateProtocols`,
`ClassicGroupMember.vote`, `ConsumerCoordinator` (the constructor), `ConsumerGroup.computePreferredServerAssignor`,
`GroupCoordinatorConfig.CONSUMER_GROUP_ASSIGNORS_DEFAULT`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from assignors.java.hash_order import StringHashMap

STICKY: Final = "sticky"
"""An eager assignor whose members send their last assignment, although they have revoked it."""

COOPERATIVE_STICKY: Final = "cooperative-sticky"
"""The only assignor of Kafka that supports the cooperative rebalance protocol (KIP-429)."""


UNIFORM: Final = "uniform"
"""The coordinator's default assignor."""

BROKER_RANGE: Final = "broker-range"
"""The name of the coordinator's range, since the assignor of the client has Kafka's name `range`, too."""


def is_eager(strategies: Sequence[str]) -> bool:
    """Return whether a member that lists these assignors revokes all partitions before it joins a rebalance."""
    return any(name != COOPERATIVE_STICKY for name in strategies)


def select_assignor(members: Sequence[Sequence[str]]) -> str | None:
    """Return the assignor of a group.

    `members`: the assignors that each member lists, in the order of the coordinator's map; at least one member. Returns
    the name of the assignor; None if the members have none in common, so that the coordinator rejects a member.
    """
    common = set(members[0]).intersection(*members[1:])
    if not common:
        return None
    votes = Counter(next(name for name in listed if name in common) for listed in members)
    return _most_votes(votes)


def select_server_assignor(named: Iterable[str | None], of_trigger: str | None = None) -> str:
    """Return the assignor of the coordinator for a group of the consumer protocol.

    In a tie, UNIFORM assigns, which is the first one in the coordinator's table. But if the member whose request
    triggers the target has the only vote for its assignor, that one assigns: the coordinator takes the vote out of a
    copy of the table and puts it back, which adds it before the other one (`HashMap.compute`). `named`: the assignor
    that each member of the protocol names, UNIFORM or BROKER_RANGE; None if it names none. `of_trigger`: the assignor
    that the member names whose request triggers the target; None if it names none.
    """
    votes = Counter(name for name in named if name is not None)
    most = max(votes.values(), default=0)
    if of_trigger is not None and votes[of_trigger] == most == 1:
        return of_trigger
    return UNIFORM if votes[UNIFORM] == most else BROKER_RANGE


def _most_votes(votes: Counter[str]) -> str:
    """Return the name with most votes; of several, the first one in a hash table."""
    order = StringHashMap()
    for name in votes:
        order.add(name)
    return max(order, key=votes.__getitem__)
