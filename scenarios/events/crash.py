"""Clients that crash: all that are listed, or some that the seed draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from scenarios.events.scenario_event import ClientsEvent, EventContext, PresenceChange
from scenarios.language.fields import Duration, PositiveInt
from scenarios.sampling.event_sampling import EventPlan, EventSampling
from simulator.world.changes import Disk
from simulator.world.disturbances import Crash

CrashedDisk = Annotated[
    Literal["kept", "unflushed_lost", "lost"] | None,
    Field(
        description="State on disk afterwards: unflushed_lost as after SIGKILL, which depends on processing.guarantee "
        "and the Kafka release; kept as after a clean close; lost. Default: unflushed_lost."
    ),
]


@dataclass(frozen=True, slots=True)
class CrashPlan(EventPlan):
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

    def realize(self, sampling: EventSampling) -> Iterator[Crash]:
        """Draw the clients that crash from those that are up; all of them if they are fewer than `pick`."""
        stream = sampling.stream("CrashPlan", "who", self.at_ms, self.client_names)
        # Shuffle all clients, so that the order does not depend on which ones are up.
        order = [self.clients[i] for i in stream.permutation(len(self.clients))]
        picked = set([client for client in order if sampling.uptime.is_up(client, self.at_ms)][: self.pick])
        crashing = tuple(client for client in self.clients if client in picked)
        for client in crashing:
            back_ms = None if self.down_ms is None else self.at_ms + self.down_ms
            sampling.uptime.add_absence(client, self.at_ms, back_ms)
        if crashing:
            yield Crash(self.at_ms, crashing, self.down_ms, self.disk)


class CrashEvent(ClientsEvent):
    """Clients that crash."""

    example = "events:\n  - {at: 30m, crash: {clients: app, pick: 1, down: 10m}}\n"

    pick: PositiveInt | None = Field(
        default=None, description="Number of clients to draw at random from those that are up; default: all."
    )
    down: Duration | None = Field(default=None, description="Time until they restart; by default they never do.")
    disk: CrashedDisk = None

    def resolve(self, context: EventContext) -> Iterator[Crash | CrashPlan]:
        clients, disk = context.find_clients(self.clients), Disk(self.disk or Disk.UNFLUSHED_LOST)
        if self.pick is None:
            yield Crash(context.at_ms, clients, self.down, disk)
            return
        if clients and self.pick > len(clients):
            context.report(f"{self.pick} is more than the number of clients ({len(clients)})", "pick")
        yield CrashPlan(context.at_ms, tuple(self.clients), clients, self.pick, self.down, disk)

    def presence(self, planned: Crash | CrashPlan, context: EventContext) -> list[PresenceChange]:
        """Return that the clients must be up; those that the seed may draw count as present afterwards."""
        after = False if self.down is None and self.pick is None else None
        return [PresenceChange(context.at_ms, planned.clients, before=True, after=after)]

    def warn_about_end(self, planned: Crash | CrashPlan, context: EventContext) -> None:
        context.warn_about_return(self.down)
