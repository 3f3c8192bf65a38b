"""Result tables of a worker, without Spark."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.sweep.design import load_sweep
from pipeline.sweep.prepared import PreparedSweep, prepare_sweep
from pipeline.worker import RUN_SCHEMA, outcome_schema, simulate_chunks
from scenarios.assignor_specs import assignor_specs
from scenarios.load import load as load_scenario
from scenarios.run import run
from simulator.results.tables import SCHEMAS
from simulator.results.tabulation import tabulate
from tests.pipeline.sweep.examples import SCENARIO, SWEEP, write_sweep


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
    (batch,) = simulate_chunks(prepared.sweep_inputs, iter([pa.RecordBatch.from_pylist(rows, schema=RUN_SCHEMA)]))
    assert batch.schema == outcome_schema(prepared.sweep_inputs.tables)
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
    assert exiting["error"] == "SystemExit: exit" or "exit" in (exiting["runs"][0]["cause"] or "")
    assert valid["error"] is None


def test_imported_files_are_shipped(tmp_path: Path, monkeypatch: Any) -> None:
    shipped = "scenario: order_processing\nset: {duration: 1h}\nassignors: [streams sticky]\n"
    sweep = load_sweep(write_sweep(tmp_path, shipped))
    prepared = prepare_sweep(sweep)
    names = [name for name, _ in prepared.sweep_inputs.files]
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
    assert "later.txt" in [Path(name).name for name, _ in before.sweep_inputs.files]
    later.write_text(later.read_text() + "\n")
    after = prepare_sweep(load_sweep(tmp_path / "sweep.yaml"))
    assert before.manifest["identity"] != after.manifest["identity"]
    assert before.manifest["scenario"]["imports"].keys() == after.manifest["scenario"]["imports"].keys()


def test_worker_does_not_import_spark() -> None:
    code = "import sys, pipeline.worker; print([name for name in sys.modules if 'spark' in name or 'py4j' in name])"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


def test_worker_can_return_every_table() -> None:
    assert {field.name for field in outcome_schema(tuple(SCHEMAS))} >= set(SCHEMAS)


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
