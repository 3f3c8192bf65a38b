"""Planned events: the events of a scenario that become disturbances once the seed and the configs of a run are known.

Events that depend on neither are `Disturbance` objects already. Traffic and autoscaling over time need no seed.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import merge
from operator import attrgetter
from typing import Any, Final

from assignors.model.columns import ConsumerUpdate
from scenarios.language.paths import ScenarioPath
from simulator.world.disturbances import Disk, Disturbance, Join, LeaderElection, Leave, TrafficChange
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.pod_events import AT_ONCE, Closing

HOUR_MS: Final = 3_600_000
HOURS_A_DAY: Final = 24


class TrafficProfile:
    """The traffic factor over time: the factor of the hour times the factor of the last traffic event.

    `hourly`: factors per hour from the start of the run, repeated cyclically; empty for a constant factor of 1.
    `events`: times and factors of traffic events, in any order; of several at one time, the last applies.
    `starts_at_ms`: the time of day at which the run starts, if topics have hourly rates; else None.
    """

    def __init__(
        self, hourly: Sequence[float], events: Sequence[tuple[int, float]], starts_at_ms: int | None = None
    ) -> None:
        # Fractions of the decimal representation keep products of factors and ratios of rates exact.
        self._hourly = [Fraction(repr(factor)) for factor in hourly] or [Fraction(1)]
        ordered = sorted(events, key=lambda pair: pair[0])
        self._times = [at_ms for at_ms, _ in ordered]
        self._factors = [Fraction(repr(factor)) for _, factor in ordered]
        self._starts_at_ms = starts_at_ms

    def factor_at(self, at_ms: int) -> Fraction:
        """Return the traffic factor at a time."""
        position = bisect_right(self._times, at_ms)
        factor = self._factors[position - 1] if position else Fraction(1)
        return self._hourly[at_ms // HOUR_MS % len(self._hourly)] * factor

    def hour_at(self, at_ms: int) -> int | None:
        """Return the hour of the day (0 to 23) at a time, or None if topics have no hourly rates."""
        return None if self._starts_at_ms is None else (at_ms + self._starts_at_ms) // HOUR_MS % HOURS_A_DAY

    def change_at(self, at_ms: int) -> TrafficChange:
        """Return the traffic from a time on."""
        return TrafficChange(at_ms, float(self.factor_at(at_ms)), self.hour_at(at_ms))

    def changes(self) -> Iterator[TrafficChange]:
        """Yield all changes in order, without an end if the traffic changes by the hour."""
        yield from merge(map(self.change_at, self._times), self.hourly_changes(sys.maxsize), key=attrgetter("at_ms"))

    def hourly_changes(self, duration_ms: int) -> Iterator[TrafficChange]:
        """Yield the changes at full hours, including the start, except at times of traffic events."""
        if len(self._hourly) == 1 and self._starts_at_ms is None:
            return
        event_times = set(self._times)
        for full_ms in range(-((self._starts_at_ms or 0) % HOUR_MS), duration_ms, HOUR_MS):
            at_ms = max(full_ms, 0)
            before = (self.factor_at(at_ms - 1), self.hour_at(at_ms - 1)) if at_ms else (1, None)
            if (self.factor_at(at_ms), self.hour_at(at_ms)) != before and at_ms not in event_times:
                yield self.change_at(at_ms)


MAX_OCCURRENCES: Final = 20_000
"""The maximum number of occurrences of one event or of the daily traffic profile, for example hourly for two years."""


@dataclass(frozen=True, slots=True)
class ConfigEdit:
    """A config change. `changes`: new values by field of `AssignmentConfigs`."""

    at_ms: int
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CrashPlan:
    """A crash of `pick` clients that are up, selected by the seed.

    `client_names`: the clients as the scenario names them; part of the name of the random stream. The other fields are
    those of `simulator.world.disturbances.Crash`.
    """

    at_ms: int
    client_names: tuple[str, ...]
    clients: tuple[str, ...]
    pick: int
    down_ms: int | None
    disk: Disk


@dataclass(frozen=True, slots=True)
class RollingBouncePlan:
    """A rolling restart of clients; other fields are those of `simulator.world.disturbances.RollingBounce`.

    `client_names`: as in `CrashPlan`. `clients`: in restart order, before the seed shuffles it if `is_shuffled`.
    `changes`: the configs that change with the restart, as in `ConfigEdit`. `group_configs`: those of the new release,
    by protocol; empty if the release does not change.
    """

    at_ms: int
    client_names: tuple[str, ...]
    clients: tuple[str, ...]
    is_shuffled: bool
    down_ms: int
    pause_ms: int
    disk: Disk
    changes: Mapping[str, Any]
    announces_rack: bool | None
    closing: Closing
    release: str | None = None
    group_configs: Mapping[GroupProtocol, GroupConfigs] = field(default_factory=dict)
    consumer: ConsumerUpdate | None = None

    @property
    def interval_ms(self) -> int:
        """The time between two restarts."""
        return self.closing.ends_after_ms + self.down_ms + self.pause_ms


@dataclass(frozen=True, slots=True)
class BrokerUpgradePlan:
    """An upgrade of all brokers; the fields are those of `simulator.world.disturbances.BrokerUpgrade`.

    `group_configs`: the group configs with the new release, by protocol.
    """

    at_ms: int
    brokers: tuple[int, ...]
    down_ms: int
    pause_ms: int
    release: str
    group_configs: Mapping[GroupProtocol, GroupConfigs]


@dataclass(frozen=True, slots=True)
class ChurnPlan:
    """Random crashes and joins of clients.

    `client_names`: as in `CrashPlan`. `crashes_per_h`: mean number over all clients that are up. `joins_per_h`: mean
    number of clients that have never been up. `down_ms`: mean downtime after a crash; None if crashed clients never
    restart.
    """

    at_ms: int
    client_names: tuple[str, ...]
    clients: tuple[str, ...]
    until_ms: int
    crashes_per_h: float
    joins_per_h: float
    down_ms: int | None
    disk: Disk


@dataclass(frozen=True, slots=True)
class PartitionsPlan:
    """A topic that gets more partitions, `num_partitions` in all.

    `replicas`: the brokers of each new partition; None for Kafka's placement, which depends on the seed.
    """

    at_ms: int
    topic: str
    num_partitions: int
    replicas: tuple[tuple[int, ...], ...] | None


@dataclass(frozen=True, slots=True)
class ReassignmentPlan:
    """A partition reassignment that a strategy plans from the cluster at that time.

    `path`: that of the event in the scenario. `strategy`: name in `assignors.replicas.registry`. `topics`: those that
    may change; None for all. `removed`: ids of brokers to decommission. `replication_factor`, `rack_aware`: as in
    `assignors.replicas.plan.PlanRequest`. The other fields are those of `simulator.world.disturbances.Reassignment`.
    """

    at_ms: int
    path: ScenarioPath
    strategy: str
    parameters: tuple[tuple[str, Any], ...]
    topics: tuple[str, ...] | None
    removed: tuple[int, ...]
    replication_factor: int | None
    rack_aware: bool
    throttle_bytes_per_s: int | None
    batch: int | None
    election: LeaderElection


PlannedEvent = (
    Disturbance
    | ConfigEdit
    | CrashPlan
    | RollingBouncePlan
    | BrokerUpgradePlan
    | ChurnPlan
    | PartitionsPlan
    | ReassignmentPlan
)


@dataclass(frozen=True, slots=True)
class AutoscalePlan:
    """An autoscaled pool of clients; the first clients join first and leave last.

    `bytes_per_s`: capacity of one client. `every_ms`: interval between two evaluations. `closing`: how clients are
    stopped.
    """

    at_ms: int
    clients: tuple[str, ...]
    bytes_per_s: int
    every_ms: int
    min_clients: int
    max_clients: int
    closing: Closing = AT_ONCE

    def events(
        self, present: Collection[str], source_bytes_per_s: Sequence[int], profile: TrafficProfile, duration_ms: int
    ) -> Iterator[Join | Leave]:
        """Yield the joins and leaves that match the capacity to the traffic, by time; crashes have no influence.

        `present`: the clients of the pool that are up at the start; `source_bytes_per_s`: traffic of all source topics
        at factor 1: one value, or 24 hourly values if the profile distinguishes hours.
        """
        present = set(present)
        for at_ms in range(self.at_ms, duration_ms, self.every_ms):
            base_bytes_per_s = source_bytes_per_s[profile.hour_at(at_ms) or 0]
            required = math.ceil(base_bytes_per_s * profile.factor_at(at_ms) / self.bytes_per_s)
            surplus = len(present) - min(max(required, self.min_clients), self.max_clients)
            if surplus < 0:
                joining = [client for client in self.clients if client not in present][:-surplus]
                present.update(joining)
                yield Join(at_ms, tuple(joining))
            elif surplus > 0:
                leaving = [client for client in reversed(self.clients) if client in present][:surplus]
                present.difference_update(leaving)
                yield Leave(at_ms, tuple(leaving), closing=self.closing)
