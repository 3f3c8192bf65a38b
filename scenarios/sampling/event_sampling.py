"""The sampling of planned events into the disturbances of one run.

Drawn are the clients that crash, the order of restarts, and the times of churn. Replica assignors plan reassignments
from the cluster at the time of the event.

Guarantees: the random stream of a draw is named after the event (kind, time, clients), so that other events and the
assignor do not change it. Absent clients are skipped, and churn skips clients with other events in the same period.
Complexity: O(clients) per draw; O(1) per churn crash while most clients are up.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from assignors.errors import AssignorError
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import TopicPartition
from assignors.replicas import planning, registry
from assignors.replicas.admin_utils import assign_replicas_to_brokers
from assignors.replicas.plan import PlanRequest, PlanStatus, ReplicaAssignor
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState, TopicRetention
from scenarios.language.errors import Mistake, ScenarioError
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.sampling.event_plans import (
    HOUR_MS,
    BrokerUpgradePlan,
    ChurnPlan,
    ConfigEdit,
    CrashPlan,
    PartitionsPlan,
    PlannedEvent,
    ReassignmentPlan,
    RollingBouncePlan,
)
from simulator.brokers.replication_progress import ReplicationProgress
from simulator.random_streams import random_stream
from simulator.timeline import replicas_at, timeline
from simulator.world.changes import ClientDown, ClientUp
from simulator.world.disturbances import (
    BrokerUpgrade,
    ConfigChange,
    Crash,
    Disturbance,
    Join,
    PartitionsAdded,
    Reassignment,
    ReassignmentTarget,
    RollingBounce,
)
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import Broker, World
from simulator.world.world import Broker as WorldBroker


class _PartitionRow(NamedTuple):
    """The state of a partition; `bytes_per_s` is None if unknown."""

    topic: str
    number: int
    replicas: tuple[int, ...]
    leader: int
    in_sync: tuple[int, ...]
    size_bytes: int
    bytes_per_s: int | None

    @property
    def key(self) -> tuple[str, int]:
        """Return topic and partition number."""
        return self.topic, self.number


class NoPlanError(ScenarioError):
    """A strategy that finds no plan. `path`: that of the event in the scenario; `message`: the reason."""

    def __init__(self, source: str, path: ScenarioPath, message: str) -> None:
        self.path, self.message = path, message
        super().__init__([Mistake(source, None, format_path(path), message)])


MakeStrategy = Callable[[str, Mapping[str, Any]], ReplicaAssignor]
"""Creates a strategy from its name and parameters."""


def make_built_in(name: str, parameters: Mapping[str, Any]) -> ReplicaAssignor:
    """Create a built-in strategy."""
    return registry.make(registry.find_strategy(name), parameters)


def plan_reassignment(
    event: ReassignmentPlan, world: World, make_strategy: MakeStrategy = make_built_in
) -> Reassignment:
    """Compute a reassignment of the partitions whose replicas change, with the strategy of the event.

    `world`: with all earlier disturbances of brokers and partitions. Raises NoPlanError if the strategy finds no plan.
    """
    progress = replicas_at(world, event.at_ms)
    rows = tuple(_rows(world, progress))
    alive = progress.replicas.live_brokers().tolist()
    brokers = tuple(
        replace(to_replica_broker(broker), is_alive=is_alive)
        for broker, is_alive in zip(world.cluster.brokers, alive, strict=True)
    )
    allowed = tuple(broker.id for broker in brokers if broker.is_alive and broker.id not in event.removed)
    request = PlanRequest(allowed if event.removed else None, event.replication_factor, event.rack_aware)
    try:
        retention = tuple((topic.name, topic.retention) for topic in world.cluster.topics.values())
        plan = _plan(make_strategy, event.strategy, event.parameters, brokers, rows, retention, request, event.topics)
    except AssignorError as error:
        raise NoPlanError(world.name, event.path, str(error)) from error
    except Exception as error:
        # Only the strategy validates the values of its parameters.
        message = f"{event.strategy} failed: {type(error).__name__}: {error}"
        raise NoPlanError(world.name, event.path, message) from error
    if isinstance(plan, str):
        raise NoPlanError(world.name, event.path, f"{event.strategy} has no plan: {plan}")
    changed = [
        ReassignmentTarget(TopicPartition(row.topic, row.number), replicas)
        for row, replicas in zip(rows, plan, strict=True)
        if replicas != row.replicas
    ]
    return Reassignment(event.at_ms, tuple(changed), event.throttle_bytes_per_s, event.batch, event.election)


def to_replica_broker(broker: WorldBroker) -> BrokerState:
    """Convert a broker of a world to the type of replica assignors."""
    return BrokerState(broker.id, broker.rack, broker.capacity_bytes, broker.capacity_bytes_per_s)


def _rows(world: World, progress: ReplicationProgress) -> Iterator[_PartitionRow]:
    """Yield the partitions as Kafka's tools print them; with the target replicas if a reassignment is in progress."""
    for name in sorted(world.cluster.topics):
        topic = world.cluster.topics[name]
        for number in range(topic.num_partitions):
            key = TopicPartition(name, number)
            state = progress.replicas.state(key)
            replicas, in_sync = state.target or state.replicas, progress.replicas.live_in_sync(key)
            yield _PartitionRow(
                topic=name,
                number=number,
                replicas=replicas,
                leader=state.leader,
                in_sync=tuple(broker for broker in replicas if broker in in_sync),
                size_bytes=round(progress.held_bytes(key)),
                bytes_per_s=topic.bytes_per_s[number] if topic.has_rates else None,
            )


