"""The sampling of planned events into the disturbances of one run.

Drawn are the clients that crash, the order of restarts, and the times of churn.

Guarantees: the random stream of a draw is named after the event (kind, time, clients), so that other events and the
assignor do not change it. Absent clients are skipped, and churn skips clients with other events in the same period.
Complexity: O(clients) per draw; O(1) per churn crash while most clients are up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from assignors.model.configs import AssignmentConfigs
from assignors.replicas.admin_utils import assign_replicas_to_brokers
from scenarios.sampling.client_uptime import ClientUptime
from scenarios.sampling.event_plans import (
    BrokerUpgradePlan,
    ChurnPlan,
    ConfigEdit,
    CrashPlan,
    PartitionsPlan,
    PlannedEvent,
    ReassignmentPlan,
    RollingBouncePlan,
)
from scenarios.sampling.planned_reassignments import plan_reassignment
from scenarios.sampling.traffic_profile import HOUR_MS
from simulator.random_streams import random_stream
from simulator.world.disturbances import (
    BrokerUpgrade,
    ConfigChange,
    Crash,
    Disturbance,
    Join,
    PartitionsAdded,
    Reassignment,
    RollingBounce,
)
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import Broker, World

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
    """Draw joins and crashes as two Poisson processes with exponentially distributed downtimes.

    `uptime`: the uptime of the clients; drawn joins and crashes are added to it. `draws`: the random streams. Yields
    all joins, then all crashes, each in order of time.
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
