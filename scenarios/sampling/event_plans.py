"""What will happen, as far as a scenario says it: a seed and the configs of a run make disturbances of it.

What needs neither is a disturbance from the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from scenarios.language.paths import ScenarioPath
from simulator.world.disturbances import Disturbance, LeaderElection

MAX_OCCURRENCES: Final = 20_000
"""How often anything may happen by one event, or by the daily profile of traffic: each hour for two years, say."""


@dataclass(frozen=True, slots=True)
class ConfigEdit:
    """Some configs change; `changes` are fields of `AssignmentConfigs`, the others stay as they are."""

    at_ms: int
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CrashPlan:
    """Some of several clients die.

    Attributes:
        said: the clients as the scenario names them, after which the draw is named.
        clients: all of them.
        pick: how many of those that are up.
        down_ms: as in `simulator.world.disturbances.Crash`, just as the rest.
    """

    at_ms: int
    client_names: tuple[str, ...]
    clients: tuple[str, ...]
    pick: int
    down_ms: int | None
    keeps_state: bool


@dataclass(frozen=True, slots=True)
class RollingBouncePlan:
    """Clients restart one after the other.

    Attributes:
        said: as in `CrashPlan`.
        is_shuffled: whether the seed draws the order.
        changes: the configs that are others when they come back, as in `ConfigEdit`.
        down_ms: as in `simulator.world.disturbances.RollingBounce`, as are the other fields.
    """

    at_ms: int
    client_names: tuple[str, ...]
    clients: tuple[str, ...]
    is_shuffled: bool
    down_ms: int
    pause_ms: int
    keeps_state: bool
    changes: Mapping[str, Any]
    announces_rack: bool | None
    leaves_group: bool | None


@dataclass(frozen=True, slots=True)
class ChurnPlan:
    """Clients crash and join by chance.

    Attributes:
        said: as in `CrashPlan`.
        until_ms: when it ends.
        crashes_per_h: how often one of the clients that are up crashes, on average.
        joins_per_h: how often the next client joins that was never there, on average.
        down_ms: how long one that crashed is down, on average; None if for good.
    """

    at_ms: int
    client_names: tuple[str, ...]
    clients: tuple[str, ...]
    until_ms: int
    crashes_per_h: float
    joins_per_h: float
    down_ms: int | None
    keeps_state: bool


@dataclass(frozen=True, slots=True)
class ReassignmentPlan:
    """Partitions are reassigned as a strategy plans it, from the cluster as it stands then.

    Attributes:
        path: where the scenario says so.
        strategy: its name in `assignors.replicas.registry`.
        parameters: of the strategy itself.
        topics: those that may change; None for all.
        removed: ids of brokers that shall hold nothing.
        replication_factor: as in `assignors.replicas.plan.PlanRequest`, just as `rack_aware`.
        throttle_bytes_per_s: as in `simulator.world.disturbances.Reassignment`, just as the rest.
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


PlannedEvent = Disturbance | ConfigEdit | CrashPlan | RollingBouncePlan | ChurnPlan | ReassignmentPlan
