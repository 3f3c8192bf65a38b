"""An outage of brokers."""

from __future__ import annotations

from pydantic import Field

from scenarios.events.scenario_event import ClusterEvent, EventContext
from scenarios.language.fields import BrokerIds, Duration
from simulator.world.disturbances import BrokerLoss


class BrokerLossEvent(ClusterEvent):
    """An outage of brokers."""

    example = "events:\n  - {at: 30m, broker_loss: {brokers: [0], down: 20m}}\n"
    brokers_fail = True

    brokers: BrokerIds = Field(description="The broker ids.")
    down: Duration | None = Field(default=None, description="Time until they are back; by default they never are.")

    def resolve(self, context: EventContext) -> list[BrokerLoss]:
        context.check_brokers(self.brokers, "brokers")
        return [BrokerLoss(context.at_ms, tuple(self.brokers), self.down)]

    def warn_about_end(self, planned: BrokerLoss, context: EventContext) -> None:
        context.warn_about_return(self.down)
