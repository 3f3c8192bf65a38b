"""The entry of a scenario's `assignors` for a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from assignors import registry
from pipeline.recommend.space import ASSIGNOR
from scenarios.load import AssignorSpec, Scenario

PROTOCOL: Final = "group.protocol"


def entry_values(scenario: Scenario, today: AssignorSpec, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the assignor of a candidate, its parameters, and its configs with those that depend on the assignor."""
    name = values[ASSIGNOR]
    is_current = name == today.info.name
    current_protocol = scenario.protocol_of(today)
    own_protocol = "streams" if registry.find(name).in_streams_groups else "classic"
    configs = {key: value for key, value in values.items() if key != ASSIGNOR}
    return {
        "assignor": name,
        "parameters": dict(today.parameters) if is_current else {},
        "configs": {PROTOCOL: current_protocol.value if is_current else own_protocol, **configs},
    }
