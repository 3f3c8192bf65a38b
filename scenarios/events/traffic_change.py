"""A change of the rate at which the source topics are produced to."""

from __future__ import annotations

from pydantic import Field

from scenarios.events.scenario_event import EventContext, ScenarioEvent
from scenarios.language.fields import TrafficFactor
from scenarios.sampling.traffic_profile import TrafficProfile
from simulator.world.disturbances import TrafficChange


class TrafficEvent(ScenarioEvent):
    """A change of the rate at which the source topics are produced to."""

    example = "events:\n  - {at: 30m, traffic: {factor: 2}}\n"
    is_of_all = True

    factor: TrafficFactor = Field(
        description="Multiple of the rates of topics and traffic.hourly, until the next traffic event."
    )

    def resolve(self, context: EventContext) -> list[TrafficChange]:
        return [TrafficChange(context.at_ms, self.factor)]

    def occurrences(
        self, planned: TrafficChange, profile: TrafficProfile, context: EventContext
    ) -> list[TrafficChange]:
        return [profile.change_at(context.at_ms)]
