"""Random draws for events: which clients crash, the order of restarts, and the times of churn.

Guarantees: the random stream of a draw is named after the event (kind, time, clients), so that other events and the
assignor do not change it. Absent clients are skipped, and churn skips clients with other events in the same period.
Complexity: O(clients) per draw; O(1) per churn crash while most clients are up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from scenarios.sampling.client_uptime import ClientUptime
from scenarios.sampling.event_plans import ChurnPlan, CrashPlan, RollingBouncePlan
from scenarios.sampling.traffic_profile import HOUR_MS
from simulator.random_streams import random_stream
from simulator.world.disturbances import Crash, Join

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

    Args:
        plan: the churn.
        uptime: the uptime of the clients; drawn joins and crashes are added to it.
        draws: the random streams.

    Yields:
        All joins, then all crashes, each in order of time.
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
