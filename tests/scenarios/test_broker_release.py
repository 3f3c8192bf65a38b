"""The release of the brokers decides which assignor a streams group has, and defaults of configs."""

from __future__ import annotations

import pytest

from scenarios.load import Scenario, ScenarioError, loads
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import Controller
from tests.scenarios.scenario_texts import SMALL


def scenario_of(release: str | None, assignors: str = "[streams_group_sticky]", configs: str = "{}") -> Scenario:
    overrides = [("assignors", assignors), ("cluster.configs", configs)]
    if release is not None:
        overrides.append(("cluster.kafka", release))
    return loads(SMALL, "small", overrides=overrides)


@pytest.mark.parametrize(
    ("release", "name"),
    [
        (None, "streams_group_sticky"),
        ("4.2.0", "streams_group_sticky@4.2.1"),
        ("4.2.1", "streams_group_sticky@4.2.1"),
        ("4.2.2", "streams_group_sticky@4.2"),
        ("4.2", "streams_group_sticky@4.2"),
        ("4.3.1", "streams_group_sticky@4.3"),
        ("4.4.0", "streams_group_sticky@4.4"),
    ],
)
def test_streams_group_has_the_assignor_of_its_brokers(release: str | None, name: str) -> None:
    scenario = scenario_of(release)
    [spec] = scenario.assignors
    assert (spec.label, spec.info.name) == (name, name)
    for named in ("streams_group_sticky", name):
        asked = scenario.assignor_spec(named)
        assert (asked.label, asked.info) == (name, spec.info)


def test_named_release_is_that_release() -> None:
    scenario = scenario_of("4.3", "[streams_group_sticky, streams_group_sticky@4.4, high_availability]")
    assert [spec.label for spec in scenario.assignors] == [
        "streams_group_sticky@4.3",
        "streams_group_sticky@4.4",
        "high_availability",
    ]
    assert scenario.assignor_spec("streams_group_sticky@4.2").info.name == "streams_group_sticky@4.2"


@pytest.mark.parametrize("order", [("", "@4.4"), ("@4.4", "")])
@pytest.mark.parametrize("release", [None, "4.2.1", "4.3", "4.4", "4.4.0"])
def test_assignor_with_and_without_its_release_have_different_labels(
    release: str | None, order: tuple[str, str]
) -> None:
    scenario = scenario_of(release, f"[{', '.join(f'streams_group_sticky{suffix}' for suffix in order)}]")
    bare, named = (scenario.assignors[order.index(suffix)] for suffix in ("", "@4.4"))
    assert named.label == named.info.name == "streams_group_sticky@4.4"
    assert bare.label in ("streams_group_sticky", bare.info.name)
    assert bare.label != named.label
    assert (bare.info == named.info) == (release in ("4.4", "4.4.0"))


@pytest.mark.parametrize("assignors", ["[sgs, sgs]", "[sgs@4.4, sgs@4.4]", "[sgs@4.4, sgs@4.4.0]"])
def test_assignor_that_is_listed_twice_needs_a_label(assignors: str) -> None:
    with pytest.raises(ScenarioError, match=r"assignors\[1\].label: .* is also the label of another assignor"):
        scenario_of("4.4", assignors.replace("sgs", "streams_group_sticky"))


@pytest.mark.parametrize(
    ("release", "assignors", "message"),
    [
        ("4.5", "[ha]", "cluster.kafka: Kafka 4.5 is not supported (supported: 3.8 to 4.4)"),
        ("4.10", "[ha]", "cluster.kafka: Kafka 4.10 is not supported (supported: 3.8 to 4.4)"),
        ("4", "[ha]", "cluster.kafka: '4' is not a Kafka release such as 4.3 or 3.9.1"),
        (
            "4.1",
            "[streams_group_sticky]",
            "assignors[0].assignor: streams_group_sticky is not known for brokers of Kafka 4.1 "
            "(known: 4.2.1, 4.2, 4.3, 4.4)",
        ),
        ("4.4", "[streams_group_sticky@4.5]", "unknown release '4.5' of streams_group_sticky (known: "),
        (
            "4.4",
            "[{assignor: streams_group_sticky, parameters: {release: '4.3'}}]",
            "assignors[0].parameters.release: not a parameter of streams_group_sticky@4.4 (known: order, members)",
        ),
    ],
)
def test_unknown_release_is_a_mistake(release: str, assignors: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of(release, assignors)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("release", "configs", "interval_ms"),
    [
        ("4.2.1", "{}", 0),
        ("4.3", "{}", 1_000),
        ("4.4", "{}", 1_000),
        (None, "{}", 1_000),
        ("4.3", "{group.streams.assignment.interval.ms: 2s}", 2_000),
    ],
)
def test_default_assignment_interval_is_that_of_the_release(
    release: str | None, configs: str, interval_ms: int
) -> None:
    groups = scenario_of(release, configs=configs).blueprint.group_configs
    assert groups[GroupProtocol.STREAMS].streams_assignment_interval_ms == interval_ms


def test_release_of_brokers_does_not_change_classic_groups() -> None:
    assert scenario_of("3.9", "[ha]").assignors == scenario_of(None, "[ha]").assignors


