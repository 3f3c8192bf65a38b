"""Successive rebalances of a group: membership changes and assignments over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from scenarios.kafka.observation.observation import ObservedConsumer, ObservedProcess


@dataclass(frozen=True, slots=True)
class MembershipChange:
    """Processes, or consumers, that joined or left between two rebalances.

    Attributes:
        at_ms: Time since the start of the history.
        kind: Whether the processes joined, left, or crashed and returned.
        process_ids: Process ids, sorted; member ids of consumers.
        leaves_group: Whether processes that stopped left the group, so that it did not wait for their session timeout.
        down_ms: Time until processes that crashed returned.
    """

    at_ms: int
    kind: Literal["join", "leave", "crash"]
    process_ids: tuple[str, ...]
    leaves_group: bool = False
    down_ms: int | None = None


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


@dataclass(frozen=True, slots=True)
class ConsumerHistory:
    """What followed the observed state of a consumer group.

    Attributes:
        newcomers: Consumers that were not members at the start.
        names: Distinct client name of each consumer, by member id.
        changes: Membership changes, by time; consumers that close leave the group unless they are static.
        last_ms: Time of the last rebalance since the start.
    """

    newcomers: tuple[ObservedConsumer, ...]
    names: Mapping[str, str]
    changes: tuple[MembershipChange, ...]
    last_ms: int
