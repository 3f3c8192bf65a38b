"""`assignor-sim releases` and `sim.releases`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import assignor_sim as sim
from assignor_sim.cli import app
from tests.scenarios.scenario_texts import SMALL

ASSIGNORS = "[streams_group_sticky, {label: newest, assignor: streams_group_sticky@4.4}, ha]"


def write_scenario(folder: Path, protocol: str, assignors: str) -> Path:
    path = folder / "mine.yaml"
    text = SMALL.replace("num.standby.replicas: 1", f"num.standby.replicas: 1, group.protocol: {protocol}")
    path.write_text(text.replace("[high_availability]", assignors), encoding="utf-8")
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["releases", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return write_scenario(tmp_path, "streams", ASSIGNORS)


def test_default_is_the_newest_release_and_the_one_before(scenario: Path) -> None:
    result = run("--scenario", scenario)
    assert result.exit_code == 0, result.output
    assert "Kafka 4.3 to 4.4" in result.stdout
    assert "small, streams_group_sticky" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_each_assignor_of_a_streams_group_is_simulated_with_the_brokers_of_both_releases(scenario: Path) -> None:
    changes = sim.releases("4.2.0", "4.4.0", scenarios=[scenario])
    assert (changes.older, changes.newer) == ("4.2.1", "4.4")
    assert [effect.older.assignor for effect in changes.effects] == [
        "streams_group_sticky@4.2.1",
        "newest",
    ]
    assert [effect.newer.assignor for effect in changes.effects] == ["streams_group_sticky@4.4", "newest"]
    assert [effect.assignor for effect in changes.effects] == ["streams_group_sticky", "newest"]


def test_releases_of_clients_have_no_effects(scenario: Path) -> None:
    content = json.loads(run("--from", "3.8", "--to", "4.1", "--scenario", scenario, "--format", "json").stdout)
    assert content["scenarios"] == []
    assert content["not_compared"] == ["streams_group_sticky"]
    assert {row["different"] for row in content["answers"]} == {0}
    assert {"high_availability", "legacy_sticky", "sticky_task_assignor"} <= {
        row["assignor"] for row in content["answers"]
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "4.9"), "Kafka 4.9 was not compared (compared: 3.8, "),
        (("--to", "x"), "Kafka x was not compared"),
        (("--from", "4.4", "--to", "4.3"), "Kafka 4.3 is not newer than 4.4; exchange the two releases"),
        (("--from", "4.4"), "Kafka 4.4 is not newer than 4.4"),
        (("--to", "3.8"), "Kafka 3.8 is not newer than 3.8"),
        (("--scenario", "missing.yaml"), "missing.yaml"),
    ],
)
def test_invalid_input_is_one_message(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_classic_scenario_has_the_effects_of_clients_only(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "classic, internal.leave.group.on.close: true", "[ha, legacy_sticky]")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("events:", "events:\n  - {at: 1h, rolling_bounce: {clients: app}}"), encoding="utf-8")
    for releases, differs in ((("4.1", "4.2"), True), (("3.9", "4.0"), False), (("4.3", "4.4"), False)):
        changes = sim.releases(*releases, scenarios=[path])
        assert not changes.effects
        assert [effect.assignor for effect in changes.client_effects] == ["high_availability"] * differs
        assert changes.same_clients == (() if differs else ("small",))


def test_clients_that_report_offsets_have_an_effect_on_brokers_that_read_them(scenario: Path) -> None:
    changes = sim.releases("4.3", "4.4", scenarios=[scenario])
    assert [effect.assignor for effect in changes.client_effects] == ["streams_group_sticky", "newest"]
    content = json.loads(run("--scenario", scenario, "--format", "json").stdout)
    assert [row["assignor"] for row in content["clients"]] == ["streams_group_sticky", "newest"]
    assert "Upgrade of the clients" in run("--scenario", scenario).stdout
