"""Which assignor the coordinator of a consumer group selects in each rebalance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from simulator.assignment.leader import Leader
from simulator.group.member import ComputeAssignment, Member


class SelectedAssignor:
    """The assignor that the coordinator selected last; none for Kafka Streams.

    `name`: its name; None before the first rebalance, and if members have none in common.
    """

    def __init__(self, leader: Leader) -> None:
        self._leader = leader
        self.name: str | None = None

    def select(self, members: Iterable[Member]) -> None:
        """Note the assignor of a group that is running."""
        self.name = self._leader.selected_assignor(members)

    def update(self, instruction: ComputeAssignment) -> ComputeAssignment:
        """Note the assignor for the members of a rebalance; if it is another one than before, the reason says so."""
        before = self.name
        self.select(instruction.members)
        if before is None or self.name in (None, before):
            return instruction
        return replace(instruction, reason=f"{instruction.reason}, the assignor is now {self.name}")

    def changes_with(self, members: Iterable[Member]) -> bool:
        """Return whether the coordinator would select another assignor for members than in the last rebalance."""
        return self.name is not None and self.name != self._leader.selected_assignor(members)