@pytest.mark.parametrize(
    ("brokers", "clients", "reports", "interval_ms"),
    [
        (None, None, True, 60_000),
        ("4.4", "4.4", True, 60_000),
        ("4.3", "4.4", True, None),
        ("4.4", "4.3", False, 60_000),
    ],
)
def test_clients_and_brokers_from_4_4_on_exchange_task_offsets(
    brokers: str | None, clients: str | None, reports: bool, interval_ms: int | None
) -> None:
    kafka = [("cluster.kafka", brokers), ("application.kafka", clients)]
    groups = loads(SMALL, "small", overrides=[(key, n) for key, n in kafka if n]).blueprint.group_configs
    streams, classic = groups[GroupProtocol.STREAMS], groups[GroupProtocol.CLASSIC]
    assert (streams.reports_task_offsets, streams.task_offset_interval_ms) == (reports, interval_ms)
    assert not classic.reports_task_offsets


@pytest.mark.parametrize(
    ("key", "config", "message"),
    [
        ("cluster.configs", "group.streams.task.offset.interval.ms", "(5000 ms) is less than group.streams.min.task"),
        ("application.group_configs", "streams.task.offset.interval.ms", "5000 ms is less than group.streams.min.task"),
    ],
)
def test_task_offset_interval_below_the_minimum_is_rejected(key: str, config: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        loads(SMALL, "small", overrides=[(key, f"{{{config}: 5s}}")])
    assert message in str(error.value)
    assert f"{key}.{config}" in str(error.value)


@pytest.mark.parametrize("written", ["4.3", "'4.3'", '"4.3"', "!!str 4.3"])
def test_release_needs_no_quotes(written: str) -> None:
    text = SMALL.replace("cluster:\n", f"cluster:\n  kafka: {written}\n").replace(
        "assignors: [high_availability]", "assignors: [streams_group_sticky]"
    )
    [spec] = loads(text, "small").assignors
    assert spec.info.name == "streams_group_sticky@4.3"


def test_number_of_a_program_is_no_release() -> None:
    with pytest.raises(ScenarioError, match=r"cluster.kafka"):
        loads(SMALL.replace("cluster:\n", "cluster:\n  kafka: 4.30e0\n"), "small")


@pytest.mark.parametrize(("release", "is_known"), [("4.4", True), ("4.3", False)])
def test_transactional_stores_are_those_of_clients_from_4_4_on(release: str, is_known: bool) -> None:
    configs = "{enable.transactional.statestores: true, statestore.uncommitted.max.bytes: 1 MiB}"
    scenario = loads(SMALL, "small", overrides=[("application.configs", configs), ("application.kafka", release)])
    stores = scenario.world(1).application.state_configs
    assert (stores.transactional, stores.max_uncommitted_bytes) == (is_known, 1024 * 1024)
    warned = any("enable.transactional.statestores: has no effect" in warning for warning in scenario.warnings)
    assert warned is not is_known


def test_clients_before_streams_groups_are_an_error() -> None:
    group = [("assignors", "[streams_group_sticky]"), ("application.configs", "{group.protocol: streams}")]
    with pytest.raises(ScenarioError, match=r"application.kafka: Kafka Streams 4.0.2 has no streams groups; state 4.1"):
        loads(SMALL, "small", overrides=[*group, ("application.kafka", "4.0.2")])
    assert loads(SMALL, "small", overrides=[*group, ("application.kafka", "4.1")]).warnings == ()


def test_assignor_in_a_streams_group_of_clients_before_is_a_warning() -> None:
    assignors = "[high_availability, {assignor: streams_group_sticky, configs: {group.protocol: streams}}]"
    [warning] = loads(SMALL, "small", overrides=[("assignors", assignors), ("application.kafka", "4.0.2")]).warnings
    assert "application.kafka: Kafka Streams 4.0.2 has no streams groups" in warning


@pytest.mark.parametrize(("release", "count"), [("4.1.0", 1), ("4.1.1", 0), ("4.1", 0)])
def test_clients_that_leak_memory_are_a_warning(release: str, count: int) -> None:
    warnings = loads(SMALL, "small", overrides=[("application.kafka", release)]).warnings
    assert len([warning for warning in warnings if "KAFKA-19748" in warning]) == count


@pytest.mark.parametrize(
    ("release", "protocol", "count"), [("4.2.0", "streams", 1), ("4.2.1", "streams", 0), ("4.2.0", "classic", 0)]
)
def test_brokers_that_damage_a_migrated_group_are_a_warning(release: str, protocol: str, count: int) -> None:
    overrides = [("application.configs", f"{{group.protocol: {protocol}}}"), ("cluster.kafka", release)]
    warnings = loads(SMALL, "small", overrides=overrides).warnings
    assert len([warning for warning in warnings if "KAFKA-20254" in warning]) == count


@pytest.mark.parametrize(
    ("release", "periodic", "eligible", "waits"),
    [
        ("3.9", False, False, True),
        ("4.0", True, False, True),
        ("4.1", True, True, True),
        ("4.2", True, True, True),
        ("4.3", True, True, False),
        (None, True, True, False),
    ],
)
def test_controller_is_that_of_the_release(release: str | None, *, periodic: bool, eligible: bool, waits: bool) -> None:
    scenario = scenario_of(release, "[high_availability]")
    controller = scenario.world(1, scenario.assignors[0]).cluster.controller
    assert controller == Controller(300_000, periodic, eligible, waits)
