"""Successive rebalances of a group: membership changes and assignments over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scenarios.kafka.observation.observation import ObservedProcess


@dataclass(frozen=True, slots=True)
class MembershipChange:
    """Processes that joined or left between two rebalances.

    Attributes:
        at_ms: Time since the start of the history.
        kind: Whether the processes joined or left.
        process_ids: Process ids, sorted.
        leaves_group: Whether processes that stopped left the group, so that it did not wait for their session timeout.
    """

    at_ms: int
    kind: Literal["join", "leave"]
    process_ids: tuple[str, ...]
    leaves_group: bool = False


@dataclass(frozen=True, slots=True)
class ObservedRebalance:
    """The assignment of one rebalance.

    Attributes:
        number: Number of the rebalance; 0 is the initial assignment of the history.
        at_ms: Time since the start of the history.
        active: Process id of each task's active copy.
        standby: Process ids of each task's standby copies, sorted; tasks without standbys are omitted.
        is_stable: Whether no follow-up rebalance was requested; None if not logged.
    """

    number: int
    at_ms: int
    active: dict[str, str]
    standby: dict[str, tuple[str, ...]]
    is_stable: bool | None


@dataclass(frozen=True, slots=True)
class RebalanceHistory:
    """Successive rebalances of one group.

    Attributes:
        newcomers: Processes that were not members at the start.
        changes: Membership changes, by time.
        rebalances: Rebalances by time, including the initial assignment.
    """

    newcomers: tuple[ObservedProcess, ...]
    changes: tuple[MembershipChange, ...]
    rebalances: tuple[ObservedRebalance, ...]
