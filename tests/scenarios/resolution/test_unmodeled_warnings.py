"""Warnings about configs whose effect is not simulated, and configs without effect."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from scenarios.language import unmodeled_configs as client_configs
from scenarios.language.client_configs import MISPLACED_CONFIGS, StreamsConfigs
from scenarios.language.cluster_entries import BrokerConfigs, GroupOverrides
from scenarios.language.errors import ScenarioError
from scenarios.language.fields import config_keys
from scenarios.language.unmodeled_configs import (
    BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    GROUP_CONFIGS_OUTSIDE_THE_MODEL,
    STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
)
from scenarios.load import Scenario, loads
from scenarios.schema import build_json_schema

SCENARIO = """\
cluster:
  brokers: {{count: 3, racks: [az1]}}
  topics: [{{name: orders, partitions: 4, bytes_per_s: 1 MB/s}}]
  configs: {{{brokers}}}
application:
  id: shop
  configs:
    num.standby.replicas: 1
{streams}
  subtopologies: [{{sources: [orders], stores: [{{name: totals, size: 1 GB}}]}}]
clients: [{{name: a, count: 2}}]
"""
SECTIONS = [
    (StreamsConfigs, STREAMS_CONFIGS_OUTSIDE_THE_MODEL),
    (BrokerConfigs, BROKER_CONFIGS_OUTSIDE_THE_MODEL),
    (GroupOverrides, GROUP_CONFIGS_OUTSIDE_THE_MODEL),
]


def _load(streams: str = "", brokers: str = "") -> Scenario:
    return loads(SCENARIO.format(streams=f"    {streams}" if streams else "", brokers=brokers))


def test_warning_names_the_line_the_config_and_the_effect() -> None:
    [warning] = _load("max.task.idle.ms: 500").warnings
    assert warning.startswith(
        "scenario:9: application.configs.max.task.idle.ms: valid, but not modeled (no effect): tasks"
    )


@pytest.mark.parametrize(
    ("config", "warns"),
    [
        ("max.task.idle.ms: 0", False),
        ("max.task.idle.ms: 0s", False),
        ("task.timeout.ms: 5m", False),
        ("task.timeout.ms: 300000", False),
        ("task.timeout.ms: '300000'", False),
        ("task.timeout.ms: 4m59s", True),
        ("topology.optimization: NONE", False),
        ("topology.optimization: all", True),
        ("default.dsl.store: rocksDB", False),
        ("default.dsl.store: in_memory", True),
        ("rocksdb.config.setter: com.example.Setter", True),
        ("upgrade.from: '2.3'", True),
        ("__state.updater.enabled__: true", False),
        ("__state.updater.enabled__: false", True),
        ("consumer.session.timeout.ms: 10s", True),
        ("main.consumer.max.poll.interval.ms: 10s", True),
        ("consumer.metadata.max.age.ms: 10s", True),
        ("metadata.max.age.ms: 10s", False),
        ("producer.transaction.timeout.ms: 60000", True),
        ("producer.transaction.timeout.ms: 10000", False),
        ("producer.acks: 1", False),
        ("main.consumer.fetch.max.bytes: 1", False),
        ("sasl.jaas.config: secret", False),
        ("partition.assignment.strategy: com.example.Mine", True),
        ("topic.segment.bytes: 1000000", False),
        ("state.dir: /shared", False),
    ],
)
def test_only_values_with_another_effect_than_the_default_cause_a_warning(config: str, warns: bool) -> None:
    warnings = _load(config).warnings
    assert len(warnings) == warns
    assert "secret" not in "".join(warnings)


@pytest.mark.parametrize(
    ("config", "warns"),
    [("group.max.size: 5", True), ("group.consumer.max.size: 5", False), ("log.retention.hours: 168", False)],
)
def test_configs_of_brokers_cause_warnings_too(config: str, warns: bool) -> None:
    assert len(_load(brokers=config).warnings) == warns


@pytest.mark.parametrize(
    ("config", "hint"),
    [
        ("max.task.idel.ms: 1", "did you mean 'max.task.idle.ms'?"),
        ("producer.nonsense: 1", ""),
        ("bootstrap.server: a:9092", "did you mean 'bootstrap.servers'?"),
        ("consumer.max.pol.records: 1", "did you mean 'consumer.max.poll.records'?"),
        ("num.standby.replica: 1", "did you mean 'num.standby.replicas'?"),
        ("group.max.size: 5", "it belongs in cluster.configs"),
    ],
)
def test_unknown_and_misplaced_configs_are_still_mistakes(config: str, hint: str) -> None:
    with pytest.raises(ScenarioError, match=r"unknown or misplaced config \(" + re.escape(hint)):
        _load(config)


def test_configs_outside_the_model_change_nothing() -> None:
    """Any set of them gives the same simulated world."""
    generator = random.Random(18)
    keys = sorted(STREAMS_CONFIGS_OUTSIDE_THE_MODEL.unmodeled) + [
        key for key in sorted(STREAMS_CONFIGS_OUTSIDE_THE_MODEL.without_effect) if not key.endswith("*")
    ]
    expected = _load().blueprint
    for _ in range(5):
        stated = generator.sample(keys, 12)
        scenario = _load("\n    ".join(f"{key}: '7'" for key in stated))
        assert scenario.blueprint == expected
        unmodeled = [warning for warning in scenario.warnings if ": overridden by " not in warning]
        assert len(unmodeled) == sum(key in STREAMS_CONFIGS_OUTSIDE_THE_MODEL.unmodeled for key in stated)


@pytest.mark.parametrize(("section", "outside"), SECTIONS)
def test_modeled_configs_are_not_in_the_lists(section: type[StreamsConfigs], outside: object) -> None:
    assert isinstance(outside, type(STREAMS_CONFIGS_OUTSIDE_THE_MODEL))
    keys = config_keys(section)
    assert not keys & {*outside.unmodeled, *outside.without_effect}
    assert not set(outside.unmodeled) & set(outside.without_effect)
    assert not [key for key in outside.unmodeled if outside.has_no_effect(key)]
    assert outside.unprefixed <= keys


@pytest.mark.parametrize(("section", "outside"), SECTIONS)
def test_schema_accepts_the_same_keys(section: type[StreamsConfigs], outside: object) -> None:
    assert isinstance(outside, type(STREAMS_CONFIGS_OUTSIDE_THE_MODEL))
    patterns = build_json_schema()["$defs"][section.__name__]["patternProperties"]
    prefixes = ("", *outside.prefixes)
    names = [name.replace("*", "x") for name in (*outside.unmodeled, *outside.without_effect, *outside.unprefixed)]
    for key in [prefix + name for prefix in prefixes for name in names] + ["nonsense", "max.task.idel.ms"]:
        if key not in config_keys(section):
            assert any(re.search(pattern, key) for pattern in patterns) == outside.contains(key), key


CLIENT_CONFIGS = json.loads(Path(client_configs.__file__).with_name("client_configs.json").read_text(encoding="utf-8"))
"""The names of the configs that released classes know, by class; written by `python -m tools.client_configs`."""

CONSUMERS = ("", "consumer.", "main.consumer.", "restore.consumer.", "global.consumer.")
PREFIXES = {
    "streams": ("",),
    "consumer": CONSUMERS,
    "producer": ("", "producer."),
    "admin": ("", "admin."),
    "topic": ("topic.",),
}
"""The prefixes with which Kafka Streams accepts the configs of a class."""


def accepts(key: str) -> bool:
    return key in config_keys(StreamsConfigs) or STREAMS_CONFIGS_OUTSIDE_THE_MODEL.contains(key)


@pytest.mark.parametrize("kind", PREFIXES)
def test_every_released_config_is_accepted_with_its_prefixes_or_has_another_place(kind: str) -> None:
    assert {"3.9.1", "4.3.1"} <= set(CLIENT_CONFIGS["releases"])
    keys = {f"{prefix}{name}" for prefix in PREFIXES[kind] for name in CLIENT_CONFIGS[kind]}
    refused = {key for key in keys if not accepts(key)}
    assert {key.removeprefix("main.").removeprefix("consumer.") for key in refused} <= set(MISPLACED_CONFIGS)
    for key in refused:
        with pytest.raises(ScenarioError, match=r"unknown or misplaced config \((set|list) "):
            _load(f"{key}: x")


@pytest.mark.parametrize("prefix", sorted({prefix for prefixes in PREFIXES.values() for prefix in prefixes}))
def test_no_unknown_config_is_accepted(prefix: str) -> None:
    """A letter more, a letter less, or the config of another client makes a name unknown."""
    kinds = [kind for kind, prefixes in PREFIXES.items() if prefix in prefixes]
    known = {name for kind in kinds for name in CLIENT_CONFIGS[kind]}
    others = {name for kind in PREFIXES for name in CLIENT_CONFIGS[kind]}
    for name in others | {f"{name}x" for name in known} | {name[:-1] for name in known}:
        key = f"{prefix}{name}"
        if name not in known and not (prefix == "" and key in config_keys(StreamsConfigs)):
            assert not STREAMS_CONFIGS_OUTSIDE_THE_MODEL.contains(key) or key.startswith("config.providers."), key


def test_every_listed_config_is_released() -> None:
    """The lists have no name that no release knows."""
    outside = STREAMS_CONFIGS_OUTSIDE_THE_MODEL
    for name in (*outside.unmodeled, *outside.without_effect):
        if not name.endswith("*"):
            assert outside.is_released(name), name
        elif not name.startswith("config.providers"):
            assert any(
                f"{prefix}{key}".startswith(name[:-1]) for prefix, keys in outside.released.items() for key in keys
            ), name


def _configs(*lines: str) -> list[str]:
    return [warning.partition(": application.configs.")[2] for warning in _load("\n    ".join(lines)).warnings]


@pytest.mark.parametrize(
    ("configs", "warning"),
    [
        (("enable.auto.commit: true",), "enable.auto.commit: overridden by Kafka Streams: false holds"),
        (
            ("main.consumer.enable.auto.commit: true",),
            "main.consumer.enable.auto.commit: overridden by Kafka Streams: false holds",
        ),
        (
            ("processing.guarantee: exactly_once_v2", "consumer.isolation.level: read_uncommitted"),
            "consumer.isolation.level: overridden by processing.guarantee: exactly_once_v2: read_committed holds",
        ),
        (("acks: 1", "producer.acks: all"), "acks: overridden by producer.acks: 'all' holds"),
        (
            ("cache.max.bytes.buffering: 1000", "statestore.cache.max.bytes: 2000"),
            "cache.max.bytes.buffering: overridden by statestore.cache.max.bytes: 2000 holds",
        ),
        (
            ("session.timeout.ms: 20s", "consumer.session.timeout.ms: 30s", "main.consumer.session.timeout.ms: 30s"),
            "session.timeout.ms: overridden by main.consumer.session.timeout.ms: '30s' holds, but the simulator reads "
            "session.timeout.ms; set it to '30s'",
        ),
    ],
)
def test_an_overridden_config_is_named_with_what_holds(configs: tuple[str, ...], warning: str) -> None:
    assert _configs(*configs) == [warning]


@pytest.mark.parametrize(
    "configs",
    [
        ("enable.auto.commit: false", "consumer.enable.auto.commit: false"),
        ("processing.guarantee: at_least_once", "isolation.level: read_uncommitted", "enable.idempotence: false"),
        ("processing.guarantee: exactly_once_v2", "main.consumer.isolation.level: read_uncommitted"),
        ("session.timeout.ms: 20s", "main.consumer.session.timeout.ms: 20000"),
        ("statestore.cache.max.bytes: 2000", "deserialization.exception.handler: a.B"),
    ],
)
def test_a_config_that_holds_is_not_named_as_overridden(configs: tuple[str, ...]) -> None:
    assert not _configs(*configs)


def test_the_strongest_prefix_holds_although_a_weaker_one_differs() -> None:
    stated = ("session.timeout.ms: 20s", "consumer.session.timeout.ms: 30s", "main.consumer.session.timeout.ms: 20s")
    [warning] = _configs(*stated)
    assert warning == "consumer.session.timeout.ms: overridden by main.consumer.session.timeout.ms: '20s' holds"
