"""`assignor-sim run` of a scenario that runs alongside another one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assignor_sim.api.results import open as open_results
from assignor_sim.api.running import run as simulate
from assignor_sim.cli import app
from scenarios.load import ScenarioError, load, pack_imports

pytestmark = pytest.mark.answers

SCENARIO = """\
cluster:
  brokers: {count: 3, racks: [az1, az2, az3], restore: 5 MB/s}
  topics:
    - {name: clicks, partitions: 6, replication_factor: 2, bytes_per_s: 1 MB/s}
application:
  id: orders
  subtopologies:
    - sources: [clicks]
      stores: [{name: totals, size: 3 GB, bytes_per_s: 10 kB/s}]
clients:
  - {name: app, count: 3, racks: [az1, az2, az3], hosts: [node]}
hosts: [{name: node, count: 3, restore: 50 MB/s}]
alongside: [a/payments.yaml, b/shipping.yaml]
events:
  - {at: 20m, rack_outage: {rack: az1, down: 10m, disk: lost}}
duration: 2h
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "160"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "orders.yaml").write_text(SCENARIO)
    for name in ("a/payments", "b/shipping"):
        file = tmp_path / f"{name}.yaml"
        file.parent.mkdir()
        text = SCENARIO.replace("id: orders", f"id: {file.stem}").replace("3 GB", "600 MB")
        file.write_text("".join(line for line in text.splitlines(keepends=True) if "alongside" not in line))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_output_has_the_neighbors(folder: Path) -> None:
    table = run("run", "orders.yaml")
    assert table.exit_code == 0, table.output
    text = " ".join(table.stdout.split())
    assert "Alongside high_availability: payments restored" in text
    (record,) = json.loads(run("run", "orders.yaml", "--format", "json").stdout)
    assert [neighbor["application"] for neighbor in record["neighbors"]] == ["payments", "shipping"]
    assert record["neighbors"][0]["restored_bytes"] > 500_000_000
    assert run("run", "orders.yaml", "--format", "csv").stdout.count("\n") == 2
    assert "payments restored" in run("run", "orders.yaml", "--format", "markdown").stdout
    (alone,) = json.loads(run("run", "orders.yaml", "--set", "alongside=[]", "--format", "json").stdout)
    assert "neighbors" not in alone
    assert alone["worst_downtime_ms"] < record["worst_downtime_ms"]


def test_results_can_be_moved_and_explained(folder: Path) -> None:
    assert run("run", "orders.yaml", "--out", "results").exit_code == 0
    for name in ("orders.yaml", "a", "b"):
        shutil.move(name, folder / "results" / f"unused-{name}")
    explanation = run("explain", "results", "--task", "0_3")
    assert (explanation.exit_code, explanation.stderr.count("error")) == (0, 0), explanation.output
    assert open_results("results").tables["neighbors"].num_rows == 2
    assert [path.name for path in (folder / "results" / "scenario").glob("*/*.yaml")] != []


def test_changed_neighbor_is_another_input(folder: Path) -> None:
    before = dict(load(folder / "orders.yaml").imports)
    assert list(before) == ["a/payments.yaml", "b/shipping.yaml"]
    (folder / "a" / "payments.yaml").write_text((folder / "a" / "payments.yaml").read_text() + "\n")
    after = dict(load(folder / "orders.yaml").imports)
    assert [name for name in before if before[name] != after[name]] == ["a/payments.yaml"]


def test_result_has_the_traces_of_neighbors(folder: Path) -> None:
    result = simulate("orders.yaml")
    neighbors = result.trace.neighbors
    assert [trace.world.application.id for trace in neighbors] == ["payments", "shipping"]
    rows = result.to_pandas("neighbors")
    assert list(rows["restored_bytes"]) == [round(trace.final_totals.restored_bytes) for trace in neighbors]


@pytest.mark.usefixtures("folder")
@pytest.mark.slow
def test_hash_seed_and_order_of_files_do_not_matter() -> None:
    swapped = "alongside=[b/shipping.yaml, a/payments.yaml]"
    root = Path(__file__).parents[3]
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "assignor_sim", "run", "orders.yaml", "--format", "json", *changes],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, changes in (("0", ()), ("4242", ("--set", swapped)))
    }
    assert len(outputs) == 1


def test_files_of_one_path_without_links_must_be_equal(folder: Path) -> None:
    """`link/../payments.yaml` is next to the folder that the link leads to, not next to the link."""
    (folder / "far" / "team").mkdir(parents=True)
    (folder / "far" / "payments.yaml").write_text("# far\n")
    (folder / "payments.yaml").write_text("# near\n")
    (folder / "link").symlink_to(folder / "far" / "team")
    with pytest.raises(ScenarioError, match="is another file than that of the same path without symbolic links"):
        pack_imports(folder, ["link/../payments.yaml", "payments.yaml"])
    assert pack_imports(folder, ["link/../payments.yaml"]).files == {"up/payments.yaml": b"# far\n"}