@lru_cache(maxsize=32)
def _plan(
    make_strategy: MakeStrategy,
    strategy: str,
    parameters: tuple[tuple[str, Any], ...],
    brokers: tuple[BrokerState, ...],
    rows: tuple[_PartitionRow, ...],
    retention: tuple[tuple[str, TopicRetention | None], ...],
    request: PlanRequest,
    topics: tuple[str, ...] | None,
) -> tuple[tuple[int, ...], ...] | str:
    """Return the replicas of every row, or the reason why there is no plan.

    The cache serves a comparison, in which every assignor needs the same plan.
    """
    state = ClusterState.of(
        brokers,
        {row.key: row.replicas for row in rows},
        leaders={row.key: row.leader for row in rows},
        size_bytes={row.key: row.size_bytes for row in rows},
        bytes_per_s={row.key: row.bytes_per_s for row in rows},
        retention=dict(retention),
        in_sync={row.key: row.in_sync for row in rows},
    )
    assignor = make_strategy(strategy, dict(parameters))
    plan = planning.plan(assignor, state, request, topics)
    if plan.replicas is None:
        status = "not applicable" if plan.status is PlanStatus.NOT_APPLICABLE else str(plan.status)
        return f"{plan.reason} ({status})"
    ids = state.ids.tolist()
    return tuple(tuple(ids[broker] for broker in row if broker != NO_BROKER) for row in plan.replicas.tolist())


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


_MAX_TRIES = 8
_STREAM_NAMES: Final[Mapping[type, str]] = {CrashPlan: "CrashPlan", RollingBouncePlan: "BouncePlan", ChurnPlan: "Churn"}
"""Stream names by kind of event. A changed name would change every draw, and so the results of all seeds."""


class EventDraws:
    """The random streams of a seed, by event."""

    def __init__(self, seed: int, name: str | None = None) -> None:
        self._seed = seed
        self._prefix = () if name is None else (name,)
        self._use_counts: Counter[tuple[str, ...]] = Counter()

    def stream(self, event: CrashPlan | RollingBouncePlan | ChurnPlan, purpose: str) -> np.random.Generator:
        """Return the random stream for one purpose of an event; identical events have different streams."""
        names = (*self._prefix, _STREAM_NAMES[type(event)], purpose, str(event.at_ms), *event.client_names)
        self._use_counts[names] += 1
        return random_stream(self._seed, *names, str(self._use_counts[names]))


def pick_crashing_clients(plan: CrashPlan, uptime: ClientUptime, draws: EventDraws) -> tuple[str, ...]:
    """Draw the clients that crash from those that are up; all of them if they are fewer than `plan.pick`."""
    # Shuffle all clients, so that the order does not depend on which ones are up.
    order = [plan.clients[i] for i in draws.stream(plan, "who").permutation(len(plan.clients))]
    picked = set([client for client in order if uptime.is_up(client, plan.at_ms)][: plan.pick])
    return tuple(client for client in plan.clients if client in picked)


