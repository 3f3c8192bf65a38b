"""The sampling of planned events into the disturbances of one run.

Guarantees: the random stream of a draw is named after the event (kind, time, clients), so that other events and the
assignor do not change it. Absent clients are skipped, and churn skips clients with other events in the same period.
Complexity: O(clients) per draw.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from assignors.model.configs import AssignmentConfigs
from assignors.replicas.admin_utils import assign_replicas_to_brokers
from simulator.random_streams import random_stream
from simulator.timeline import timeline
from simulator.world.changes import ClientDown, ClientUp, Disturbance
from simulator.world.disturbances import Join, Reassignment
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import Broker, World


@dataclass(frozen=True, slots=True)
class _Absence:
    """An additional downtime of a client; `until_ms` is None if the client never returns."""

    from_ms: int
    until_ms: int | None

    def covers(self, at_ms: int) -> bool:
        return self.from_ms <= at_ms and (self.until_ms is None or at_ms < self.until_ms)

    def overlaps(self, from_ms: int, until_ms: int | None) -> bool:
        begins_late = until_ms is not None and self.from_ms > until_ms
        ends_early = self.until_ms is not None and self.until_ms < from_ms
        return not begins_late and not ends_early


class ClientUptime:
    """When clients are up, with joins and absences that are added as they are drawn.

    `world`: the world with the disturbances that do not depend on chance.
    """

    def __init__(self, world: World) -> None:
        self._starts = {client.name: client.starts for client in world.clients}
        self._times: dict[str, list[int]] = {client.name: [] for client in world.clients}
        self._ups: dict[str, list[bool]] = {client.name: [] for client in world.clients}
        self._joins: dict[str, list[int]] = {client.name: [] for client in world.clients}
        self._absences: dict[str, list[_Absence]] = {client.name: [] for client in world.clients}
        for timed in timeline(world):
            if isinstance(timed.change, ClientUp | ClientDown):
                self._times[timed.change.client].append(timed.at_ms)
                self._ups[timed.change.client].append(isinstance(timed.change, ClientUp))
        for disturbance in world.disturbances:
            if isinstance(disturbance, Join):
                for i, client in enumerate(disturbance.clients):
                    insort(self._joins[client], disturbance.at_ms + i * disturbance.every_ms)

    def is_up(self, client: str, at_ms: int) -> bool:
        """Return whether a client is up after all events at that time."""
        return self._absence(client, at_ms) is None and self._is_up_by_events(client, at_ms)

    def is_up_or_returning(self, client: str, at_ms: int) -> bool:
        """Return whether a client is up, or is down and will return without a join event."""
        absence, joins = self._absence(client, at_ms), self._joins[client]
        if absence is not None and (absence.until_ms is None or absence.until_ms in joins):
            return False
        if self._is_up_by_events(client, at_ms):
            return True
        following = range(bisect_right(self._times[client], at_ms), len(self._times[client]))
        back_ms = next((self._times[client][i] for i in following if self._ups[client][i]), None)
        return back_ms is not None and back_ms not in joins

    def is_undisturbed(self, client: str, from_ms: int, until_ms: int | None) -> bool:
        """Return whether a client has no event from `from_ms` to `until_ms`, both inclusive; None for no end."""
        times = self._times[client]
        position = bisect_left(times, from_ms)
        if position < len(times) and (until_ms is None or times[position] <= until_ms):
            return False
        return not any(absence.overlaps(from_ms, until_ms) for absence in self._absences[client])

    def never_joins(self, client: str) -> bool:
        """Return whether a client is absent at the start and never joins."""
        return not self._starts[client] and not self._times[client]

    def add_join(self, client: str, at_ms: int) -> None:
        """Add the join of a client that has never been up."""
        self._times[client].append(at_ms)
        self._ups[client].append(True)
        self._joins[client].append(at_ms)

    def add_absence(self, client: str, from_ms: int, until_ms: int | None) -> None:
        """Add a downtime of a client that is up; it ends at `until_ms`, or at an earlier join."""
        joins = self._joins[client]
        position = bisect_right(joins, from_ms)
        if position < len(joins) and (until_ms is None or joins[position] < until_ms):
            until_ms = joins[position]
        self._absences[client].append(_Absence(from_ms, until_ms))

    def _absence(self, client: str, at_ms: int) -> _Absence | None:
        return next((absence for absence in self._absences[client] if absence.covers(at_ms)), None)

    def _is_up_by_events(self, client: str, at_ms: int) -> bool:
        position = bisect_right(self._times[client], at_ms)
        return self._ups[client][position - 1] if position else self._starts[client]


class EventPlan(ABC):
    """An event that becomes disturbances once the seed and the configs of a run are known; subclasses are dataclasses.

    Attributes:
        at_ms: the time of the event.
        is_random: whether it depends on the seed, or on the events before.
        avoids_others: whether it becomes disturbances after all others, which it avoids.
    """

    __slots__ = ()

    at_ms: int
    is_random: ClassVar[bool] = True
    avoids_others: ClassVar[bool] = False

    @abstractmethod
    def realize(self, sampling: EventSampling) -> Iterator[Disturbance]:
        """Yield the disturbances."""

    @property
    def num_changes(self) -> float:
        """How many times it changes the group, as of a `Disturbance`."""
        return 1.0

    def conflict(self, read: Collection[str], reader: str) -> str | None:
        """Return why a neighbor that reads some topics cannot run beside the scenario `reader` with it, if so."""
        return None


PlannedEvent = Disturbance | EventPlan
"""An event of a scenario; those that depend neither on the seed nor on configs are disturbances already."""


@dataclass(slots=True)
class EventSampling:
    """What the events of one run become, one after another.

    `world`: the world without disturbances; its application has the configs of the run. `stream_prefix`: as in
    `realize_events`. `uptime`: when clients are up. `configs`: those of the run with all changes so far. `known`: the
    disturbances that do not depend on chance, and the reassignments planned so far. `num_partitions`: of the topics
    that have been changed.
    """

    world: World
    stream_prefix: tuple[str, ...]
    configs: AssignmentConfigs
    uptime: ClientUptime = field(init=False)
    known: list[Disturbance] = field(default_factory=list)
    num_partitions: dict[str, int] = field(default_factory=dict)
    _use_counts: Counter[tuple[str, ...]] = field(default_factory=Counter)

    @property
    def protocol(self) -> GroupProtocol:
        """The group protocol of the run."""
        return self.world.application.group_configs.protocol

    def stream(self, kind: str, purpose: str, at_ms: int, client_names: Sequence[str]) -> np.random.Generator:
        """Return the random stream for one purpose of an event; identical events have different streams.

        `client_names`: as the scenario names them. Other names would change every draw, so the results of all seeds.
        """
        names = (*self.stream_prefix, kind, purpose, str(at_ms), *client_names)
        self._use_counts[names] += 1
        return random_stream(self.world.seed, *names, str(self._use_counts[names]))


def realize_events(events: Sequence[PlannedEvent], world: World, stream: str | None = None) -> tuple[Disturbance, ...]:
    """Turn planned events into disturbances, in the order of the scenario.

    `world`: the world without disturbances, with its seed; its application has the configs of the run. `stream`: a name
    for draws that are independent of the usual ones; None for the usual ones.

    Priority: deterministic events apply first; then random crashes and rolling restarts in order of time, which skip
    absent clients; churn applies last and avoids all other events. Configs are those of the run with all config changes
    and rollouts up to that time. Strategies plan reassignments in order of time, each from the result of the earlier
    ones.
    """
    sampling = EventSampling(world, () if stream is None else (stream,), world.application.assignment_configs)
    disturbances: dict[int, list[Disturbance]] = {}
    plans: list[tuple[int, EventPlan]] = []
    for i, event in enumerate(events):
        if isinstance(event, EventPlan) and event.is_random:
            plans.append((i, event))
        else:
            disturbances[i] = list(event.realize(sampling)) if isinstance(event, EventPlan) else [event]
            sampling.known += disturbances[i]
    # Reassignments do not affect the uptime of clients.
    of_clients = tuple(event for event in sampling.known if not isinstance(event, Reassignment))
    sampling.uptime = ClientUptime(replace(world, disturbances=of_clients))
    # Those that avoid the others draw last, in the order of the scenario.
    plans.sort(key=lambda numbered: math.inf if numbered[1].avoids_others else numbered[1].at_ms)
    for i, plan in plans:
        disturbances[i] = list(plan.realize(sampling))
    return tuple(disturbance for i in range(len(events)) for disturbance in disturbances[i])


def place_replicas(
    topic: str, brokers: Sequence[Broker], seed: int, num_partitions: int, replication_factor: int
) -> tuple[tuple[int, ...], ...]:
    """Return the brokers of each partition of a topic by Kafka's placement; the seed draws where it begins."""
    start, shift = random_stream(seed, "placement", topic).integers(len(brokers), size=2)
    racks = {broker.id: broker.rack for broker in brokers}
    return assign_replicas_to_brokers(racks, num_partitions, replication_factor, int(start), int(shift))
