"""A rolling restart of brokers."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from scenarios.events.scenario_event import ClusterEvent, EventContext
from scenarios.language.fields import BrokerIds, Duration
from simulator.world.disturbances import BrokerBounce

BROKER_DOWN_MS: Final = 60_000
BROKER_PAUSE_MS: Final = 120_000


class BrokerBounceEvent(ClusterEvent):
    """A rolling restart of brokers."""

    example = "events:\n  - {at: 30m, broker_bounce: {brokers: [0, 1, 2, 3, 4, 5], down: 1m, pause: 2m}}\n"
    brokers_fail = True

    brokers: BrokerIds = Field(description="The broker ids, in the order of the restarts.")
    down: Duration = Field(default=BROKER_DOWN_MS, description="Downtime of each broker.")
    pause: Duration = Field(
        default=BROKER_PAUSE_MS, description="Pause between the return of a broker and the next restart."
    )

    def resolve(self, context: EventContext) -> list[BrokerBounce]:
        context.check_brokers(self.brokers, "brokers")
        return [BrokerBounce(context.at_ms, tuple(self.brokers), self.down, self.pause)]

    def warn_about_end(self, planned: BrokerBounce, context: EventContext) -> None:
        context.warn_about_steps(planned.restarts_ms, "brokers have restarted")

    def broker_restarts(self, planned: BrokerBounce) -> BrokerBounce:
        return planned
