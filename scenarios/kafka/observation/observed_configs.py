"""Observed configs in a scenario: the supported ones, and remarks on the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from scenarios.kafka.observation.observation import Observation
from scenarios.kafka.observation.yaml_text import YamlValue
from scenarios.language.broker_configs import LEADER_SELECTOR, RACK_AWARE_SELECTOR, BrokerConfigs
from scenarios.language.configs_outside_model import ConfigsOutsideTheModel, UnmodeledConfig
from scenarios.language.consumer_configs import ConsumerConfigs
from scenarios.language.section import ScenarioSection, config_keys
from scenarios.language.streams_configs import MISPLACED_CONFIGS, StreamsConfigs
from scenarios.language.unmodeled_configs import (
    BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    CONSUMER_CONFIGS_OUTSIDE_THE_MODEL,
    STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
)

_SELECTOR: Final = "replica.selector.class"
_ASSIGNOR_KEYS: Final = ("task.assignor.class", "internal.task.assignor.class")
_INTERNAL_PACKAGE: Final = "org.apache.kafka.streams.processor.internals.assignment."
_PUBLIC_PACKAGE: Final = "org.apache.kafka.streams.processor.assignment.assignors."
_ASSIGNORS: Final = {
    f"{_INTERNAL_PACKAGE}HighAvailabilityTaskAssignor": "high_availability",
    f"{_INTERNAL_PACKAGE}LegacyStickyTaskAssignor": "legacy_sticky",
    f"{_INTERNAL_PACKAGE}StickyTaskAssignor": "legacy_sticky",
    f"{_INTERNAL_PACKAGE}FallbackPriorTaskAssignor": "fallback_prior",
    f"{_PUBLIC_PACKAGE}StickyTaskAssignor": "sticky_task_assignor",
}
_EARLY_ACCESS: Final = "4.1"
"""Release with streams groups but without delays before an assignment; it is simulated as the newest."""
_DELAYS: Final = ("group.streams.assignment.interval.ms", "group.streams.initial.rebalance.delay.ms")

_CLIENT_KEYS: Final = ("num.stream.threads",)
"""Configs that a scenario sets per client."""

ConfigsAndRemarks = tuple[Mapping[str, YamlValue], tuple[str, ...]]
"""Configs by Kafka's keys, and sentences on those that a scenario does not support."""


def streams_configs(observation: Observation) -> ConfigsAndRemarks:
    """Return the application's configs that a scenario supports, and remarks on the others."""
    application_configs = {key: text for key, text in observation.configs.items() if key not in _CLIENT_KEYS}
    supported, omitted = _split_supported(application_configs, StreamsConfigs, STREAMS_CONFIGS_OUTSIDE_THE_MODEL)
    if observation.protocol == "streams":
        supported["group.protocol"] = "streams"
    return dict(sorted(supported.items())), _omission_remarks("the application", omitted)


def consumer_configs(observation: Observation) -> ConfigsAndRemarks:
    """Return the configs of a consumer group that a scenario supports, and remarks on the others."""
    supported, omitted = _split_supported(observation.configs, ConsumerConfigs, CONSUMER_CONFIGS_OUTSIDE_THE_MODEL)
    return dict(sorted(supported.items())), _omission_remarks("the consumers", omitted)


def broker_configs(observation: Observation) -> ConfigsAndRemarks:
    """Return the brokers' configs that a scenario supports and that are not defaults, and remarks on the others."""
    supported, omitted = _split_supported(observation.broker_configs, BrokerConfigs, BROKER_CONFIGS_OUTSIDE_THE_MODEL)
    if observation.protocol == "streams" and observation.broker_release == _EARLY_ACCESS:
        supported = {**dict.fromkeys(_DELAYS, 0), **supported}
    defaults = {model_field.alias: model_field.default for model_field in BrokerConfigs.model_fields.values()}
    supported = {key: value for key, value in supported.items() if key not in defaults or value != defaults[key]}
    remarks = _omission_remarks("the brokers", omitted)
    selector = supported.get(_SELECTOR)
    if selector not in (None, RACK_AWARE_SELECTOR, LEADER_SELECTOR):
        del supported[_SELECTOR]
        remarks += (f"{_SELECTOR}={selector} is a custom class; consumers are assumed to read from leaders.",)
    return dict(sorted(supported.items())), remarks


def assignor_of(observation: Observation) -> tuple[str, tuple[str, ...]]:
    """Return the name of the assignor, and a remark if it is a custom class."""
    if observation.protocol == "streams":
        return "streams_group_sticky", ()
    class_name = next((observation.configs[key] for key in _ASSIGNOR_KEYS if observation.configs.get(key)), None)
    if class_name is None:
        return "high_availability", ()
    if class_name in _ASSIGNORS:
        return _ASSIGNORS[class_name], ()
    remark = f"The assignor {class_name} is a custom class; run its Python port with --assignor package.module:Class."
    return "high_availability", (remark,)


def unmodeled_configs(observation: Observation) -> Iterator[tuple[str, str]]:
    """Yield the observed configs whose effect is not simulated, as pairs (`key=value`, what differs from Kafka)."""
    of_clients: tuple[type[ScenarioSection], ConfigsOutsideTheModel] = StreamsConfigs, STREAMS_CONFIGS_OUTSIDE_THE_MODEL
    if observation.consumers is not None:
        of_clients = ConsumerConfigs, CONSUMER_CONFIGS_OUTSIDE_THE_MODEL
    for configs, section, outside in (
        (observation.configs, *of_clients),
        (observation.broker_configs, BrokerConfigs, BROKER_CONFIGS_OUTSIDE_THE_MODEL),
    ):
        for key, text in sorted(configs.items()):
            found = _find_unmodeled(key, text, config_keys(section), outside)
            if found is not None:
                yield f"{key}={text.strip()}", found.effect


def _split_supported(
    configs: Mapping[str, str], section: type[ScenarioSection], outside: ConfigsOutsideTheModel
) -> tuple[dict[str, YamlValue], list[str]]:
    """Return the configs that a scenario has, and the keys that are unknown; configs without effect are in neither.

    Unmodeled configs are among the former, so that every run of the scenario warns.
    """
    keys = config_keys(section)
    supported: dict[str, YamlValue] = {}
    omitted: list[str] = []
    for key, text in sorted(configs.items()):
        if key in keys or _find_unmodeled(key, text, keys, outside) is not None:
            if text.strip():
                supported[key] = _parse_value(text.strip())
        elif outside.contains(key) or key in _ASSIGNOR_KEYS:
            continue
        elif not any(key.startswith(prefix) for prefix in MISPLACED_CONFIGS):
            omitted.append(key)
    return supported, omitted


def _find_unmodeled(
    key: str, text: str, keys: frozenset[str], outside: ConfigsOutsideTheModel
) -> UnmodeledConfig | None:
    found = None if key in keys or not text.strip() else outside.find(key)
    return found if found is not None and found.applies(text) else None


def _parse_value(text: str) -> YamlValue:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d{1,19}", text) else text


def _omission_remarks(owner: str, omitted: list[str]) -> tuple[str, ...]:
    if not omitted:
        return ()
    return (f"Configs of {owner} that scenarios do not support are omitted: {', '.join(omitted)}.",)
