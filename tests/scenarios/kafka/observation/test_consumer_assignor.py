"""The assignor of an imported consumer group, and stated configs that agree with it or not."""

from __future__ import annotations

import pytest

from scenarios.kafka.observation.consumer_scenario_writer import ReportedAssignor, consumer_scenario_text
from scenarios.kafka.observation.observation import (
    Observation,
    ObservedBroker,
    ObservedConsumer,
    ObservedConsumers,
    ObservedTopic,
)
from scenarios.load import loads

PACKAGE = "org.apache.kafka.clients.consumer"
COOPERATIVE = f"{PACKAGE}.CooperativeStickyAssignor"
RANGE = f"{PACKAGE}.RangeAssignor"
STRATEGY = "partition.assignment.strategy"


def _observation(reported: str, configs: dict[str, str], protocol: str = "classic") -> Observation:
    member = ObservedConsumer("m", "m", "", None, None, ("t",), ())
    return Observation(
        "", (ObservedBroker(1, None),), (ObservedTopic("t", ((1,),), (1,)),), "shop", protocol, (), (), configs,
        consumers=ObservedConsumers(reported, (member,)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reported", "stated", "listed", "label"),
    [
        ("range", None, "range", "range"),
        ("range", f"{RANGE},{COOPERATIVE}", "range,cooperative-sticky", "range"),
        ("range", f"{COOPERATIVE}, {RANGE}", "cooperative-sticky,range", "range"),
        ("range", "sticky", "range", "range"),
        ("range", "com.acme.Own,range", "range", "range"),
        ("own", "com.acme.Own", "range", "range"),
        ("cooperative-sticky", COOPERATIVE, "cooperative-sticky", "cooperative-sticky"),
        ("cooperative-sticky", f"{COOPERATIVE},{RANGE}", "cooperative-sticky,range", "cooperative-sticky (eager)"),
        ("cooperative-sticky", f"{RANGE},{COOPERATIVE}", "range,cooperative-sticky", "cooperative-sticky"),
    ],
)
def test_scenario_has_the_reported_assignor_and_the_stated_list(
    reported: str, stated: str | None, listed: str, label: str
) -> None:
    observation = _observation(reported, {} if stated is None else {STRATEGY: stated})
    scenario = loads(consumer_scenario_text(observation))
    assert [spec.label for spec in scenario.assignors] == [label]
    assert scenario.group is not None
    assert scenario.group.configs.strategies == listed.split(",")


@pytest.mark.parametrize(
    ("reported", "stated", "warnings"),
    [
        ("range", "range,sticky", []),
        (
            "range",
            "sticky",
            [
                "partition.assignment.strategy is ignored: the group has the assignor range, which all members must "
                "list, but partition.assignment.strategy does not."
            ],
        ),
        (
            "range",
            "com.acme.Own,range",
            ["partition.assignment.strategy lists assignors that are not Kafka's, which are omitted: com.acme.Own."],
        ),
        (
            "own",
            "com.acme.Own",
            ["The assignor own is not Kafka's: the group is simulated with range, whose assignments differ."],
        ),
    ],
)
def test_lists_that_the_group_cannot_have_are_warnings(reported: str, stated: str, warnings: list[str]) -> None:
    assert list(ReportedAssignor("classic", reported, {STRATEGY: stated}).warnings()) == warnings


def test_members_with_different_lists_are_an_assumption() -> None:
    assert list(ReportedAssignor("classic", "range", {STRATEGY: f"{COOPERATIVE},{RANGE}"}).assumptions()) == [
        "The group has the assignor range, although partition.assignment.strategy lists cooperative-sticky first: "
        "members list different assignors, and Kafka picked one that all of them list. The group is simulated with it "
        "throughout. If joins and departures can change it, state the list of each client in its configs, and remove "
        "assignors."
    ]
    assert list(ReportedAssignor("classic", "range", {STRATEGY: f"{RANGE},{COOPERATIVE}"}).assumptions()) == []


def test_cooperative_list_is_assumed_only_if_none_is_stated() -> None:
    [assumption] = ReportedAssignor("classic", "cooperative-sticky", {}).assumptions()
    assert assumption.startswith("All members are assumed to list only cooperative-sticky")
    assert list(ReportedAssignor("classic", "cooperative-sticky", {STRATEGY: COOPERATIVE}).assumptions()) == []


@pytest.mark.parametrize(("protocol", "other"), [("classic", "consumer"), ("consumer", "classic")])
def test_stated_protocol_that_the_group_does_not_have_is_ignored(protocol: str, other: str) -> None:
    configs = {"group.protocol": other.upper()}
    scenario = loads(consumer_scenario_text(_observation("range", configs, protocol)))
    assert scenario.group is not None
    assert scenario.group.configs.group_protocol == protocol
    assert list(ReportedAssignor(protocol, "range", configs).warnings()) == [
        f"group.protocol={other} is ignored: the group has the {protocol} protocol."
    ]
