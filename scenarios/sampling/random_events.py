"""What a seed decides about events: who crashes, in which order clients restart, when they come and go by chance.

Guarantees: draws are named after what the scenario says of the event (what kind, when, which clients), so that other
events, and assignors, change none of them. Clients that are not there are passed over, and churn passes over those to
which something else happens meanwhile.
Complexity: O(clients) a draw, O(1) a crash by chance as long as most clients are up.
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

_TRIES = 8
_STREAM_NAMES: Final[Mapping[type, str]] = {CrashPlan: "CrashPlan", RollingBouncePlan: "BouncePlan", ChurnPlan: "Churn"}
"""Names of random streams by kind of event; a different name changes every draw, and so the results of a seed."""


class EventDraws:
    """The random numbers of a seed for one event after the other."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._asked: Counter[tuple[str, ...]] = Counter()

    def stream(self, event: CrashPlan | RollingBouncePlan | ChurnPlan, what: str) -> np.random.Generator:
        """The stream that decides one thing about an event; events that are all alike have different ones."""
        names = (_STREAM_NAMES[type(event)], what, str(event.at_ms), *event.client_names)
        self._asked[names] += 1
        return random_stream(self._seed, *names, str(self._asked[names]))


def pick_crashing_clients(plan: CrashPlan, uptime: ClientUptime, draws: EventDraws) -> tuple[str, ...]:
    """Who crashes: so many of those that are up as are to be picked, or all of them if they are fewer."""
    # All that are named are put in order, so that who is up makes no difference to the others' places.
    order = [plan.clients[i] for i in draws.stream(plan, "who").permutation(len(plan.clients))]
    picked = set([client for client in order if uptime.is_up(client, plan.at_ms)][: plan.pick])
    return tuple(client for client in plan.clients if client in picked)


def draw_bounce_order(plan: RollingBouncePlan, uptime: ClientUptime, draws: EventDraws) -> tuple[str, ...]:
    """Who restarts, one after the other: those that are there when their turn comes."""
    clients = plan.clients
    if plan.is_shuffled:
        clients = tuple(clients[i] for i in draws.stream(plan, "order").permutation(len(clients)))
    order: list[str] = []
    at_ms = plan.at_ms
    for client in clients:
        if uptime.is_up_or_returning(client, at_ms):
            order.append(client)
            at_ms += plan.down_ms + plan.pause_ms
    return tuple(order)


def draw_churn(plan: ChurnPlan, uptime: ClientUptime, draws: EventDraws) -> Iterator[Crash | Join]:
    """Let clients join and crash as two Poisson processes; times down are exponential.

    `uptime` learns of it.
    """
    newcomers = [client for client in plan.clients if uptime.never_joins(client)]
    for at_ms, client in zip(_moments(plan, plan.joins_per_h, draws.stream(plan, "joins")), newcomers, strict=False):
        uptime.add_join(client, at_ms)
        yield Join(at_ms, (client,))
    who, how_long = draws.stream(plan, "who"), draws.stream(plan, "down")
    for at_ms in _moments(plan, plan.crashes_per_h, draws.stream(plan, "crashes")):
        down_ms = None if plan.down_ms is None else max(1, round(plan.down_ms * _exponential(how_long)))
        back_ms = None if down_ms is None else at_ms + down_ms
        victim = _someone(plan.clients, at_ms, back_ms, uptime, who)
        if victim is not None:
            uptime.add_absence(victim, at_ms, back_ms)
            yield Crash(at_ms, (victim,), down_ms, plan.keeps_state)


def _someone(
    clients: tuple[str, ...], at_ms: int, back_ms: int | None, uptime: ClientUptime, numbers: np.random.Generator
) -> str | None:
    """Draw one of the clients that are up and left alone until then, each as likely as any other; None if none is."""

    def is_free(client: str) -> bool:
        return uptime.is_up(client, at_ms) and uptime.is_undisturbed(client, at_ms, back_ms)

    # Most are free, most of the time: a few tries save asking all.
    for _ in range(_TRIES):
        client = clients[int(numbers.random() * len(clients))]
        if is_free(client):
            return client
    free = [client for client in clients if is_free(client)]
    return free[int(numbers.random() * len(free))] if free else None


def _moments(plan: ChurnPlan, per_hour: float, numbers: np.random.Generator) -> Iterator[int]:
    """The times of a Poisson process, in ms."""
    if per_hour == 0:
        return
    at_ms = float(plan.at_ms)
    while (at_ms := at_ms + _exponential(numbers) * HOUR_MS / per_hour) < plan.until_ms:
        yield int(at_ms)


def _exponential(numbers: np.random.Generator) -> float:
    """Draw from the exponential distribution of mean 1."""
    return -math.log1p(-numbers.random())
