"""Which events a rebalance answers.

A change of an event calls for a rebalance at once (a client joins or leaves, configs change), later (the group misses
a dead client after its session timeout) or never (a static member returns in time, a broker restarts unnoticed).
Follow-up rebalances have no cause of their own: they belong to the rebalance that asked for them.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

from simulator.group.classic_group import Member

START: Final = 0
"""The number of the start of a run among its events."""


class Cause(NamedTuple):
    """A change that calls for a rebalance: the number of its event, and when it happened."""

    event: int
    at_ms: int


class RebalanceCauses:
    """The causes that no rebalance has answered yet."""

    def __init__(self) -> None:
        self._pending: dict[Cause, None] = {}
        self._unnoticed: dict[Member, Cause] = {}

    def call(self, cause: Cause) -> None:
        """Note a change that calls for a rebalance."""
        self._pending[cause] = None

    def lose(self, member: Member, cause: Cause) -> None:
        """Note a member that died; its cause counts as soon as the group has removed it."""
        self._unnoticed[member] = cause

    def rejoin(self, client: str, cause: Cause, *, rebalances: bool, replaces: bool) -> None:
        """Note that a client has started, and with it why it was away.

        Args:
            client: its name.
            cause: the start.
            rebalances: whether the group rebalances, now or later; a static member may be back without.
            replaces: whether it takes the place of the member that died, which the group does not remove then.
        """
        if rebalances:
            self.call(cause)
        for member in [member for member in self._unnoticed if member.client == client]:
            if rebalances:
                self.call(self._unnoticed[member])
            if replaces:
                del self._unnoticed[member]

    def answer(self, members: Container[Member]) -> tuple[Cause, ...]:
        """Return the causes of a rebalance that takes effect, by time, and forget them.

        Args:
            members: the group; dead members that it no longer has are causes too.
        """
        for member in [member for member in self._unnoticed if member not in members]:
            self.call(self._unnoticed.pop(member))
        answered, self._pending = self._pending, {}
        return tuple(sorted(answered, key=lambda cause: (cause.at_ms, cause.event)))

    @property
    def unanswered(self) -> tuple[Cause, ...]:
        """The causes that wait for a rebalance, by time."""
        waiting = dict.fromkeys((*self._pending, *self._unnoticed.values()))
        return tuple(sorted(waiting, key=lambda cause: (cause.at_ms, cause.event)))
