"""What is left of the disks of clients, and the configs that decide about it."""

from __future__ import annotations

import pytest

from scenarios.language.errors import ScenarioError
from scenarios.load import Scenario, loads
from simulator.world.changes import Disk
from simulator.world.disturbances import Crash, RackOutage, RollingBounce
from simulator.world.group_configs import OffsetStorage, StateConfigs
from tests.scenarios.scenario_texts import replace_in_small

EVENTS = "events:\n  - {at: 30m, scale_out: {clients: late}}\n"
CONFIGS = "  configs: {num.standby.replicas: 1}\n"


def with_events(*events: str) -> Scenario:
    entries = "".join(f"  - {{at: {number}h, {event}}}\n" for number, event in enumerate(events, start=1))
    return loads(replace_in_small(EVENTS, f"events:\n{entries}").replace("duration: 2h", "duration: 9h"))


def disks(scenario: Scenario) -> list[Disk]:
    return [
        event.disk for event in scenario.world(1).disturbances if isinstance(event, Crash | RackOutage | RollingBounce)
    ]


def test_disks_after_events() -> None:
    scenario = with_events(
        "crash: {clients: app, down: 1m}",
        "crash: {clients: app, down: 1m, disk: kept}",
        "crash: {clients: app, pick: 1, down: 1m, disk: lost}",
        "rack_outage: {rack: az1, down: 1m}",
        "rolling_bounce: {clients: app}",
        "rolling_bounce: {clients: app, disk: lost}",
    )
    assert disks(scenario) == [
        Disk.UNFLUSHED_LOST,
        Disk.KEPT,
        Disk.LOST,
        Disk.UNFLUSHED_LOST,
        Disk.KEPT,
        Disk.LOST,
    ]


def test_a_client_that_closes_flushes_its_stores() -> None:
    with pytest.raises(ScenarioError, match=r"rolling_bounce\.disk"):
        with_events("rolling_bounce: {clients: app, disk: unflushed_lost}")


@pytest.mark.parametrize(
    ("configs", "kafka", "expected"),
    [
        ("", "", StateConfigs(False, 30_000, OffsetStorage.STORES)),
        ("processing.guarantee: exactly_once_v2", "", StateConfigs(True, 100, OffsetStorage.STORES)),
        ("commit.interval.ms: 5s", "kafka: 3.9.1", StateConfigs(False, 5_000, OffsetStorage.CHECKPOINT_FILE)),
    ],
)
def test_state_configs_have_kafkas_defaults(configs: str, kafka: str, expected: StateConfigs) -> None:
    section = f"  configs: {{{configs}}}\n" + (f"  {kafka}\n" if kafka else "")
    scenario = loads(replace_in_small(CONFIGS, section))
    assert scenario.world(1).application.state_configs == expected


@pytest.mark.parametrize("guarantee", ["exactly_once", "exactly_once_beta"])
def test_removed_guarantee_names_its_replacement(guarantee: str) -> None:
    section = f"  configs: {{processing.guarantee: {guarantee}}}\n"
    with pytest.raises(ScenarioError, match=r"was removed in Kafka 4\.0; write exactly_once_v2"):
        loads(replace_in_small(CONFIGS, section))


@pytest.mark.parametrize(
    "configs",
    [
        "processing.guarantee: exactly_once_v2",
        "processing.guarantee: exactly_once_v2, commit.interval.ms: 10s",
        "processing.guarantee: exactly_once_v2, commit.interval.ms: 30s, producer.transaction.timeout.ms: 30s",
        "processing.guarantee: exactly_once_v2, commit.interval.ms: 30s, producer.transaction.timeout.ms: '60000'",
        "processing.guarantee: exactly_once_v2, transaction.timeout.ms: 99",
        "commit.interval.ms: 30s, producer.transaction.timeout.ms: 1s",
    ],
)
def test_commit_intervals_with_which_kafka_streams_starts(configs: str) -> None:
    loads(replace_in_small(CONFIGS, f"  configs: {{{configs}}}\n"))
