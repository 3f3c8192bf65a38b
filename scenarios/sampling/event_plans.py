"""Planned events: the events of a scenario that become disturbances once the seed and the configs of a run are known.

Events that depend on neither are `Disturbance` objects already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from assignors.model.columns import ConsumerUpdate
from scenarios.language.paths import ScenarioPath
from simulator.world.disturbances import Disk, Disturbance, LeaderElection
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.pod_events import Closing

MAX_OCCURRENCES: Final = 20_000
"""The maximum number of occurrences of one event or of the daily traffic profile, for example hourly for two years."""


@dataclass(frozen=True, slots=True)
class ConfigEdit:
    """A config change.

    Attributes:
        at_ms: the time of the change.
        changes: new values by field of `AssignmentConfigs`.
    """

    at_ms: int
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CrashPlan:
    """A crash of clients that the seed selects.

    Attributes:
        at_ms: the time of the crash.
        client_names: the clients as the scenario names them; part of the name of the random stream.
        clients: all clients to select from.
        pick: number of clients to select from those that are up.
        down_ms: as in `simulator.world.disturbances.Crash`.
        disk: as in `simulator.world.disturbances.Crash`.
    """

    at_ms: int
    client_names: tuple[str, ...]
    clients: tuple[str, ...]
    pick: int
    down_ms: int | None
    disk: Disk


@dataclass(frozen=True, slots=True)
class RollingBouncePlan:
    """A rolling restart of clients.

    Attributes:
        client_names: as in `CrashPlan`.
        clients: the clients in restart order, before shuffling.
        is_shuffled: whether the seed shuffles the order.
        changes: the configs that change with the restart, as in `ConfigEdit`.
        group_configs: those of the new release, by protocol; empty if the release does not change.

    The other fields are those of `simulator.world.disturbances.RollingBounce`.
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

    Attributes:
        at_ms: the start.
        client_names: as in `CrashPlan`.
        clients: all clients concerned.
        until_ms: the end.
        crashes_per_h: mean number of crashes per hour, over all clients that are up.
        joins_per_h: mean number of joins per hour of clients that have never been up.
        down_ms: mean downtime after a crash; None if crashed clients never restart.
        disk: as in `simulator.world.disturbances.Crash`.
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
    """A topic that gets more partitions.

    Attributes:
        at_ms: the time.
        topic: its name.
        num_partitions: its number of partitions from then on.
        replicas: the brokers of each new partition; None for Kafka's placement, which depends on the seed.
    """

    at_ms: int
    topic: str
    num_partitions: int
    replicas: tuple[tuple[int, ...], ...] | None


@dataclass(frozen=True, slots=True)
class ReassignmentPlan:
    """A partition reassignment that a strategy plans from the cluster at that time.

    Attributes:
        at_ms: the start.
        path: the path of the event in the scenario.
        strategy: name in `assignors.replicas.registry`.
        parameters: parameters of the strategy.
        topics: topics that may change; None for all.
        removed: ids of brokers to decommission.
        replication_factor: as in `assignors.replicas.plan.PlanRequest`.
        rack_aware: as in `assignors.replicas.plan.PlanRequest`.

    The other fields are those of `simulator.world.disturbances.Reassignment`.
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
