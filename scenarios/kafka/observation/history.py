"""What a leader's log tells beyond one moment: who came and went when, and what each round assigned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scenarios.kafka.observation.observation import ObservedProcess


@dataclass(frozen=True, slots=True)
class MembershipChange:
    """Processes that were there in a round and not in the one before, or the other way round.

    Attributes:
        at_ms: when, from the start of the trace.
        process_ids: sorted.
        leaves_group: whether processes that went left the group, so that it did not wait for their sessions.
    """

    at_ms: int
    kind: Literal["join", "leave"]
    process_ids: tuple[str, ...]
    leaves_group: bool = False


@dataclass(frozen=True, slots=True)
class ObservedRebalance:
    """What one round assigned.

    Attributes:
        number: from 0, which is the assignment that the trace starts with.
        at_ms: when it was logged, from the start of the trace.
        active: the process of each task.
        standby: the processes of each task that has any, sorted.
        is_stable: whether no follow-up was asked for; None if that was not logged.
    """

    number: int
    at_ms: int
    active: dict[str, str]
    standby: dict[str, tuple[str, ...]]
    is_stable: bool | None


@dataclass(frozen=True, slots=True)
class RebalanceHistory:
    """Successive rounds of one group.

    Attributes:
        newcomers: the processes that were not there at first.
        changes: by time.
        rounds: by time, the first assignment included.
    """

    newcomers: tuple[ObservedProcess, ...]
    changes: tuple[MembershipChange, ...]
    rounds: tuple[ObservedRebalance, ...]
