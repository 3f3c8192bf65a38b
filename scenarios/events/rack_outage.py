"""An outage of a rack with its brokers and clients."""

from __future__ import annotations

from pydantic import Field

from scenarios.events.crash import CrashedDisk
from scenarios.events.scenario_event import ClusterEvent, EventContext, PresenceChange
from scenarios.language.fields import Duration, Name
from simulator.world.changes import Disk
from simulator.world.disturbances import RackOutage


class RackOutageEvent(ClusterEvent):
    """An outage of a rack with its brokers and clients."""

    example = "events:\n  - {at: 30m, rack_outage: {rack: az1, down: 30m}}\n"
    brokers_fail = True

    rack: Name = Field(description="The rack.")
    down: Duration | None = Field(default=None, description="Time until it is back; by default it never is.")
    disk: CrashedDisk = None

    def resolve(self, context: EventContext) -> list[RackOutage]:
        context.check_rack(self.rack)
        return [RackOutage(context.at_ms, self.rack, self.down, Disk(self.disk or Disk.UNFLUSHED_LOST))]

    def presence(self, planned: RackOutage, context: EventContext) -> list[PresenceChange]:
        inside = tuple(plan.name for plan in context.clients.plans if plan.rack == self.rack)
        return [PresenceChange(context.at_ms, inside, before=None, after=False if self.down is None else None)]

    def warn_about_end(self, planned: RackOutage, context: EventContext) -> None:
        context.warn_about_return(self.down)