def draw_bounce_order(plan: RollingBouncePlan, uptime: ClientUptime, draws: EventDraws) -> tuple[str, ...]:
    """Return the clients in restart order, without those that are absent at their turn."""
    clients = plan.clients
    if plan.is_shuffled:
        clients = tuple(clients[i] for i in draws.stream(plan, "order").permutation(len(clients)))
    order: list[str] = []
    at_ms = plan.at_ms
    for client in clients:
        if uptime.is_up_or_returning(client, at_ms):
            order.append(client)
            at_ms += plan.interval_ms
    return tuple(order)


def draw_churn(plan: ChurnPlan, uptime: ClientUptime, draws: EventDraws) -> Iterator[Crash | Join]:
    """Draw joins and crashes as two Poisson processes with exponentially distributed downtimes; add them to `uptime`.

    Yields all joins, then all crashes, each in order of time.
    """
    newcomers = [client for client in plan.clients if uptime.never_joins(client)]
    for at_ms, client in zip(
        _poisson_times(plan, plan.joins_per_h, draws.stream(plan, "joins")), newcomers, strict=False
    ):
        uptime.add_join(client, at_ms)
        yield Join(at_ms, (client,))
    client_stream, downtime_stream = draws.stream(plan, "who"), draws.stream(plan, "down")
    for at_ms in _poisson_times(plan, plan.crashes_per_h, draws.stream(plan, "crashes")):
        down_ms = None if plan.down_ms is None else max(1, round(plan.down_ms * _exponential(downtime_stream)))
        back_ms = None if down_ms is None else at_ms + down_ms
        crashing_client = _draw_available_client(plan.clients, at_ms, back_ms, uptime, client_stream)
        if crashing_client is not None:
            uptime.add_absence(crashing_client, at_ms, back_ms)
            yield Crash(at_ms, (crashing_client,), down_ms, plan.disk)


def _draw_available_client(
    clients: tuple[str, ...], at_ms: int, back_ms: int | None, uptime: ClientUptime, numbers: np.random.Generator
) -> str | None:
    """Draw uniformly one of the clients that are up and undisturbed until `back_ms`; None if there is none."""

    def is_available(client: str) -> bool:
        return uptime.is_up(client, at_ms) and uptime.is_undisturbed(client, at_ms, back_ms)

    # Most clients are usually available: a few random tries avoid checking all of them.
    for _ in range(_MAX_TRIES):
        client = clients[int(numbers.random() * len(clients))]
        if is_available(client):
            return client
    available = [client for client in clients if is_available(client)]
    return available[int(numbers.random() * len(available))] if available else None


def _poisson_times(plan: ChurnPlan, per_hour: float, numbers: np.random.Generator) -> Iterator[int]:
    """Yield the times of a Poisson process, in ms."""
    if per_hour == 0:
        return
    at_ms = float(plan.at_ms)
    while (at_ms := at_ms + _exponential(numbers) * HOUR_MS / per_hour) < plan.until_ms:
        yield int(at_ms)


def _exponential(numbers: np.random.Generator) -> float:
    """Draw from the exponential distribution with mean 1."""
    return -math.log1p(-numbers.random())


