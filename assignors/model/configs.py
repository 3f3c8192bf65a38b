"""The configs that Kafka passes to a task assignor, with Kafka's defaults.

Source: `org.apache.kafka.streams.processor.assignment.AssignmentConfigs` (KIP-924) and `StreamsConfig`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assignors.errors import ConfigError

LONG_MAX = 2**63 - 1
"""`Long.MAX_VALUE` in Java."""


class RackAwareStrategy(StrEnum):
    """`rack.aware.assignment.strategy`: how Kafka weighs cross-rack traffic against balance."""

    NONE = "none"
    MIN_TRAFFIC = "min_traffic"
    BALANCE_SUBTOPOLOGY = "balance_subtopology"

    @classmethod
    def parse(cls, text: str) -> RackAwareStrategy:
        """Return a strategy by its released name, or by its name in KIP-925.

        Raises:
            ConfigError: no strategy has the name.
        """
        try:
            return cls(_NAMES_IN_KIP_925.get(text, text))
        except ValueError:
            names = ", ".join(cls)
            raise ConfigError(f"'{text}' is not a rack.aware.assignment.strategy (one of: {names})") from None


_NAMES_IN_KIP_925 = {"min_cost": "min_traffic", "balanced_min_cost": "balance_subtopology"}


@dataclass(frozen=True, slots=True)
class AssignmentConfigs:
    """The configs that Kafka passes to a task assignor together with the state; fields as in KIP-924.

    Attributes:
        acceptable_recovery_lag: maximum lag of a caught-up copy, in records.
        max_warmup_replicas: maximum number of warm-ups at a time.
        num_standby_replicas: standbys of each stateful task.
        probing_rebalance_interval_ms: delay of a probing rebalance.
        rack_aware_assignment_tags: keys of client tags over which to distribute standbys.
        rack_aware_traffic_cost: cost of a partition read across racks; None for the assignor's default (high
            availability: 10, sticky: 1).
        rack_aware_non_overlap_cost: cost of a moved task; None for the assignor's default (high availability: 1,
            sticky: 10).
        rack_aware_assignment_strategy: rack-aware strategy.

    Raises:
        ConfigError: Kafka rejects a value.

    Examples:
        >>> AssignmentConfigs(num_standby_replicas=1).max_warmup_replicas
        2
        >>> AssignmentConfigs(max_warmup_replicas=0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        assignors.errors.ConfigError: org.apache.kafka.common.config.ConfigException: Invalid value 0 ...
    """

    acceptable_recovery_lag: int = 10_000
    max_warmup_replicas: int = 2
    num_standby_replicas: int = 0
    probing_rebalance_interval_ms: int = 600_000
    rack_aware_assignment_tags: tuple[str, ...] = ()
    rack_aware_traffic_cost: int | None = None
    rack_aware_non_overlap_cost: int | None = None
    rack_aware_assignment_strategy: RackAwareStrategy = RackAwareStrategy.NONE

    def __post_init__(self) -> None:
        _at_least("acceptable.recovery.lag", self.acceptable_recovery_lag, 0)
        _at_least("max.warmup.replicas", self.max_warmup_replicas, 1)
        _at_least("num.standby.replicas", self.num_standby_replicas, 0)
        _at_least("probing.rebalance.interval.ms", self.probing_rebalance_interval_ms, 60_000)
        _at_least("rack.aware.assignment.traffic_cost", self.rack_aware_traffic_cost, 0)
        _at_least("rack.aware.assignment.non_overlap_cost", self.rack_aware_non_overlap_cost, 0)


def _at_least(key: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise ConfigError(f"Invalid value {value} for configuration {key}: Value must be at least {least}")
