"""Configs that were seen, in the terms of a scenario: those that it knows, and sentences on the others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from scenarios.kafka.observation.observation import Observation
from scenarios.kafka.observation.yaml_text import Value
from scenarios.language.broker_configs import LEADER_SELECTOR, RACK_AWARE_SELECTOR, BrokerConfigs
from scenarios.language.configs import MISPLACED_CONFIGS, ScenarioSection, StreamsConfigs

_SELECTOR: Final = "replica.selector.class"
_ASSIGNOR_KEYS: Final = ("task.assignor.class", "internal.task.assignor.class")
_INTERNALS: Final = "org.apache.kafka.streams.processor.internals.assignment."
_PUBLIC: Final = "org.apache.kafka.streams.processor.assignment.assignors."
_ASSIGNORS: Final = {
    f"{_INTERNALS}HighAvailabilityTaskAssignor": "high_availability",
    f"{_INTERNALS}LegacyStickyTaskAssignor": "legacy_sticky",
    f"{_INTERNALS}StickyTaskAssignor": "legacy_sticky",
    f"{_INTERNALS}FallbackPriorTaskAssignor": "fallback_prior",
    f"{_PUBLIC}StickyTaskAssignor": "sticky_task_assignor",
}
_OF_EACH_CLIENT: Final = ("num.stream.threads",)

Settings = tuple[Mapping[str, Value], tuple[str, ...]]


def streams_configs(seen: Observation) -> Settings:
    """The application's configs that a scenario knows, with a sentence on those that it does not."""
    own = {key: text for key, text in seen.configs.items() if key not in _OF_EACH_CLIENT}
    known, left_out = _known(own, StreamsConfigs)
    if seen.protocol == "streams":
        known["group.protocol"] = "streams"
    return dict(sorted(known.items())), _remarks("the application", left_out)


def broker_configs(configs: Mapping[str, str]) -> Settings:
    """The brokers' configs that a scenario knows and that differ from the defaults, with a sentence on the others."""
    known, left_out = _known(configs, BrokerConfigs)
    defaults = {each.alias: each.default for each in BrokerConfigs.model_fields.values()}
    known = {key: value for key, value in known.items() if value != defaults[key]}
    remarks = _remarks("the brokers", left_out)
    selector = known.get(_SELECTOR)
    if selector not in (None, RACK_AWARE_SELECTOR, LEADER_SELECTOR):
        del known[_SELECTOR]
        remarks += (f"{_SELECTOR}={selector} is not Kafka's; consumers are taken to read from leaders.",)
    return dict(sorted(known.items())), remarks


def assignor_of(seen: Observation) -> tuple[str, tuple[str, ...]]:
    """The name of the assignor, with a sentence if it is not one of Kafka's."""
    if seen.protocol == "streams":
        return "streams_group_sticky", ()
    chosen = next((seen.configs[key] for key in _ASSIGNOR_KEYS if seen.configs.get(key)), None)
    if chosen is None:
        return "high_availability", ()
    if chosen in _ASSIGNORS:
        return _ASSIGNORS[chosen], ()
    told = f"The assignor {chosen} is not Kafka's; with its twin in Python, run with --assignor package.module:Class."
    return "high_availability", (told,)


def _known(configs: Mapping[str, str], section: type[ScenarioSection]) -> tuple[dict[str, Value], list[str]]:
    keys = {model_field.alias or name for name, model_field in section.model_fields.items()}
    known: dict[str, Value] = {}
    left_out: list[str] = []
    for key, text in sorted(configs.items()):
        if key in keys:
            if text.strip():
                known[key] = _value(text.strip())
        elif key not in _ASSIGNOR_KEYS and not any(key.startswith(place) for place in MISPLACED_CONFIGS):
            left_out.append(key)
    return known, left_out


def _value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d{1,19}", text) else text


def _remarks(whose: str, left_out: list[str]) -> tuple[str, ...]:
    if not left_out:
        return ()
    return (f"Configs of {whose} that a scenario does not know are left out: {', '.join(left_out)}.",)
