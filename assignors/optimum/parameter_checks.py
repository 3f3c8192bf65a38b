"""Check the parameters of the optimal assignor."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from assignors.model.traffic_rates import TrafficRates, TrafficUnit

NOT_NEGATIVE = (
    "traffic_cost",
    "non_overlap_cost",
    "slack",
    "subtopology_slack",
    "downtime_cost",
    "usd_per_gb",
    "max_variables",
)
POSITIVE = ("time_limit_s", "horizon_s")

_UNITS_OF_PARAMETER = {
    "traffic_cost": (TrafficUnit.PARTITIONS,),
    "bytes_per_s": (TrafficUnit.BYTES, TrafficUnit.DOLLARS),
    "usd_per_gb": (TrafficUnit.DOLLARS,),
}


def check_parameters(parameters: Mapping[str, Any], kinds: Mapping[str, type[StrEnum]]) -> None:
    """Check parameters, by themselves and in combination.

    `parameters`: parameters by name; None if not set. Raises TypeError if `rates` is not a `TrafficRates`; and
    ValueError if a value is not allowed, or a parameter has no effect.
    """
    for name, kind in kinds.items():
        if parameters[name] not in list(kind):
            raise ValueError(f"{name} must be one of {', '.join(kind)}, not '{parameters[name]}'")
    for name in NOT_NEGATIVE:
        if parameters[name] is not None and parameters[name] < 0:
            raise ValueError(f"{name} must be 0 or more, not {parameters[name]}")
    for name in POSITIVE:
        if parameters[name] <= 0:
            raise ValueError(f"{name} must be more than 0, not {parameters[name]}")
    for name, units in _UNITS_OF_PARAMETER.items():
        if parameters[name] not in (None, {}) and parameters["minimizes"] not in units:
            raise ValueError(f"{name} has no effect with `minimizes: {parameters['minimizes']}`; remove it")
    if not isinstance(parameters["rates"], TrafficRates | None):
        raise TypeError("rates must be a TrafficRates; a run sets it from the scenario's traffic")
