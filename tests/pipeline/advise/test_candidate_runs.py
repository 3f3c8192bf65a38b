from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from assignor_sim.cli import app
from assignors.model.configs import AssignmentConfigs
from pipeline.advise.recommender import (
    LABEL,
    CandidateRuns,
    RecommendationRequest,
    evaluation_sweep,
    keep_sweeps,
    run_chunks,
)
from pipeline.advise.space import current_assignor, search_space
from pipeline.pool import run_pool
from pipeline.sweep.run import Progress
from scenarios.load import Scenario, load
from scenarios.run import run
from scenarios.shipped import find_scenario
from scenarios.sweeps.design import load_sweep as load_sweep
from simulator.results.tabulation import tabulate
from tests.pipeline.sweep.examples import write_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


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


@pytest.mark.slow
def test_evaluation_sweep_has_same_runs_as_scenario(spark: SparkSession, shop: Path, tmp_path: Path) -> None:
    scenario = load(shop, [("duration", "90m")])
    space = search_space(scenario, current_assignor(scenario, None), ["legacy_sticky"])
    request = RecommendationRequest(shop, scenario, scenario.assignors[0], space, runs=0, seeds=0)
    sticky = space.normalize(("legacy_sticky", *space.today.levels[1:]))
    runs = CandidateRuns(request, keep_sweeps(spark, str(tmp_path / "out"), lambda _: None))
    rows_by_candidate = runs([space.today, sticky], [5, 3])
    states: list[Progress] = []
    for workers, session in ((2, None), (None, spark)):
        with run_pool(workers, session) as run_all:
            in_pool = CandidateRuns(request, run_chunks(run_all, states.append))([space.today, sticky], [5, 3])
        assert in_pool == [[{name: row[name] for name in in_pool[0][0]} for row in rows] for rows in rows_by_candidate]
        assert states[-1] == Progress(4, 0, 4, 0)
    for label, rows in zip(("high_availability", "legacy_sticky"), rows_by_candidate, strict=True):
        assert [row["seed"] for row in rows] == [3, 5]
        for row in rows:
            [expected] = tabulate(run(scenario, label, row["seed"]), "candidate", row["seed"])["runs"].to_pylist()
            assert {name: row[name] for name in expected} == expected
    manifest = json.loads((tmp_path / "out" / "trial_1" / "manifest.json").read_text())
    (tmp_path / "stored.yaml").write_text(manifest["text"])
    stored = load_sweep(tmp_path / "stored.yaml")
    assert [choice_of(load(shop, stored.overrides(setting))) for setting in stored.settings] == [
        ("high_availability", scenario.assignors[0].configs),
        ("legacy_sticky", scenario.assignors[1].configs),
    ]


@pytest.mark.parametrize("name", ["cross_zone_bill", "stateful_imbalance", "warmups_in_turn"])
def test_shipped_scenario_whose_problem_names_a_label_loads_in_every_setting(name: str) -> None:
    file = find_scenario(Path(name))
    load_evaluation_sweep(file)


def test_scenario_whose_expectation_names_a_label_loads_in_every_setting(shop: Path) -> None:
    shop.write_text(shop.read_text() + 'expect: {active_moves: "<= +5%", against: legacy_sticky}\n')
    load_evaluation_sweep(shop)


def load_evaluation_sweep(file: Path) -> None:
    scenario = load(file)
    space = search_space(scenario, current_assignor(scenario, None), [])
    request = RecommendationRequest(file, scenario, scenario.assignors[0], space, runs=0, seeds=0)
    sweep = evaluation_sweep("trial_1", request, [space.today], [1])
    assert [load(file, sweep.overrides(setting)).assignors[0].label for setting in sweep.settings] == [LABEL]


def choice_of(scenario: Scenario) -> tuple[str, AssignmentConfigs]:
    [choice] = scenario.assignors
    return choice.info.name, choice.configs


def recommend(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["recommend", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


HOURLY = ("--set", f"traffic.hourly={[1.0, 1.25] * 12}")


@pytest.mark.parametrize(
    "traffic",
    [pytest.param((), id="constant traffic", marks=pytest.mark.slow), pytest.param(HOURLY, id="hourly traffic")],
)
def test_command_recommends_warmups_and_reuses_finished_runs(
    spark: SparkSession, shop: Path, tmp_path: Path, traffic: tuple[str, ...]
) -> None:
    searched = ("max.warmup.replicas",)
    keep = [f"--keep={key}" for key in KEYS if key not in searched]
    arguments = (shop, "--objective=convergence", *keep, "--set", "application.configs.max.warmup.replicas=1")
    arguments = (*arguments, *traffic, "--runs=40", "--seeds=3", f"--sweeps={tmp_path / 'kept'}")
    code, out, _ = recommend(*arguments, "--format=json")
    document = json.loads(out)
    assert (code, document["verdict"]) == (0, "recommended")
    assert [(change["key"], change["before"]) for change in document["changes"]] == [("max.warmup.replicas", "1")]
    assert document["gain"]["interval"][1] < 0

    modified_ns = {file: file.stat().st_mtime_ns for file in (tmp_path / "kept").rglob("*.parquet")}
    file = tmp_path / "set.properties"
    assert recommend(*arguments, "--format=properties", "-o", file)[:2] == (0, "")
    assert f"\nmax.warmup.replicas={document['changes'][0]['after']}\n" in file.read_text()
    assert modified_ns == {file: file.stat().st_mtime_ns for file in (tmp_path / "kept").rglob("*.parquet")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--objective=usd + mooves"], "did you mean 'moves'?"),
        (["--objective=usd", "--set", "price=null"], "--set price=aws"),
        (["--objective=usd", "--today=no_label"], "labels: high_availability"),
        (["--objective=usd", "--max-downtime=long"], "--max-downtime"),
        (["--objective=usd", "--assignor=no_assignor"], "no_assignor"),
        (["--objective=usd", "--keep=nothing"], "--keep nothing"),
        (["--objective=usd", "-o", "no/such/folder.txt"], "the folder no/such does not exist"),
    ],
)
def test_invalid_arguments_are_rejected_before_spark_starts(shop: Path, arguments: list[str], message: str) -> None:
    code, out, err = recommend(shop, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "traffic",
    [pytest.param((), id="constant traffic", marks=pytest.mark.slow), pytest.param(HOURLY, id="hourly traffic")],
)
def test_recommendation_is_the_same_in_processes_and_in_kept_sweeps(
    spark: SparkSession, shop: Path, tmp_path: Path, traffic: tuple[str, ...]
) -> None:
    keep = [f"--keep={key}" for key in KEYS if key not in ("num.standby.replicas",)]
    arguments = (shop, "--objective=restored + moves", *keep, *traffic, "--runs=30", "--seeds=3", "--format=json")
    assert recommend(*arguments) == recommend(*arguments, f"--sweeps={tmp_path / 'kept'}")
