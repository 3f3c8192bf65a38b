"""A change of the application's configs on all clients at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from scenarios.events.scenario_event import EventContext, ScenarioEvent
from scenarios.language.client_configs import AssignorConfigs
from scenarios.sampling.event_sampling import EventPlan, EventSampling
from simulator.world.disturbances import ConfigChange


@dataclass(frozen=True, slots=True)
class ConfigEdit(EventPlan):
    """A config change. `changes`: new values by field of `AssignmentConfigs`."""

    at_ms: int
    changes: Mapping[str, Any]

    def realize(self, sampling: EventSampling) -> Iterator[ConfigChange]:
        sampling.configs = replace(sampling.configs, **self.changes)
        yield ConfigChange(self.at_ms, sampling.configs)


class ConfigChangeEvent(ScenarioEvent):
    """A change of the application's configs on all clients at once."""

    example = "events:\n  - {at: 30m, config_change: {configs: {rack.aware.assignment.strategy: min_traffic}}}\n"
    is_of_streams = True

    configs: AssignorConfigs = Field(description="The configs that change.")

    @property
    def changed_configs(self) -> AssignorConfigs:
        return self.configs

    def resolve(self, context: EventContext) -> list[ConfigEdit]:
        return [ConfigEdit(context.at_ms, context.check_configs(self.configs))]
