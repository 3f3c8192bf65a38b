"""Assignors that state Kafka releases: a run is that of a scenario with these releases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assignor_sim.api.releases import releases
from assignor_sim.api.running import run
from pipeline.advise.space import with_current_assignor
from scenarios.checkup.situations import base_document
from scenarios.language.errors import SweepError
from scenarios.language.yaml_reader import read_yaml
from scenarios.load import Scenario, loads
from scenarios.suite.standard import SuiteCase, own_cases, standard_suite
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.counts import few_or
from tests.scenarios.scenario_texts import SMALL, mistakes_in, with_events

OLD = {"label": "old", "assignor": "high_availability", "kafka": 3.9}
NEW = {
    "label": "new",
    "assignor": "streams_group_sticky",
    "kafka": {"brokers": "4.3", "clients": "4.2.1"},
    "configs": {"group.protocol": "streams"},
}
ALONE = {
    "old": {"cluster.kafka": "3.9", "application.kafka": "3.9", "application.configs.group.protocol": "classic"},
    "new": {"cluster.kafka": "4.3", "application.kafka": "4.2.1", "application.configs.group.protocol": "streams"},
}
"""The same releases and protocols as settings of the whole scenario."""


def _random_cases() -> Iterator[SuiteCase]:
    """Yield one or two scenarios of each family: joins, crashes, rolling restarts, outages, skewed and cold starts."""
    numbers: dict[str, int] = {}
    for case in standard_suite(3, quick=True):
        numbers[case.family] = numbers.get(case.family, 0) + 1
        if case.document is not None and case.folder is None and numbers[case.family] <= few_or(2, 1):
            yield case


CASES = [*_random_cases(), *own_cases(["bounces_and_static_membership", "broker_bounces"])]


def _loaded(document: dict[str, Any], folder: Path | None, **overrides: str) -> Scenario:
    return loads(json.dumps(document), "s.yaml", [*overrides.items()], folder)


def _tables(scenario: Scenario, seed: int) -> dict[str, pa.Table]:
    return run(scenario, seed=seed, max_rebalances=200).tables


GROUP = """
consumers:
  - group: billing
    topics: [orders]
    kafka: 4.2
    clients: [{name: reader, count: 2, consumers: 2, racks: [az1, az2]}]
"""
"""A classic group beside the application, whose empty group waits for members as the release of the brokers does."""

UPGRADE = "{at: 1h, upgrade: {clients: app, to: 4.4}}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.seed}")
def test_runs_are_those_of_a_scenario_with_the_releases_and_the_protocol(case: SuiteCase) -> None:
    assert case.document is not None
    document = {key: value for key, value in case.document.items() if key not in ("expect", "problem")}
    _check_runs(document, case.folder, case.seed)


@pytest.mark.parametrize("events", [(), (UPGRADE,)])
def test_groups_beside_the_application_and_upgrades_have_these_releases(events: tuple[str, ...]) -> None:
    document = read_yaml(SMALL + GROUP).value
    document["events"] += [read_yaml(event).value for event in events]
    document["events"].append({"at": "40m", "crash": {"clients": ["app-1"], "down": "3m"}})
    _check_runs(document, None, 3)


def _check_runs(document: dict[str, Any], folder: Path | None, seed: int) -> None:
    together = _tables(_loaded(document | {"assignors": [OLD, NEW]}, folder), seed)
    for entry in (OLD, NEW):
        label = entry["label"]
        alone = {"label": label, "assignor": entry["assignor"]}
        paths = {path: f"'{value}'" for path, value in ALONE[str(label)].items()}
        expected = _tables(_loaded(document | {"assignors": [alone]}, folder, **paths), seed)
        assert expected["runs"].num_rows == 1
        for name, table in expected.items():
            part = together[name].filter(pc.equal(together[name]["assignor"], label))
            assert part.equals(table), f"{name}: {label}"


def _with(assignors: str) -> str:
    return SMALL.replace("assignors: [high_availability]", f"assignors:\n{assignors}")


def test_entries_have_different_labels_and_records() -> None:
    scenario = loads(
        _with(
            """\
  - {assignor: high_availability, kafka: 3.9}
  - {assignor: high_availability, kafka: "4.3"}
  - {assignor: high_availability, kafka: {clients: 4.2.1}}
  - high_availability
  - {assignor: streams_group_sticky, kafka: {brokers: 4.2}, configs: {group.protocol: streams}}
  - {assignor: sticky_task_assignor, kafka: 4.3}
