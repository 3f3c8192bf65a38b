"""Warnings about configs whose effect is not simulated."""

from __future__ import annotations

from typing import Any, Final

from scenarios.language.broker_configs import BrokerConfigs
from scenarios.language.paths import ScenarioPath
from scenarios.language.section import config_keys
from scenarios.language.streams_configs import StreamsConfigs
from scenarios.language.unmodeled_configs import (
    BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
)
from scenarios.language.validation import SourceMap

_SECTIONS: Final = (
    (("application", "configs"), StreamsConfigs, STREAMS_CONFIGS_OUTSIDE_THE_MODEL),
    (("cluster", "configs"), BrokerConfigs, BROKER_CONFIGS_OUTSIDE_THE_MODEL),
)


def warn_about_unmodeled_configs(root: Any, source_map: SourceMap) -> None:
    """Add a warning for each config that differs from Kafka's default and whose effect is not simulated.

    Args:
        root: the data of the scenario; the parsed document lacks these configs.
        source_map: collects the warnings.
    """
    for path, section, outside in _SECTIONS:
        modeled = config_keys(section)
        for key, value in _mapping_at(root, path).items():
            found = None if key in modeled else outside.find(str(key))
            if found is not None and found.applies(value):
                source_map.add_warning((*path, str(key)), f"not modeled: {found.effect}")


def _mapping_at(root: Any, path: ScenarioPath) -> dict[Any, Any]:
    for part in path:
        root = root.get(part) if isinstance(root, dict) else None
    return root if isinstance(root, dict) else {}
