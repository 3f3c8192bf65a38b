"""The changes of a plan: partitions with their replicas before and after, and brokers with what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PartitionChange:
    """A partition whose replicas or leader change.

    Attributes:
        topic: name of the topic.
        before: broker ids of its replicas, the preferred leader first.
        after: broker ids of its replicas after the plan, the preferred leader first.
        leader: broker id of the current leader; None without one.
        new_leader: broker id of the leader after the plan.
        copied_bytes: bytes to copy; None if sizes are unknown.
    """

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    leader: int | None
    new_leader: int
    copied_bytes: int | None

    @property
    def num_copies(self) -> int:
        """The number of replicas to copy."""
        return len(set(self.after) - set(self.before))


@dataclass(frozen=True, slots=True)
class BrokerChange:
    """What a broker holds before and after a plan.

    Attributes:
        broker: broker id.
        rack: its rack; None if it has none or it is unknown.
        replicas: number of replicas, before and after.
        leaders: number of partitions of which it is the preferred leader, before and after.
        bytes: size of its replicas, before and after; None if sizes are unknown.
    """

    broker: int
    rack: str | None
    replicas: tuple[int, int]
    leaders: tuple[int, int]
    bytes: tuple[int, int] | None

    @classmethod
    def of(cls, before: Mapping[str, Any], after: Mapping[str, Any]) -> BrokerChange:
        """Return the change from two rows of the table `brokers`."""
        sizes = None if before["bytes"] is None else (before["bytes"], after["bytes"])
        replicas, leaders = ((before[key], after[key]) for key in ("replicas", "leaders"))
        return cls(before["broker"], before["rack"], replicas, leaders, sizes)


def change_records(changes: Sequence[PartitionChange], brokers: Sequence[BrokerChange]) -> dict[str, Any]:
    """Return the changes of a plan as a record for JSON."""
    return {"partitions": [asdict(change) for change in changes], "brokers": [asdict(broker) for broker in brokers]}
