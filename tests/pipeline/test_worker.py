"""Result tables of a worker, without Spark."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.sweep.job import SweepJob
from pipeline.worker import RUN_SCHEMA, outcome_schema, simulate_chunks
from scenarios.load import assignor_specs
from scenarios.load import load as load_scenario
from scenarios.run import run
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import PreparedSweep, prepare_sweep
from simulator.results.tables import SCHEMAS
from simulator.results.tabulation import tabulate
from tests.pipeline.sweep.examples import SCENARIO, SWEEP, write_sweep

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]


def row(prepared: PreparedSweep, position: int, setting: int, assignor: str, seed: int) -> dict[str, Any]:
    overrides = json.dumps(prepared.sweep.overrides(prepared.sweep.settings[setting]))
    return {
        "chunk": 0,
        "position": position,
        "run_id": f"run {position}",
        "setting": setting,
        "overrides": overrides,
        "assignor": assignor,
        "seed": seed,
    }


def outcomes(prepared: PreparedSweep, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sweep_inputs = SweepJob.of(prepared).sweep_inputs
    (batch,) = simulate_chunks(sweep_inputs, iter([pa.RecordBatch.from_pylist(rows, schema=RUN_SCHEMA)]))
    assert batch.schema == outcome_schema(sweep_inputs.tables)
    rows_of_runs: list[dict[str, Any]] = batch.to_pylist()
    return rows_of_runs


def test_row_has_tables_of_separate_run(tmp_path: Path) -> None:
    prepared = prepare_sweep(
        load_sweep(write_sweep(tmp_path, SWEEP + "tables: [assignments, moves, traffic, events]\n"))
    )
    (outcome,) = outcomes(prepared, [row(prepared, 0, 3, "legacy_sticky", 2)])
    sweep = prepared.sweep
    scenario = load_scenario(sweep.scenario, sweep.overrides(sweep.settings[3]))
    (spec,) = assignor_specs(scenario, ["legacy_sticky"])
    expected = tabulate(run(scenario, spec, 2), "legacy_sticky", 2)
    assert outcome["error"] is None
    for name in ("runs", "rounds", "assignments", "moves", "traffic", "events"):
        assert outcome[name] == expected[name].to_pylist(), name
        assert outcome[name]


def test_rows_are_returned_by_position(tmp_path: Path) -> None:
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path)))
    rows = [row(prepared, position, 0, "legacy_sticky", position + 1) for position in (2, 0, 1)]
    assert [outcome["position"] for outcome in outcomes(prepared, rows)] == [0, 1, 2]


def test_failed_run_is_a_row_with_its_error(tmp_path: Path) -> None:
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path)))
    invalid = row(prepared, 1, 0, "legacy_sticky", 1) | {"overrides": json.dumps([["duration", "-5"]])}
    unknown = row(prepared, 2, 0, "no_such_assignor", 1)
    valid = row(prepared, 0, 0, "legacy_sticky", 1)
    first, second, third = outcomes(prepared, [valid, invalid, unknown])
    assert first["error"] is None
    assert "duration" in second["error"]
    assert "no_such_assignor" in third["error"]
    for failed in (second, third):
        (key,) = failed["runs"]
        assert {name for name, value in key.items() if value is not None} == {"scenario", "assignor", "seed"}
        assert failed["rounds"] == []
    assert str(tmp_path) not in second["error"]


def test_assignor_that_exits_fails_only_its_run(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "exiting.py").write_text(
        "class Exiting:\n    def assign(self, state):\n        raise SystemExit('exit')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path)), ["exiting:Exiting", "legacy_sticky"])
    exiting, valid = outcomes(
        prepared, [row(prepared, 0, 0, "exiting:Exiting", 1), row(prepared, 1, 0, "legacy_sticky", 1)]
    )
    assert "called sys.exit('exit')" in exiting["error"]
    assert valid["error"] is None


def test_imported_files_are_shipped(tmp_path: Path, monkeypatch: Any) -> None:
    shipped = "scenario: order_processing\nset: {duration: 1h}\nassignors: [streams sticky]\n"
    sweep = load_sweep(write_sweep(tmp_path, shipped))
    prepared = prepare_sweep(sweep)
    names = sorted(prepared.packed_imports.files)
    assert names == [
        "captured/brokers.txt",
        "captured/log_dirs.json.txt",
        "captured/topics.txt",
        "captured/topology.txt",
    ]
    monkeypatch.chdir(tmp_path)
    (outcome,) = outcomes(prepared, [row(prepared, 0, 0, "streams sticky", 1)])
    assert outcome["error"] is None
    assert len(outcome["rounds"]) > 0


def test_shipped_files_keep_relative_paths(tmp_path: Path) -> None:
    shipped = Path(load_sweep(write_sweep(tmp_path, "scenario: order_processing\n")).scenario)
    text = shipped.read_text().replace("captured/topology.txt", "../topology.txt")
    folder = tmp_path / "project" / "scenarios"
    (folder / "captured").mkdir(parents=True)
    for name in ("topics.txt", "brokers.txt", "log_dirs.json.txt"):
        (folder / "captured" / name).write_bytes((shipped.parent / "captured" / name).read_bytes())
    (folder.parent / "topology.txt").write_bytes((shipped.parent / "captured" / "topology.txt").read_bytes())
    write_sweep(folder, "scenario: shop.yaml\nset: {duration: 1h}\nassignors: [streams sticky]\n", text)
    prepared = prepare_sweep(load_sweep(folder / "sweep.yaml"))
    (outcome,) = outcomes(prepared, [row(prepared, 0, 0, "streams sticky", 1)])
    assert outcome["error"] is None


def test_changed_file_of_later_setting_changes_identity(tmp_path: Path) -> None:
    shipped = Path(load_sweep(write_sweep(tmp_path, "scenario: order_processing\n")).scenario)
    (tmp_path / "captured").mkdir()
    for file in sorted((shipped.parent / "captured").glob("*.txt")):
        (tmp_path / "captured" / file.name).write_bytes(file.read_bytes())
    later = tmp_path / "captured" / "later.txt"
    later.write_bytes((tmp_path / "captured" / "topology.txt").read_bytes())
    factor = "{name: topology, path: application.from.topology, values: [captured/topology.txt, captured/later.txt]}"
    text = f"scenario: shop.yaml\nset: {{duration: 1h}}\nassignors: [streams sticky]\nfactors:\n  - {factor}\n"
    before = prepare_sweep(load_sweep(write_sweep(tmp_path, text, shipped.read_text())))
    assert "later.txt" in [Path(name).name for name in before.packed_imports.files]
    later.write_text(later.read_text() + "\n")
    after = prepare_sweep(load_sweep(tmp_path / "sweep.yaml"))
    assert SweepJob.of(before).manifest["identity"] != SweepJob.of(after).manifest["identity"]
    assert before.imports.keys() == after.imports.keys()


def test_worker_does_not_import_spark() -> None:
    code = "import sys, pipeline.worker; print([name for name in sys.modules if 'spark' in name or 'py4j' in name])"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


def test_worker_can_return_every_table() -> None:
    assert {field.name for field in outcome_schema(tuple(SCHEMAS))} >= set(SCHEMAS)


_KILLED_WHILE_LOADING = """
import os, pickle, signal, sys
from pathlib import Path
from pipeline import worker