def realize_events(
    events: Sequence[PlannedEvent], world: World, seed: int, stream: str | None = None
) -> tuple[Disturbance, ...]:
    """Turn planned events into disturbances, in the order of the scenario.

    `world`: the world without disturbances; its application has the configs of the run. `stream`: a name for draws that
    are independent of the usual ones; None for the usual ones.

    Priority: deterministic events apply first; then random crashes and rolling restarts in order of time, which skip
    absent clients; churn applies last and avoids all other events. Configs are those of the run with all config changes
    and rollouts up to that time. Strategies plan reassignments in order of time, each from the result of the earlier
    ones.
    """
    draws = EventDraws(seed, stream)
    sampled_kinds = ConfigEdit | CrashPlan | RollingBouncePlan | ChurnPlan | PartitionsPlan | ReassignmentPlan
    protocol = world.application.group_configs.protocol
    deterministic = [
        _with_protocol(event, protocol) if isinstance(event, BrokerUpgradePlan) else event
        for event in events
        if not isinstance(event, sampled_kinds)
    ]
    # Reassignments do not affect the uptime of clients.
    client_events = tuple(event for event in deterministic if not isinstance(event, Reassignment))
    uptime = ClientUptime(replace(world, disturbances=client_events))
    configs = world.application.assignment_configs
    disturbances: dict[int, list[Disturbance]] = {}
    counts: dict[str, int] = {}
    for i, event in sorted(enumerate(events), key=lambda pair: pair[1].at_ms):
        match event:
            case ConfigEdit(at_ms=at_ms, changes=changes):
                configs = replace(configs, **changes)
                disturbances[i] = [ConfigChange(at_ms, configs)]
            case RollingBouncePlan(changes=changes):
                configs = replace(configs, **changes)
                group_configs = event.group_configs.get(protocol)
                disturbances[i] = list(_bounce(event, configs if changes else None, group_configs, uptime, draws))
            case BrokerUpgradePlan():
                disturbances[i] = [_with_protocol(event, protocol)]
            case CrashPlan():
                disturbances[i] = list(_crash(event, uptime, draws))
            case ReassignmentPlan():
                deterministic.append(plan_reassignment(event, replace(world, disturbances=tuple(deterministic))))
                disturbances[i] = [deterministic[-1]]
            case PartitionsPlan(topic=topic):
                added = _add_partitions(event, world, counts.get(topic, world.cluster.topics[topic].num_partitions))
                counts[topic], disturbances[i] = event.num_partitions, [added]
            case ChurnPlan():
                continue
            case _:
                disturbances[i] = [event]
    for i, event in enumerate(events):
        if isinstance(event, ChurnPlan):
            disturbances[i] = list(draw_churn(event, uptime, draws))
    return tuple(disturbance for i in range(len(events)) for disturbance in disturbances[i])


def place_replicas(
    topic: str, brokers: Sequence[Broker], seed: int, num_partitions: int, replication_factor: int
) -> tuple[tuple[int, ...], ...]:
    """Return the brokers of each partition of a topic by Kafka's placement; the seed draws where it begins."""
    start, shift = random_stream(seed, "placement", topic).integers(len(brokers), size=2)
    racks = {broker.id: broker.rack for broker in brokers}
    return assign_replicas_to_brokers(racks, num_partitions, replication_factor, int(start), int(shift))


def _add_partitions(plan: PartitionsPlan, world: World, first: int) -> PartitionsAdded:
    """Return the partitions that a topic with `first` partitions gets, placed as the last ones of a new topic."""
    replicas, topic, brokers = plan.replicas, world.cluster.topics[plan.topic], world.cluster.brokers
    if replicas is None:
        replicas = place_replicas(plan.topic, brokers, world.seed, plan.num_partitions, len(topic.replicas[0]))[first:]
    return PartitionsAdded(plan.at_ms, plan.topic, first, replicas)


def _with_protocol(plan: BrokerUpgradePlan, protocol: GroupProtocol) -> BrokerUpgrade:
    """Return the upgrade of the brokers of a group with a protocol."""
    configs = plan.group_configs[protocol]
    return BrokerUpgrade(plan.at_ms, plan.brokers, plan.down_ms, plan.pause_ms, plan.release, configs)


def _crash(plan: CrashPlan, uptime: ClientUptime, draws: EventDraws) -> Iterator[Crash]:
    crashing_clients = pick_crashing_clients(plan, uptime, draws)
    for client in crashing_clients:
        uptime.add_absence(client, plan.at_ms, None if plan.down_ms is None else plan.at_ms + plan.down_ms)
    if crashing_clients:
        yield Crash(plan.at_ms, crashing_clients, plan.down_ms, plan.disk)


def _bounce(
    plan: RollingBouncePlan,
    configs: AssignmentConfigs | None,
    group_configs: GroupConfigs | None,
    uptime: ClientUptime,
    draws: EventDraws,
) -> Iterator[RollingBounce]:
    clients = draw_bounce_order(plan, uptime, draws)
    for i, client in enumerate(clients):
        at_ms = plan.at_ms + i * plan.interval_ms
        uptime.add_absence(client, at_ms + plan.closing.begins_after_ms, at_ms + plan.interval_ms - plan.pause_ms)
    if clients:
        yield RollingBounce(
            at_ms=plan.at_ms,
            clients=clients,
            down_ms=plan.down_ms,
            pause_ms=plan.pause_ms,
            disk=plan.disk,
            configs=configs,
            announces_rack=plan.announces_rack,
            closing=plan.closing,
            release=plan.release,
            group_configs=group_configs,
            consumer=plan.consumer,
        )
