"""What a worker makes of the rows that it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.sweep.design import load_sweep
from pipeline.sweep.prepared import PreparedSweep, prepare_sweep
from pipeline.worker import RUN_SCHEMA, outcome_schema, simulate_chunks
from scenarios.assignor_specs import assignor_specs
from scenarios.load import load as load_scenario
from scenarios.run import run
from simulator.results.tables import SCHEMAS
from simulator.results.tabulation import tabulate
from tests.pipeline.sweep.examples import SWEEP, write_sweep


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
    (made,) = simulate_chunks(prepared.sweep_inputs, iter([pa.RecordBatch.from_pylist(rows, schema=RUN_SCHEMA)]))
    assert made.schema == outcome_schema(prepared.sweep_inputs.tables)
    told: list[dict[str, Any]] = made.to_pylist()
    return told


def test_a_row_comes_to_what_a_run_of_its_own_comes_to(tmp_path: Path) -> None:
    prepared = prepare_sweep(
        load_sweep(write_sweep(tmp_path, SWEEP + "tables: [assignments, moves, traffic, events]\n"))
    )
    (made,) = outcomes(prepared, [row(prepared, 0, 3, "legacy_sticky", 2)])
    sweep = prepared.sweep
    scenario = load_scenario(sweep.scenario, sweep.overrides(sweep.settings[3]))
    (one,) = assignor_specs(scenario, ["legacy_sticky"])
    expected = tabulate(run(scenario, one, 2), "legacy_sticky", 2)
    assert made["error"] is None
    for name in ("runs", "rounds", "assignments", "moves", "traffic", "events"):
        assert made[name] == expected[name].to_pylist(), name
        assert made[name]


def test_rows_come_back_in_the_order_of_their_positions(tmp_path: Path) -> None:
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path)))
    rows = [row(prepared, position, 0, "legacy_sticky", position + 1) for position in (2, 0, 1)]
    assert [made["position"] for made in outcomes(prepared, rows)] == [0, 1, 2]


def test_a_run_that_cannot_be_made_is_a_row_with_its_error_and_disturbs_nobody(tmp_path: Path) -> None:
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path)))
    wrong = row(prepared, 1, 0, "legacy_sticky", 1) | {"overrides": json.dumps([["duration", "-5"]])}
    unknown = row(prepared, 2, 0, "no_such_assignor", 1)
    fine = row(prepared, 0, 0, "legacy_sticky", 1)
    first, second, third = outcomes(prepared, [fine, wrong, unknown])
    assert first["error"] is None
    assert "duration" in second["error"]
    assert "no_such_assignor" in third["error"]
    for failed in (second, third):
        (told,) = failed["runs"]
        assert {name for name, value in told.items() if value is not None} == {"scenario", "assignor", "seed"}
        assert failed["rounds"] == []
    assert str(tmp_path) not in second["error"]


def test_an_assignor_that_ends_the_process_ends_its_run_only(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "rude.py").write_text("class Rude:\n    def assign(self, state):\n        raise SystemExit('enough')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path)), ["rude:Rude", "legacy_sticky"])
    rude, fine = outcomes(prepared, [row(prepared, 0, 0, "rude:Rude", 1), row(prepared, 1, 0, "legacy_sticky", 1)])
    assert rude["error"] == "SystemExit: enough" or "enough" in (rude["runs"][0]["cause"] or "")
    assert fine["error"] is None


def test_files_that_the_scenario_names_travel_with_it(tmp_path: Path, monkeypatch: Any) -> None:
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
    (made,) = outcomes(prepared, [row(prepared, 0, 0, "streams sticky", 1)])
    assert made["error"] is None
    assert len(made["rounds"]) > 0


def test_files_beside_and_above_the_scenario_keep_their_places(tmp_path: Path) -> None:
    shipped = Path(load_sweep(write_sweep(tmp_path, "scenario: order_processing\n")).scenario)
    text = shipped.read_text().replace("captured/topology.txt", "../topology.txt")
    home = tmp_path / "deep" / "home"
    (home / "captured").mkdir(parents=True)
    for name in ("topics.txt", "brokers.txt", "log_dirs.json.txt"):
        (home / "captured" / name).write_bytes((shipped.parent / "captured" / name).read_bytes())
    (home.parent / "topology.txt").write_bytes((shipped.parent / "captured" / "topology.txt").read_bytes())
    write_sweep(home, "scenario: shop.yaml\nset: {duration: 1h}\nassignors: [streams sticky]\n", text)
    prepared = prepare_sweep(load_sweep(home / "sweep.yaml"))
    (made,) = outcomes(prepared, [row(prepared, 0, 0, "streams sticky", 1)])
    assert made["error"] is None


def test_a_file_that_only_a_later_setting_names_makes_another_sweep_when_it_changes(tmp_path: Path) -> None:
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


def test_a_worker_imports_nothing_of_spark() -> None:
    code = "import sys, pipeline.worker; print([name for name in sys.modules if 'spark' in name or 'py4j' in name])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_every_table_can_be_kept() -> None:
    assert {field.name for field in outcome_schema(tuple(SCHEMAS))} >= set(SCHEMAS)