"""
        )
    )
    result = run(scenario, explain=False, ranges=False)
    records = [
        (row["label"], row["broker_release"], row["client_release"], row["protocol"])
        for row in result.manifest["assignors"]
    ]
    assert records == [
        ("high_availability (kafka=3.9)", "3.9", "3.9", "classic"),
        ("high_availability (kafka=4.3)", "4.3", "4.3", "classic"),
        ("high_availability (kafka.clients=4.2.1)", "4.4", "4.2.1", "classic"),
        ("high_availability", "4.4", "4.4", "classic"),
        ("streams_group_sticky (kafka.brokers=4.2, group.protocol=streams)", "4.2", "4.4", "streams"),
        ("sticky_task_assignor (kafka=4.3)", "4.3", "4.3", "classic"),
    ]
    assert [row["assignor"] for row in result.manifest["assignors"]][-2:] == [
        "streams_group_sticky@4.2",
        "sticky_task_assignor@4.3",
    ]


BOTH = """\
  - {assignor: high_availability, kafka: 3.9}
  - {assignor: streams_group_sticky, kafka: 4.3, configs: {group.protocol: streams}}
"""


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            BOTH.replace("4.3", "4.1"),
            "23: assignors[1].assignor: streams_group_sticky is not known for brokers of Kafka 4.1 "
            "(known: 4.2.1, 4.2, 4.3, 4.4)",
        ),
        (
            BOTH.replace("4.3", "{brokers: 4.3, clients: 4.0}"),
            "23: assignors[1].kafka: Kafka Streams 4.0 has no streams groups; state 4.1 or later, or remove "
            "group.protocol: streams",
        ),
        (BOTH.replace("3.9", "3.7"), "22: assignors[0].kafka: Kafka 3.7 is not supported (supported: 3.8 to 4.4)"),
        (
            BOTH.replace("3.9", "{broker: 3.9}"),
            "22: assignors[0].kafka.broker: unknown key (did you mean 'brokers'?)",
        ),
        (
            BOTH.replace("streams_group_sticky", "high_availability").replace("4.3", "3.9"),
            "23: assignors[1].kafka: Kafka Streams 3.9 has no streams groups; state 4.1 or later, or remove "
            "group.protocol: streams",
        ),
        (
            BOTH.replace("streams_group_sticky", "high_availability")
            .replace(", configs: {group.protocol: streams}", "")
            .replace("4.3", "3.9"),
            "23: assignors[1].label: 'high_availability (kafka=3.9)' is also the label of another assignor; set a "
            "unique label",
        ),
    ],
)
def test_mistakes_are_those_of_the_entry(text: str, mistake: str) -> None:
    assert mistakes_in(_with(text)) == [f"s.yaml:{mistake}"]


def test_configs_may_be_those_of_one_entry() -> None:
    keys = "group.streams.assignment.interval.ms: 2s, group.streams.min.assignment.interval.ms: 1s"
    text = _with(BOTH).replace("factor: 2}", f"factor: 2, {keys}}}")
    scenario = loads(text.replace("replicas: 1}", "replicas: 1, internal.leave.group.on.close: true}"), "s.yaml")
    old, new = (scenario.world(1, spec).application.group_configs for spec in scenario.assignors)
    assert (old.streams_assignment_interval_ms, new.streams_assignment_interval_ms) == (0, 2_000)
    assert (old.leave_group_on_close, new.leave_group_on_close) == (True, False)
    [warning] = scenario.warnings
    assert "internal.leave.group.on.close: does not exist from Kafka 4.2 on (assignors[1].kafka: 4.3)" in warning
    newer = mistakes_in(text.replace(keys, "group.streams.task.offset.interval.ms: 20s"))
    assert newer == [
        "s.yaml:4: cluster.configs.group.streams.task.offset.interval.ms: unknown to brokers of Kafka 4.3, which "
        "assignors[1].kafka states (known from Kafka 4.4 on)"
    ]


def test_static_members_may_be_those_of_one_entry() -> None:
    text = _with(BOTH.replace("kafka: 3.9", "kafka: 3.9, configs: {group.protocol: classic}"))
    text = text.replace("threads: 2}", "threads: 2, static_membership: true}")
    scenario = loads(text, overrides=[("application.configs.group.protocol", "streams"), ("cluster.kafka", "4.3")])
    worlds = [scenario.world(1, spec) for spec in scenario.assignors]
    assert [world.clients[0].is_static for world in worlds] == [True, False]


def test_disturbances_do_not_depend_on_the_release() -> None:
    events = (
        "{at: 10m, rolling_bounce: {clients: app, order: shuffled}}",
        "{at: 40m, crash: {clients: app, pick: 2, down: 5m}}",
        "{at: 50m, churn: {clients: [app, late], crashes: 9/h, joins: 3/h, down: 2m, until: 2h}}",
    )
    text = with_events(*events).replace("assignors: [high_availability]", f"assignors:\n{BOTH}")
    scenario = loads(text)
    for seed in range(5):
        old, new = (scenario.world(seed, spec).disturbances for spec in scenario.assignors)
        assert len(old) > 3
        assert old == new


def test_release_of_the_scenario_without_effect_is_a_warning() -> None:
    place = "--set cluster.kafka='4.2': cluster.kafka"
    message = "no effect on the listed assignors: each states its own release in kafka"
    assert loads(_with(BOTH), overrides=[("cluster.kafka", "'4.2'")]).warnings == (f"{place}: {message}",)
    assert not loads(_with(BOTH + "  - optimal\n"), overrides=[("cluster.kafka", "'4.2'")]).warnings


def test_application_beside_the_subject_cannot_state_releases() -> None:
    assert mistakes_in(_with(BOTH) + GROUP + "subject: billing\n") == [
        f"s.yaml:{line}: assignors[{number}].kafka: applies only to the group that the results are about; state "
        "cluster.kafka and application.kafka"
        for number, line in enumerate((22, 23))
    ]


def test_releases_of_the_current_assignor_are_those_of_situations() -> None:
    scenario = loads(_with(BOTH))
    with_release, today = with_current_assignor(scenario, scenario.assignors[1].label)
    document = base_document(with_release)
    assert (document["cluster"]["kafka"], document["application"]["kafka"]) == ("4.3", "4.3")
    assert with_release.world(1, today) == scenario.world(1, scenario.assignors[1])


def test_factor_that_sets_a_stated_release_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(_with(BOTH), encoding="utf-8")
    sweep = "name: s\nscenario: shop.yaml\nfactors: [{name: release, path: cluster.kafka, values: ['4.2', '4.3']}]\n"
    (tmp_path / "sweep.yaml").write_text(sweep, encoding="utf-8")
    with pytest.raises(SweepError) as caught:
        prepare_sweep(load_sweep(tmp_path / "sweep.yaml"))
    assert "factor 'release': cluster.kafka has no effect on 'high_availability (kafka=3.9)', " in str(caught.value)
    assert prepare_sweep(load_sweep(tmp_path / "sweep.yaml"), ["optimal"]).labels == ("optimal",)


def test_comparison_of_releases_leaves_out_assignors_that_state_theirs(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(_with(BOTH), encoding="utf-8")
    stated = releases("4.3", "4.4", scenarios=[file])
    assert (stated.effects, stated.client_effects, stated.same_clients) == ((), (), ())
    file.write_text(_with(BOTH.replace(", kafka: 4.3", "")), encoding="utf-8")
    followed = releases("4.3", "4.4", scenarios=[file])
    assert [effect.older.broker_release for effect in followed.effects] == ["4.3"]
    assert [effect.newer.broker_release for effect in followed.effects] == ["4.4"]
