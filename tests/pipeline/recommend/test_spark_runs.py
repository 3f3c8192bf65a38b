from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from assignor_sim.cli import app
from assignors.model.configs import AssignmentConfigs
from pipeline.recommend.request import RecommendationRequest, current_assignor
from pipeline.recommend.space import search_space
from pipeline.recommend.spark_runs import SparkRuns
from pipeline.sweep.design import load_sweep as load_sweep
from scenarios.load import Scenario, load
from scenarios.run import run
from simulator.results.tabulation import tabulate
from tests.pipeline.sweep.examples import write_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


KEYS = (
    "assignor",
    "rack.aware.assignment.strategy",
    "num.standby.replicas",
    "max.warmup.replicas",
    "probing.rebalance.interval.ms",
    "acceptable.recovery.lag",
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_sweep(tmp_path).parent / "shop.yaml"


def test_a_trial_is_a_sweep_whose_runs_are_those_of_the_scenarios_own_assignors(
    spark: SparkSession, shop: Path, tmp_path: Path
) -> None:
    scenario = load(shop, [("duration", "90m")])
    space = search_space(scenario, current_assignor(scenario, None), ["legacy_sticky"])
    question = RecommendationRequest(shop, scenario, scenario.assignors[0], space, runs=0, seeds=0)
    sticky = space.normalize(("legacy_sticky", *space.today.levels[1:]))
    runs = SparkRuns(spark, question, str(tmp_path / "out"), "", lambda _: None)
    made = runs([space.today, sticky], [5, 3])
    for label, of_one in zip(("high_availability", "legacy_sticky"), made, strict=True):
        assert [row["seed"] for row in of_one] == [3, 5]
        for row in of_one:
            [expected] = tabulate(run(scenario, label, row["seed"]), "candidate", row["seed"])["runs"].to_pylist()
            assert {name: row[name] for name in expected} == expected
    manifest = json.loads((tmp_path / "out" / "trial_1" / "manifest.json").read_text())
    (tmp_path / "again.yaml").write_text(manifest["text"])
    again = load_sweep(tmp_path / "again.yaml")
    assert [choice_of(load(shop, again.overrides(setting))) for setting in again.settings] == [
        ("high_availability", scenario.assignors[0].configs),
        ("legacy_sticky", scenario.assignors[1].configs),
    ]


def choice_of(scenario: Scenario) -> tuple[str, AssignmentConfigs]:
    [choice] = scenario.assignors
    return choice.assignor, choice.configs


def recommend(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["recommend", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


HOURLY = ("--set", f"traffic.hourly={[1.0, 1.25] * 12}")


@pytest.mark.parametrize("traffic", [(), HOURLY], ids=["constant traffic", "hourly traffic"])
def test_the_command_finds_the_warm_ups_that_bring_rest_and_goes_on_with_what_is_done(
    spark: SparkSession, shop: Path, tmp_path: Path, traffic: tuple[str, ...]
) -> None:
    searched = ("max.warmup.replicas",)
    keep = [f"--keep={key}" for key in KEYS if key not in searched]
    asked = (shop, "--objective=convergence", *keep, "--set", "application.configs.max.warmup.replicas=1")
    asked = (*asked, *traffic, "--runs=40", "--seeds=3", f"--sweeps={tmp_path / 'kept'}")
    code, out, _ = recommend(*asked, "--format=json")
    told = json.loads(out)
    assert (code, told["verdict"]) == (0, "recommended")
    assert [(change["key"], change["before"]) for change in told["changes"]] == [("max.warmup.replicas", "1")]
    assert told["gain"]["interval"][1] < 0

    made = {file: file.stat().st_mtime_ns for file in (tmp_path / "kept").rglob("*.parquet")}
    file = tmp_path / "set.properties"
    assert recommend(*asked, "--format=properties", "-o", file)[:2] == (0, "")
    assert f"\nmax.warmup.replicas={told['changes'][0]['after']}\n" in file.read_text()
    assert made == {file: file.stat().st_mtime_ns for file in (tmp_path / "kept").rglob("*.parquet")}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--objective=usd + mooves"], "did you mean 'moves'?"),
        (["--objective=usd", "--set", "price=null"], "--set price=aws"),
        (["--objective=usd", "--today=nobody"], "labels: high_availability"),
        (["--objective=usd", "--max-downtime=long"], "--max-downtime"),
        (["--objective=usd", "--assignor=nobody"], "nobody"),
        (["--objective=usd", "--keep=nothing"], "--keep nothing"),
        (["--objective=usd", "-o", "no/such/folder.txt"], "there is no folder no/such"),
    ],
)
def test_a_mistake_of_the_users_is_one_message_before_spark_starts(shop: Path, arguments: list[str], said: str) -> None:
    code, out, err = recommend(shop, *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
