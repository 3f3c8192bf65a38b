"""Clients that join or leave, at once or one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from scenarios.events.closing_event import ClosingEvent
from scenarios.events.scenario_event import ClientsEvent, EventContext, PresenceChange
from scenarios.language.fields import Duration
from simulator.world.disturbances import Join, Leave


class StaggeredClientsEvent(ClientsEvent):
    """Clients that join or leave, at once or one after another."""

    example = "events:\n  - {at: 30m, scale_out: {clients: new, every: 1m}}\n"
    verb: ClassVar[str] = "join"

    every: Duration = Field(default=0, description="Interval between two clients; 0 for all at once.")

    def resolve(self, context: EventContext) -> list[Join | Leave]:
        return [Join(context.at_ms, context.find_clients(self.clients), self.every)]

    def presence(self, planned: Join | Leave, context: EventContext) -> Iterator[PresenceChange]:
        yield from _one_by_one(PresenceChange(context.at_ms, planned.clients, before=False, after=True), self.every)

    def added_or_removed(self, planned: Join | Leave) -> list[tuple[str, tuple[str, ...]]]:
        return [("clients", planned.clients)]

    def warn_about_end(self, planned: Join | Leave, context: EventContext) -> None:
        times_ms = [context.at_ms + number * self.every for number in range(len(planned.clients))]
        context.warn_about_steps(times_ms, f"clients {self.verb}", "every")


class LeaveEvent(ClosingEvent, StaggeredClientsEvent):
    """Clients that close."""

    example = "events:\n  - {at: 30m, scale_in: {clients: [app-4, app-5], every: 5m, leaves_group: true}}\n"
    verb = "leave"

    def resolve(self, context: EventContext) -> list[Join | Leave]:
        return [Leave(context.at_ms, context.find_clients(self.clients), self.every, self.closing())]

    def presence(self, planned: Join | Leave, context: EventContext) -> Iterator[PresenceChange]:
        """Yield that each client must be up when it is asked to close, and is absent when it has closed."""
        end_ms = context.at_ms + self.closing().ends_after_ms
        yield from _one_by_one(PresenceChange(context.at_ms, planned.clients, before=True, after=None), self.every)
        yield from _one_by_one(PresenceChange(end_ms, planned.clients, before=None, after=False), self.every)


def _one_by_one(change: PresenceChange, every_ms: int) -> Iterator[PresenceChange]:
    """Yield one change for all clients at once, or one per client."""
    if every_ms == 0:
        yield change
    for i, client in enumerate(change.clients if every_ms else ()):
        yield replace(change, at_ms=change.at_ms + i * every_ms, clients=(client,))
