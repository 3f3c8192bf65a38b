"""Configs that Kafka itself refuses, and what the others mean."""

from __future__ import annotations

from typing import Final

from assignors.configs import AssignmentConfigs
from assignors.errors import ConfigError
from scenarios.configs import AssignorConfigs, BrokerConfigs, StreamsConfigs
from scenarios.paths import Path
from scenarios.validation import Places
from simulator.world import GroupConfigs

SESSION_TIMEOUT_MS: Final = (6_000, 1_800_000)
"""What brokers take by default: group.min.session.timeout.ms and group.max.session.timeout.ms."""


def check_configs(configs: AssignorConfigs, path: Path, places: Places) -> dict[str, object]:
    """Note the keys that Kafka refuses as mistakes.

    Returns:
        What is set and fine, by the fields of `AssignmentConfigs`.
    """
    fine: dict[str, object] = {}
    for name, value in configs.changes().items():
        try:
            AssignmentConfigs(**{name: value})
        except ConfigError as error:
            key = AssignorConfigs.model_fields[name].alias or name
            places.wrong((*path, key), str(error.args[0]))
        else:
            fine[name] = value
    return fine


def group_configs(streams: StreamsConfigs, brokers: BrokerConfigs, path: Path, places: Places) -> GroupConfigs:
    """The settings of the group's life; a session timeout that brokers refuse is noted as a mistake."""
    least, most = SESSION_TIMEOUT_MS
    timeout_ms = streams.session_timeout_ms
    if not least <= timeout_ms <= most:
        limits = "group.min.session.timeout.ms and group.max.session.timeout.ms"
        message = f"{timeout_ms} ms is not between {limits}, {least} and {most} ms; the group coordinator refuses it"
        places.wrong((*path, "session.timeout.ms"), message)
    return GroupConfigs(
        session_timeout_ms=timeout_ms,
        initial_rebalance_delay_ms=brokers.initial_rebalance_delay_ms,
        leave_group_on_close=streams.leave_group_on_close,
        state_cleanup_delay_ms=streams.state_cleanup_delay_ms,
    )
