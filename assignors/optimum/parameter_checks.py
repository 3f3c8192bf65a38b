"""Which parameters of the exact assignor make sense, by themselves and together."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from assignors.model.traffic_rates import TrafficRates, TrafficUnit

NOT_NEGATIVE = ("traffic_cost", "non_overlap_cost", "slack", "subtopology_slack", "downtime_cost", "usd_per_gb")
POSITIVE = ("time_limit_s", "horizon_s")

_FOR = {
    "traffic_cost": (TrafficUnit.PARTITIONS,),
    "bytes_per_s": (TrafficUnit.BYTES, TrafficUnit.DOLLARS),
    "usd_per_gb": (TrafficUnit.DOLLARS,),
}


def check(parameters: Mapping[str, Any], kinds: Mapping[str, type[StrEnum]]) -> None:
    """Refuse what makes no sense.

    Args:
        parameters: by name; None where nothing is said.
        kinds: which of them are one of a few words.

    Raises:
        TypeError: the rates are something else.
        ValueError: a word or number that cannot be, or a parameter that plays no part.
    """
    for name, kind in kinds.items():
        if parameters[name] not in list(kind):
            raise ValueError(f"{name} is '{parameters[name]}' (one of: {', '.join(kind)})")
    for name in NOT_NEGATIVE:
        if parameters[name] is not None and parameters[name] < 0:
            raise ValueError(f"{name} is {parameters[name]} (at least 0)")
    for name in POSITIVE:
        if parameters[name] <= 0:
            raise ValueError(f"{name} is {parameters[name]} (more than 0)")
    for name, kept_for in _FOR.items():
        if parameters[name] not in (None, {}) and parameters["minimises"] not in kept_for:
            raise ValueError(f"{name} plays no part where {parameters['minimises']} are minimised; leave it out")
    if not isinstance(parameters["rates"], TrafficRates | None):
        raise TypeError("rates is a TrafficRates, which a scenario's world gives by itself")
