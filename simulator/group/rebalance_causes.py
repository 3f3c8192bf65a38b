"""The causes of rebalances: the events whose changes lead to a rebalance.

A change of an event causes a rebalance immediately (a client joins or leaves, configs change), later (the group removes
a crashed client after its session timeout) or never (a static member returns in time, a broker restarts unnoticed).
Follow-up rebalances have no cause of their own: they belong to the rebalance that requested them.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

from simulator.group.member import Member

START: Final = 0
"""The number of the start of a run among its events."""


class Cause(NamedTuple):
    """A change that causes a rebalance. `at_ms`: when it happened."""

    event: int
    at_ms: int


class RebalanceCauses:
    """The causes that no rebalance has processed yet."""

    def __init__(self) -> None:
        self._pending: dict[Cause, None] = {}
        self._of_crashed: dict[Member, Cause] = {}

    def add(self, cause: Cause) -> None:
        """Note a change that causes a rebalance."""
        self._pending[cause] = None

    def add_crash(self, member: Member, cause: Cause) -> None:
        """Note a member that fell silent; its cause counts when the group has removed it."""
        self._of_crashed[member] = cause

    def has_crashed(self, member: Member) -> bool:
        """Return whether a member fell silent, and the group has not removed it in a rebalance since."""
        return member in self._of_crashed

    def add_start(self, member: Member, cause: Cause, *, rebalances: bool, replaces: bool) -> None:
        """Note that a member has started, and the crash before it.

        `rebalances` says whether the group rebalances, now or later; it does not if a static member is back in time.
        `replaces` says whether the member replaces its crashed one, which the group then does not remove.
        """
        if rebalances:
            self.add(cause)
        crashed = [
            before for before in self._of_crashed if (before.client, before.thread) == (member.client, member.thread)
        ]
        for before in crashed:
            if rebalances:
                self.add(self._of_crashed[before])
            if replaces:
                del self._of_crashed[before]

    def take(self, members: Container[Member]) -> tuple[Cause, ...]:
        """Return the causes of a rebalance that takes effect, by time, and forget them.

        `members`: the members of the group; the crashes of removed members are causes, too.
        """
        for member in [member for member in self._of_crashed if member not in members]:
            self.add(self._of_crashed.pop(member))
        taken, self._pending = self._pending, {}
        return tuple(sorted(taken, key=lambda cause: (cause.at_ms, cause.event)))

    @property
    def pending(self) -> tuple[Cause, ...]:
        """Return the causes that no rebalance has processed, by time."""
        pending = dict.fromkeys((*self._pending, *self._of_crashed.values()))
        return tuple(sorted(pending, key=lambda cause: (cause.at_ms, cause.event)))
