"""Random crashes and joins of clients, which avoid all other events."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from pydantic import Field

from scenarios.events.crash import CrashedDisk
from scenarios.events.scenario_event import ClientsEvent, EventContext, PresenceChange
from scenarios.language.fields import Duration, Frequency
from scenarios.language.units import format_duration
from scenarios.sampling.event_sampling import ClientUptime, EventPlan, EventSampling
from scenarios.sampling.traffic_profile import HOUR_MS, MAX_OCCURRENCES, TOO_MANY
from simulator.world.changes import Disk
from simulator.world.disturbances import Crash, Join

_MAX_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class ChurnPlan(EventPlan):
    """Random crashes and joins of clients.

    `client_names`: as in `CrashPlan`. `crashes_per_h`: mean number over all clients that are up. `joins_per_h`: mean
    number of clients that have never been up. `down_ms`: mean downtime after a crash; None if crashed clients never
    restart.
    """

    avoids_others = True

    at_ms: int
    client_names: tuple[str, ...]
    clients: tuple[str, ...]
    until_ms: int
    crashes_per_h: float
    joins_per_h: float
    down_ms: int | None
    disk: Disk

    @property
    def num_changes(self) -> float:
        changes_per_h = (1 if self.down_ms is None else 2) * self.crashes_per_h + self.joins_per_h
        return changes_per_h * (self.until_ms - self.at_ms) / HOUR_MS

    def realize(self, sampling: EventSampling) -> Iterator[Crash | Join]:
        """Draw joins and crashes as two Poisson processes with exponentially distributed downtimes.

        Yields all joins, then all crashes, each in order of time. Complexity: O(1) per crash while most clients are up.
        """
        uptime = sampling.uptime
        newcomers = [client for client in self.clients if uptime.never_joins(client)]
        joins = self._times(self.joins_per_h, self._stream(sampling, "joins"))
        for at_ms, client in zip(joins, newcomers, strict=False):
            uptime.add_join(client, at_ms)
            yield Join(at_ms, (client,))
        client_stream, downtime_stream = self._stream(sampling, "who"), self._stream(sampling, "down")
        for at_ms in self._times(self.crashes_per_h, self._stream(sampling, "crashes")):
            down_ms = None if self.down_ms is None else max(1, round(self.down_ms * _exponential(downtime_stream)))
            back_ms = None if down_ms is None else at_ms + down_ms
            crashing_client = _draw_available_client(self.clients, at_ms, back_ms, uptime, client_stream)
            if crashing_client is not None:
                uptime.add_absence(crashing_client, at_ms, back_ms)
                yield Crash(at_ms, (crashing_client,), down_ms, self.disk)

    def _stream(self, sampling: EventSampling, purpose: str) -> np.random.Generator:
        return sampling.stream("Churn", purpose, self.at_ms, self.client_names)

    def _times(self, per_hour: float, numbers: np.random.Generator) -> Iterator[int]:
        """Yield the times of a Poisson process, in ms."""
        if per_hour == 0:
            return
        at_ms = float(self.at_ms)
        while (at_ms := at_ms + _exponential(numbers) * HOUR_MS / per_hour) < self.until_ms:
            yield int(at_ms)


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


def _exponential(numbers: np.random.Generator) -> float:
    """Draw from the exponential distribution with mean 1."""
    return -math.log1p(-numbers.random())


class ChurnEvent(ClientsEvent):
    """Random crashes and joins, one client at a time; the seed draws times and clients.

    Crashes and joins are Poisson processes, and downtimes are exponentially distributed. Churn never interferes with
    other events: a client crashes only if it is back before its next event.
    """

    example = "events:\n  - {at: 30m, churn: {clients: app, crashes: 1/h, down: 5m, until: 6h}}\n"

    crashes: Frequency | None = Field(
        default=None, description="Mean frequency of crashes over all these clients; default: none."
    )
    joins: Frequency | None = Field(
        default=None, description="Mean frequency at which the next client that has never been up joins; default: none."
    )
    down: Duration | None = Field(
        default=None, description="Mean downtime after a crash; by default crashed clients never restart."
    )
    disk: CrashedDisk = None
    until: Duration | None = Field(default=None, description="End of the churn, from the start; default: never.")

    def resolve(self, context: EventContext) -> Iterator[ChurnPlan]:
        clients, at_ms, end_ms = context.find_clients(self.clients), context.at_ms, context.duration_ms
        if self.crashes is None and self.joins is None and context.is_valid():
            context.report("set crashes, joins or both, such as crashes: 2/h")
        starting = {plan.name for plan in context.clients.plans if plan.starts}
        if self.joins is not None and clients and starting.issuperset(clients):
            context.report("all clients are up from the start; set starts: false for some", "joins")
        if self.until is not None and self.until <= at_ms:
            message = (
                f"{format_duration(self.until)} is not after the start of the event, {format_duration(at_ms)} (at)"
            )
            context.report(message, "until")
        elif self.until is not None and end_ms is not None and self.until > end_ms:
            message = f"{format_duration(self.until)} is after the end of the run, {format_duration(end_ms)} (duration)"
            context.report(message, "until")
        until_ms = end_ms if self.until is None else self.until
        if until_ms is None:
            return
        for key, per_hour in (("crashes", self.crashes or 0), ("joins", self.joins or 0)):
            expected = per_hour * (until_ms - at_ms) / HOUR_MS
            if expected > MAX_OCCURRENCES:
                context.report(f"{expected:,.0f} expected until {format_duration(until_ms)}, {TOO_MANY}", key)
        yield ChurnPlan(
            at_ms=at_ms,
            client_names=tuple(self.clients),
            clients=clients,
            until_ms=until_ms,
            crashes_per_h=self.crashes or 0,
            joins_per_h=self.joins or 0,
            down_ms=self.down,
            disk=Disk(self.disk or Disk.UNFLUSHED_LOST),
        )

    def presence(self, planned: ChurnPlan, context: EventContext) -> tuple[PresenceChange, ...]:
        return ()  # It takes the clients as they are.
