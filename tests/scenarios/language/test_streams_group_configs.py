"""Configs of streams groups by the release of the brokers, and overrides for a group."""

from __future__ import annotations

import re

import pytest

from scenarios.language.cluster_entries import BrokerConfigs, GroupOverrides
from scenarios.language.errors import ScenarioError
from scenarios.language.fields import config_keys
from scenarios.language.streams_group_configs import (
    BROKER_PREFIX,
    GROUP_PREFIX,
    STREAMS_GROUP_CONFIGS,
    Effect,
    StreamsGroupConfig,
    streams_group_configs,
    unknown_key_message,
)
from scenarios.load import Scenario, loads
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from tests.scenarios.scenario_texts import SMALL


def loaded(release: str | None, *overrides: tuple[str, str]) -> Scenario:
    release_of_brokers = [] if release is None else [("cluster.kafka", f"'{release}'")]
    return loads(SMALL, "small", overrides=[*overrides, *release_of_brokers])


def streams_configs(release: str | None, *overrides: tuple[str, str]) -> GroupConfigs:
    return loaded(release, *overrides).blueprint.group_configs[GroupProtocol.STREAMS]


def settings(config: StreamsGroupConfig) -> list[tuple[str, tuple[int, int]]]:
    """Return the paths of a config in a scenario, with the first releases."""
    sections = {config.broker_key: "cluster.configs", config.group_key: "application.group_configs"}
    return [(f"{sections[key]}.{key}", since) for key, since in config.first_releases()]


@pytest.mark.parametrize("config", STREAMS_GROUP_CONFIGS, ids=lambda config: config.name)
@pytest.mark.parametrize("release", ["4.1", "4.2", "4.3", "4.4"])
def test_release_knows_exactly_its_own_configs(config: StreamsGroupConfig, release: str) -> None:
    """A default value is valid in every release with the config, and an error that names the first one in others."""
    for path, since in settings(config):
        stated = (path, config.default or "anything")
        if tuple(map(int, release.split("."))) >= since:
            assert loaded(release, stated).name
            continue
        first = ".".join(map(str, since))
        message = f"{path}: unknown to brokers of Kafka {release}, which cluster.kafka states (known from Kafka {first}"
        with pytest.raises(ScenarioError, match=re.escape(message)):
            loaded(release, stated)


@pytest.mark.parametrize("config", STREAMS_GROUP_CONFIGS, ids=lambda config: config.name)
def test_only_configs_with_another_effect_cause_a_warning(config: StreamsGroupConfig) -> None:
    for path, _ in settings(config):
        value = {"int": "7s", "long": "7", "boolean": "false"}.get(config.valid.split()[0], "mine")
        if config.effect is not Effect.MODELED:
            warnings = [text for text in loaded(None, (path, value)).warnings if path in text]
            assert len(warnings) == (config.effect is Effect.WARNING)
            assert not warnings or warnings[0].endswith(f"not modeled (no effect): {config.remark}")


def test_modeled_configs_are_those_of_the_schema() -> None:
    assert set(streams_group_configs(Effect.MODELED, BROKER_PREFIX)) == {
        key for key in config_keys(BrokerConfigs) if key.startswith(BROKER_PREFIX)
    }
    assert set(streams_group_configs(Effect.MODELED, GROUP_PREFIX)) == config_keys(GroupOverrides)
    defaults = {field.alias: field.default for field in BrokerConfigs.model_fields.values()}
    for key, config in streams_group_configs(Effect.MODELED, BROKER_PREFIX).items():
        assert str(defaults[key]) == config.default


def test_override_has_the_effect_of_the_brokers_config() -> None:
    for config in streams_group_configs(Effect.MODELED, GROUP_PREFIX).values():
        minimum = (f"cluster.configs.group.streams.min.{config.name}", "1s")
        limit = [minimum] if f"group.streams.min.{config.name}" in config_keys(BrokerConfigs) else []
        group = (f"application.group_configs.{config.group_key}", "9s")
        brokers = (f"cluster.configs.{config.broker_key}", "9s")
        assert streams_configs(None, *limit, group) == streams_configs(None, *limit, brokers)
        assert streams_configs(None, *limit, group) != streams_configs(None, *limit)
        assert streams_configs(None, *limit, group, (brokers[0], "8s")) == streams_configs(None, *limit, group)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"streams.session.timeout.ms": "61s"},
            "session.timeout.ms: 61000 ms is not between group.streams.min.session.timeout.ms and "
            "group.streams.max.session.timeout.ms (45000 and 60000 ms); the brokers reject it",
        ),
        ({"streams.assignment.interval.ms": "16s"}, "assignment.interval.ms: 16000 ms is not between"),
        ({"streams.heartbeat.interval.ms": "1s"}, "heartbeat.interval.ms: 1000 ms is not between"),
        ({"streams.sesion.timeout.ms": "50s"}, "did you mean 'streams.session.timeout.ms'?"),
        ({"group.streams.session.timeout.ms": "50s"}, "it belongs in cluster.configs"),
        ({"streams.max.size": "3"}, "unknown or misplaced config"),
    ],
)
def test_invalid_override_is_a_located_mistake(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        loaded(None, *((f"application.group_configs.{key}", value) for key, value in overrides.items()))
    assert "application.group_configs.streams" in str(caught.value) or "group.streams" in str(caught.value)
    assert message in str(caught.value)


def test_heartbeats_of_the_group_are_shorter_than_its_session() -> None:
    limits = [("cluster.configs.group.streams.max.heartbeat.interval.ms", "60s")]
    with pytest.raises(ScenarioError, match=r"group_configs\.streams\.heartbeat\.interval\.ms: .*is not less than"):
        loaded(None, *limits, ("application.group_configs.streams.heartbeat.interval.ms", "45s"))


def test_brokers_without_a_delay_assign_at_once() -> None:
    configs = {release: streams_configs(release) for release in ("4.1", "4.2", "4.3", "4.4", None)}
    assert [group.initial_rebalance_delay_ms for group in configs.values()] == [0, 3_000, 3_000, 3_000, 3_000]
    assert [group.streams_assignment_interval_ms for group in configs.values()] == [0, 0, 1_000, 1_000, 1_000]


def test_keys_of_other_configs_have_no_release() -> None:
    assert unknown_key_message("num.partitions", (3, 8)) is None