def die(*arguments):
    # The copies of imported files exist at this point.
    Path(sys.argv[2]).write_text("\\n".join(map(str, Path(os.environ["FOLDERS"]).rglob("topics.txt"))))
    os.kill(os.getpid(), signal.SIGKILL)

worker.loads = die
worker._scenario(pickle.loads(Path(sys.argv[1]).read_bytes()), "[]")
"""


@pytest.mark.parametrize(("scenario", "imports"), [("order_processing", True), ("cold_start", False)])
def test_killed_worker_leaves_nothing_outside_the_executor(tmp_path: Path, scenario: str, imports: bool) -> None:
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path, f"scenario: {scenario}\nset: {{duration: 1h}}\n")))
    folders = tmp_path / "folders"
    executor, temporary, working = folders / "blockmgr", folders / "tmp", folders / "cwd"
    for folder in (executor, temporary, working):
        folder.mkdir(parents=True)
    inputs, copies = tmp_path / "inputs", tmp_path / "copies"
    inputs.write_bytes(pickle.dumps(SweepJob.of(prepared).sweep_inputs))
    environment = {"SPARK_LOCAL_DIRS": f"{executor},/other", "TMPDIR": str(temporary), "FOLDERS": str(folders)}
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED_WHILE_LOADING, str(inputs), str(copies)],
        env={**os.environ, **environment, "PYTHONPATH": str(ROOT)},
        cwd=working,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert [Path(line).is_relative_to(executor) for line in copies.read_text().splitlines()] == [True] * imports
    assert not [*temporary.iterdir(), *working.iterdir()]
    assert bool(list(executor.iterdir())) == imports


def test_relative_path_never_reads_the_working_directory(tmp_path: Path, monkeypatch: Any) -> None:
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path)))
    (tmp_path / "topology.txt").write_text("Topologies:\n   Sub-topology: 0\n")
    monkeypatch.chdir(tmp_path)
    for path, value in (("application.from.topology", "topology.txt"), ("traffic", "{from: .}")):
        changed = row(prepared, 0, 0, "legacy_sticky", 1) | {"overrides": json.dumps([[path, value]])}
        (outcome,) = outcomes(prepared, [changed])
        assert outcome["error"] is not None, path
        assert str(tmp_path) not in outcome["error"]


@pytest.mark.parametrize("place", ["team", ".."])
def test_worker_has_the_neighbors_of_the_scenario(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "project"
    (folder / place).mkdir(parents=True, exist_ok=True)
    (folder / place / "brokers.txt").write_text("0,az1\n1,az2\n2,az3\n")
    cold = SCENARIO.replace("id: shop", "id: shop\n  starts: cold")
    other = cold.replace("id: shop", "id: other")
    other = other.replace("brokers: {count: 3, racks: [az1, az2, az3]}", "from: {brokers: brokers.txt}")
    (folder / place / "other.yaml").write_text(other)
    limited = cold.replace("racks: [az1, az2, az3]}", "racks: [az1, az2, az3], restore: 2 MB/s}", 1)
    factor = f"{{name: neighbors, path: alongside, values: [[], [{place}/other.yaml]]}}"
    text = f"scenario: shop.yaml\nassignors: [legacy_sticky]\nfactors:\n  - {factor}\ntables: [neighbors]\n"
    prepared = prepare_sweep(load_sweep(write_sweep(folder, text, limited)))
    rows = [row(prepared, position, position, "legacy_sticky", 1) for position in (0, 1)]
    # Only the packed files are left, as on another machine.
    shutil.rmtree(folder)
    alone, together = outcomes(prepared, rows)
    assert (alone["error"], together["error"]) == (None, None)
    assert alone["neighbors"] == []
    (neighbor,) = together["neighbors"]
    assert neighbor["application"] == "other"
    assert neighbor["restored_bytes"] > 0
    (before,), (after,) = alone["runs"], together["runs"]
    assert after["worst_downtime_ms"] > before["worst_downtime_ms"]


def test_process_that_spark_reuses_does_not_collect_loaded_modules_again() -> None:
    """PySpark collects garbage after every task: without the exclusion, that is an eighth of the time of a chunk."""
    code = (
        "import gc, sys; from pipeline.worker import exclude_modules_from_collection as exclude\n"
        "exclude(len(sys.modules)); left = len(gc.get_objects()); frozen = gc.get_freeze_count()\n"
        "kept = [[] for _ in range(50_000)]; exclude(len(sys.modules))\n"
        "assert gc.get_freeze_count() <= frozen\n"
        "exclude(len(sys.modules) + 1); assert gc.get_freeze_count() > frozen + 40_000\n"
        "print(left)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(output) < 1_000
