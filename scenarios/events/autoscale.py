"""Clients whose number follows the traffic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from scenarios.events.closing_event import ClosingEvent
from scenarios.events.scenario_event import ClientsEvent, EventContext, PresenceChange
from scenarios.language.fields import INT_MAX, Duration, PositiveInt, Rate
from scenarios.sampling.traffic_profile import MAX_OCCURRENCES, TOO_MANY, TrafficProfile
from simulator.world.disturbances import Join, Leave


class AutoscaleEvent(ClosingEvent, ClientsEvent):
    """Autoscaling: from now on, the number of clients follows the traffic of the source topics.

    The first clients listed join first and leave last. Only the traffic counts: a crashed client is not replaced.
    """

    example = """\
traffic:
  hourly: [0.5, 0.5, 0.5, 0.5, 0.8, 1.2, 1.2, 1.2, 1.2, 0.8, 0.5, 0.5,
           0.5, 0.5, 0.5, 0.5, 0.8, 1.2, 1.2, 1.2, 1.2, 0.8, 0.5, 0.5]
events:
  - {at: 30m, autoscale: {clients: [app, new], bytes_per_s: 7 MB/s, min: 4}}
"""

    bytes_per_s: Annotated[Rate, Field(ge=1)] = Field(
        description="Capacity of one client in source-topic traffic; repartition topics do not count."
    )
    every: Annotated[Duration, Field(ge=1)] = Field(default=600_000, description="Interval between two evaluations.")
    min_clients: Annotated[int, Field(ge=0, le=INT_MAX)] = Field(
        default=1, alias="min", description="Minimum number of clients."
    )
    max_clients: PositiveInt | None = Field(
        default=None, alias="max", description="Maximum number of clients; default: all."
    )

    def resolve(self, context: EventContext) -> Iterator[tuple[str, ...]]:
        """Yield the clients of the pool."""
        clients, end_ms = context.find_clients(self.clients), context.duration_ms
        if end_ms is None or not clients:
            return
        evaluations = (end_ms - context.at_ms) // self.every
        if evaluations > MAX_OCCURRENCES:
            context.report(f"{evaluations:,} evaluations until the end of the run, {TOO_MANY}", "every")
            return
        max_clients = len(clients) if self.max_clients is None else self.max_clients
        if max_clients > len(clients):
            context.report(f"{max_clients} is more than the number of clients ({len(clients)})", "max")
        if self.min_clients > max_clients:
            context.report(f"{self.min_clients} is more than the maximum ({max_clients})", "min")
        if not any(context.source_bytes_per_s) and not context.mistakes:
            context.report("the source topics have no traffic, so autoscaling has no effect")
        yield clients

    def presence(self, planned: tuple[str, ...], context: EventContext) -> tuple[PresenceChange, ...]:
        return ()  # The pool may have present and absent clients.

    def scaled_clients(self, planned: tuple[str, ...]) -> tuple[str, ...]:
        return planned

    def occurrences(
        self, planned: tuple[str, ...], profile: TrafficProfile, context: EventContext
    ) -> Iterator[Join | Leave]:
        """Yield the joins and leaves that match the capacity to the traffic, by time; crashes have no influence."""
        present = {plan.name for plan in context.clients.plans if plan.starts}.intersection(planned)
        max_clients = len(planned) if self.max_clients is None else self.max_clients
        for at_ms in range(context.at_ms, context.duration_ms or 0, self.every):
            base_bytes_per_s = context.source_bytes_per_s[profile.hour_at(at_ms) or 0]
            required = math.ceil(base_bytes_per_s * profile.factor_at(at_ms) / self.bytes_per_s)
            surplus = len(present) - min(max(required, self.min_clients), max_clients)
            if surplus < 0:
                joining = [client for client in planned if client not in present][:-surplus]
                present.update(joining)
                yield Join(at_ms, tuple(joining))
            elif surplus > 0:
                leaving = [client for client in reversed(planned) if client in present][:surplus]
                present.difference_update(leaving)
                yield Leave(at_ms, tuple(leaving), closing=self.closing())
