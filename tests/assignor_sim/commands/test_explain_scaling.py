"""`explain` and `show` of runs with an autoscaler: a rebalance names the decisions behind it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from assignor_sim.api.running import run as simulate
from scenarios.load import Scenario
from simulator.results.result_directory import write_results
from tests.assignor_sim.conftest import Shell
from tests.scenarios.kubernetes.manifests import claims, load_manifest, scaled_object, workload

DECISION = re.compile(
    r"caused by: \d+:\d\d:\d\d, HPA scales shop from \d+ to \d+ pods: "
    r"lag [\d,]+ \(target [\d,]+\) asks for \d+ pods?"
)


def scaled_scenario(folder: Path) -> Scenario:
    stores = [{"name": "totals", "size": "1 GB", "bytes_per_s": "1 MB/s"}]
    return load_manifest(
        folder,
        workload(replicas=2, volumeClaimTemplates=claims()),
        scaled_object(metadata={"lagThreshold": "2000"}),
        application={"id": "shop", "subtopologies": [{"sources": ["orders"], "stores": stores}]},
        events=[{"at": "20m", "traffic": {"factor": 3}}, {"at": "40m", "traffic": {"factor": 0.2}}],
        clients={"records_per_s": 1_500},
    )


@pytest.fixture
def rounds(shell: Shell) -> set[int]:
    """Write results, and return the rounds that the autoscaler caused."""
    (shell.folder / "source").mkdir()
    comparison = simulate(scaled_scenario(shell.folder / "source"), ["sticky"])
    write_results(shell.folder / "results", comparison.tables, comparison.manifest, {})
    return set(comparison.tables["scaled_rounds"]["round"].to_pylist())


def test_rounds_name_the_decisions_that_caused_them(shell: Shell, rounds: set[int]) -> None:
    listed = shell("explain", "results").out
    described = {int(part.split()[0]): part for part in re.split(r"\nRound (?=\d)", listed)[1:]}
    assert rounds & described.keys()
    for number, part in described.items():
        assert bool(DECISION.search(" ".join(part.split()))) == (number in rounds)
    records = json.loads(shell("explain", "results", "--format", "json").out)
    for move in records[0]["moves"]:
        assert bool(move["autoscaler"]) == (move["round"] in rounds)
    rows = list(csv.DictReader(io.StringIO(shell("explain", "results", "--format", "csv").out)))
    assert {int(row["round"]) for row in rows if row["autoscaler"]} == rounds & described.keys()


def test_history_of_a_task_names_them(shell: Shell, rounds: set[int]) -> None:
    number = min(rounds)
    move = next(
        move
        for record in json.loads(shell("explain", "results", "--format", "json").out)
        for move in record["moves"]
        if move["round"] in rounds
    )
    text = shell("explain", "results", "--task", move["task"], "--round", str(move["round"])).out
    assert DECISION.search(" ".join(text.split()))
    assert number > 1


def test_show_and_the_page_have_the_pods_of_each_round(shell: Shell, rounds: set[int]) -> None:
    lines = shell("show", "results").out.splitlines()
    shown = [line for line in lines if "HPA scales shop:" in line]
    assert len(shown) == len(rounds)
    triggers = " ".join(shell("show", "results").out.split())
    assert re.search(r"HPA scales shop: \d+ → \d+ pods: shop-\d+ (joined|left)", triggers), triggers
    assert shell("report", "results", "--figures", "figures").code == 0
    assert (shell.folder / "figures" / "scaling.png").is_file()
    page = (shell.folder / "report.html").read_text(encoding="utf-8")
    assert "HPA scales shop: 2 →" in page
    assert '<h2 id="scaling">Autoscaler</h2>' in page
