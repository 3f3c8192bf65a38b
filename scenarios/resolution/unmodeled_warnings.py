"""Configs that the simulator does not read: warnings, and those that Kafka rejects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from scenarios.language.application_entries import ApplicationSection
from scenarios.language.broker_configs import BrokerConfigs, GroupOverrides
from scenarios.language.configs_outside_model import ConfigsOutsideTheModel
from scenarios.language.consumer_configs import ConsumerConfigs
from scenarios.language.overridden_configs import overridden_configs
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import NEWEST, parse_release
from scenarios.language.section import ScenarioSection, config_keys
from scenarios.language.streams_configs import StreamsConfigs
from scenarios.language.streams_group_configs import unknown_key_message
from scenarios.language.units import parse_duration_ms
from scenarios.language.unmodeled_configs import (
    BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    CONSUMER_CONFIGS_OUTSIDE_THE_MODEL,
    GROUP_CONFIGS_OUTSIDE_THE_MODEL,
    STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
)
from scenarios.language.validation import SourceMap
from scenarios.resolution.configs import resolve_state_configs
from scenarios.resolution.subtopology_drafts import APPLICATION

TRANSACTION_TIMEOUT_MS: Final = 10_000
"""Kafka Streams' default of `transaction.timeout.ms` (`StreamsConfig.DEFAULT_TRANSACTION_TIMEOUT`)."""

_SECTIONS: Final = (
    ((*APPLICATION, "configs"), StreamsConfigs, STREAMS_CONFIGS_OUTSIDE_THE_MODEL),
    (("cluster", "configs"), BrokerConfigs, BROKER_CONFIGS_OUTSIDE_THE_MODEL),
    (("application", "group_configs"), GroupOverrides, GROUP_CONFIGS_OUTSIDE_THE_MODEL),
)


def warn_about_unmodeled_configs(root: Any, source_map: SourceMap) -> None:
    """Add a warning for each config that is overridden, or differs from Kafka's default and is not simulated.

    `root`: the data of the scenario; the parsed document lacks these configs.
    """
    groups = root.get("consumers") if isinstance(root, dict) else None
    numbers = range(len(groups)) if isinstance(groups, list) else ()
    sections: list[tuple[ScenarioPath, type[ScenarioSection], ConfigsOutsideTheModel]] = [
        *_SECTIONS,
        *((("consumers", n, "configs"), ConsumerConfigs, CONSUMER_CONFIGS_OUTSIDE_THE_MODEL) for n in numbers),
    ]
    for path, section, outside in sections:
        modeled, configs = config_keys(section), _mapping_at(root, path)
        overridden = dict(overridden_configs(configs)) if section is StreamsConfigs else {}
        read = {f"{prefix}{name}" for prefix in outside.prefixes for name in outside.unprefixed & configs.keys()}
        for key, value in configs.items():
            if key in overridden:
                source_map.add_warning((*path, str(key)), overridden[key])
                continue
            found = None if key in modeled or key in read else outside.find(str(key))
            if found is not None and found.applies(value):
                source_map.add_warning((*path, str(key)), f"valid, but not modeled (no effect): {found.effect}")


def check_transaction_timeout(root: Any, application: ApplicationSection, source_map: SourceMap) -> None:
    """Report a transaction timeout with which Kafka Streams refuses to start under `exactly_once_v2`.

    `StreamsConfig.verifyEOSTransactionTimeoutCompatibility` reads the config with its prefix only. It is the same in
    the releases from 3.8.1 to 4.4.0. `root`: the data of the scenario; the parsed document lacks the timeout.
    `source_map`: collects the mistake.
    """
    state_configs, path = resolve_state_configs(application), (*APPLICATION, "configs")
    if not state_configs.exactly_once or not source_map.is_valid(*path):
        return
    timeout, commit = "producer.transaction.timeout.ms", "commit.interval.ms"
    stated = str(_mapping_at(root, path).get(timeout, TRANSACTION_TIMEOUT_MS)).strip()
    try:
        timeout_ms = int(stated) if re.fullmatch(r"-?\d{1,19}", stated) else parse_duration_ms(stated)
    except ValueError as error:
        source_map.add_mistake((*path, timeout), str(error))
        return
    commit_ms = state_configs.commit_interval_ms
    if timeout_ms < commit_ms:
        key = timeout if application.configs.commit_interval_ms is None else commit
        message = f"{commit} ({commit_ms} ms) is greater than {timeout} ({timeout_ms} ms)"
        remedy = f"set {timeout} to {commit_ms} or more, or a shorter {commit}"
        source_map.add_mistake(
            (*path, key), f"{message}: Kafka Streams refuses to start with exactly_once_v2; {remedy}"
        )


def check_config_releases(root: Any, broker_releases: Mapping[str | None, SourceMap]) -> None:
    """Report configs of streams groups that the brokers of no run know.

    `root`: the data of the scenario. `broker_releases`: the releases of the brokers, each with the source map that
    collects the mistakes about it; None for the newest, which knows all.
    """
    if None in broker_releases:
        return
    stated, source_map = max(broker_releases.items(), key=lambda item: parse_release(item[0] or NEWEST))
    release = parse_release(stated or NEWEST)[:2]
    for path in (("cluster", "configs"), ("application", "group_configs")):
        for key in _mapping_at(root, path):
            message = unknown_key_message(str(key), release)
            if message is not None:
                source_map.add_mistake((*path, str(key)), message)


def _mapping_at(root: Any, path: ScenarioPath) -> dict[Any, Any]:
    for part in path:
        if isinstance(part, int):
            root = root[part] if isinstance(root, list) else None
        else:
            root = root.get(part) if isinstance(root, dict) else None
    return root if isinstance(root, dict) else {}
