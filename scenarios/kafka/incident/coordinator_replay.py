"""The state of a coordinator while its records are read: what streams groups and consumer groups have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from assignors.java.timeline_order import TimelineOrder
from scenarios.kafka.formats.message_schemas import Message
from scenarios.kafka.incident.recorded import RecordedRebalance


@dataclass(slots=True, kw_only=True)
class CoordinatorReplay:
    """Members and targets of a group.

    Attributes:
        members: Metadata by member id.
        order: Member ids in the order of the coordinator's map.
        target: Target by member id.
        current: Current assignment by member id.
        before: Targets before those of an assignment whose epoch has not been read.
        unknown: Members with targets, but without metadata.
        rebalances: Rebalances so far.
    """

    members: dict[str, Message] = field(default_factory=dict)
    order: TimelineOrder = field(default_factory=TimelineOrder)
    target: dict[str, Message] = field(default_factory=dict)
    current: dict[str, Message] = field(default_factory=dict)
    before: dict[str, Message] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    rebalances: list[RecordedRebalance] = field(default_factory=list)

    def put_member(self, member: str, metadata: Message | None) -> None:
        """Set the metadata of a member; None removes it."""
        _put(self.members, member, metadata)
        (self.order.remove if metadata is None else self.order.add)(member)

    def put_target(self, member: str, target: Message | None) -> None:
        """Set the target of a member; None removes it."""
        _put(self.target, member, target)
        if target is None:
            self.before.pop(member, None)

    def put_current(self, member: str, current: Message | None, at_ms: int | None, stable: int) -> None:
        """Set the current assignment of a member, and note when all have reached the last target.

        `current`: the current assignment; None removes it. `at_ms`: time of the record. `stable`: the state of a member
        that has reached its target.
        """
        _put(self.current, member, current)
        if not self.rebalances or self.rebalances[-1].stable_at_ms is not None or not self.members:
            return
        epoch = self.rebalances[-1].number
        states = [self.current.get(name) for name in self.members]
        if all(state is not None and state["memberEpoch"] >= epoch and state["state"] == stable for state in states):
            self.rebalances[-1] = replace(self.rebalances[-1], stable_at_ms=at_ms)

    def end(self, rebalance: RecordedRebalance) -> None:
        """Add a rebalance whose targets are complete."""
        self.unknown |= self.target.keys() - self.members.keys()
        self.rebalances.append(rebalance)
        self.before = dict(self.target)

    def remarks(self) -> Iterator[str]:
        """Yield which records are missing."""
        if self.unknown:
            yield (
                f"The records of {len(self.unknown)} members are incomplete (compacted, or before the first segment): "
                f"{', '.join(sorted(self.unknown)[:3])}."
            )


def _put(values: dict[str, Message], key: str, value: Message | None) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
