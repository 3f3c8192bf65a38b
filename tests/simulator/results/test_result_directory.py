"""Result directories are written completely or not at all, and results are reproducible."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from assignors.tasks.high_availability import HighAvailability
from simulator.processes.simulation import simulate
from simulator.results.files import MAX_DOCUMENT_BYTES
from simulator.results.result_directory import ResultsError, read_results, write_results
from simulator.results.tables import concat_tables
from simulator.results.tabulation import tabulate
from simulator.world.disturbances import RollingBounce
from tests.simulator.world_builders import HOUR, with_configs, world

MANIFEST = {
    "scenario": {
        "name": "test",
        "text": "",
        "file": "scenario/test.yaml",
        "sha256": "",
        "imports": {},
        "renamed": [],
        "inferred": [],
        "warnings": [],
        "overrides": [],
    },
    "assignors": [
        {
            "label": "ha",
            "assignor": "ha",
            "kafka_version": None,
            "parameters": {},
            "configs": {},
            "protocol": "classic",
            "broker_release": None,
            "client_release": None,
            "group": {
                "session_timeout_ms": 45_000,
                "heartbeat_interval_ms": 3_000,
                "has_leave_config": False,
                "static": [],
                "of_consumers": False,
            },
            "unused": [],
            "ignored": [],
            "refused": [],
        }
    ],
    "seeds": [1, 2],
    "command": "",
    "model": 1,
    "versions": {},
}


def run_tables(seed: int = 1) -> dict[str, pa.Table]:
    base = dataclasses.replace(
        with_configs(world(), num_standby_replicas=1),
        disturbances=(RollingBounce(HOUR, ("c0", "c1"), 60_000, 60_000),),
    )
    return tabulate(simulate(base, HighAvailability()), "ha", seed)


def digest(tables: dict[str, pa.Table]) -> str:
    rows = {name: table.to_pylist() for name, table in tables.items()}
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    tables = concat_tables([run_tables(), run_tables(2)])
    write_results(tmp_path / "results", tables, MANIFEST, {"figures/one.txt": b"picture"})
    read, manifest = read_results(tmp_path / "results")
    assert manifest == MANIFEST
    assert {name: len(table) for name, table in read.items()} == {name: len(table) for name, table in tables.items()}
    assert all(read[name].equals(tables[name]) for name in tables)
    assert (tmp_path / "results" / "figures" / "one.txt").read_bytes() == b"picture"


def test_failed_write_keeps_the_earlier_results(tmp_path: Path) -> None:
    write_results(tmp_path / "results", run_tables(), MANIFEST)
    with pytest.raises(TypeError):
        write_results(tmp_path / "results", run_tables(), {"seed": object()})
    assert read_results(tmp_path / "results")[1] == MANIFEST
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_other_directories_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="not a result directory"):
        read_results(tmp_path)
    with pytest.raises(ResultsError, match=r"not a result directory: no such directory$"):
        read_results(tmp_path / "missing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ResultsError, match="exists and is not a result directory"):
        write_results(tmp_path / "file", {}, {})


def test_results_of_another_kind_are_not_overwritten(tmp_path: Path) -> None:
    write_results(tmp_path / "plan", {}, {"kind": "plan"})
    with pytest.raises(ResultsError, match="contains a plan"):
        write_results(tmp_path / "plan", {}, {})
    write_results(tmp_path / "plan", {}, {"kind": "plan", "overwritten": True})
    assert json.loads((tmp_path / "plan" / "manifest.json").read_text())["overwritten"]
    with pytest.raises(ResultsError, match="kind: holds 'plan', expected runs"):
        read_results(tmp_path / "plan")


def test_run_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "from tests.simulator.results.test_result_directory import digest, run_tables; print(digest(run_tables()))"
    )
    for hash_seed in ("1", "2"):
        process = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": hash_seed, "PATH": ""},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        )
        assert process.stdout.strip() == digest(run_tables())


@pytest.mark.parametrize("name", ["manifest.json", "runs.parquet"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_files_that_are_not_regular_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    directory = tmp_path / "results"
    write_results(directory, run_tables(), MANIFEST)
    (directory / name).unlink()
    match kind:
        case "pipe":
            os.mkfifo(directory / name)
        case "device":
            (directory / name).symlink_to("/dev/zero")
        case "folder":
            (directory / name).mkdir()
            os.mkfifo(directory / name / "part.parquet")
    with pytest.raises(ResultsError, match=f"{name}.*: not a regular file$"):
        read_results(directory)


@pytest.mark.parametrize(
    ("key", "where"), [("model", "model"), ("scenario", "scenario"), ("assignors", "assignors: field required")]
)
def test_incomplete_manifest_is_refused_with_what_is_missing(tmp_path: Path, key: str, where: str) -> None:
    write_results(tmp_path / "results", run_tables(), {name: MANIFEST[name] for name in MANIFEST if name != key})
    with pytest.raises(ResultsError, match=f"manifest.json: not a result directory: {where}"):
        read_results(tmp_path / "results")


def test_missing_table_is_refused(tmp_path: Path) -> None:
    write_results(tmp_path / "results", run_tables(), MANIFEST)
    file = tmp_path / "results" / "moves.parquet"
    file.unlink()
    problem = f"{file}: No such file or directory; run the scenario again with this version"
    with pytest.raises(ResultsError, match=f"^{re.escape(problem)}$"):
        read_results(tmp_path / "results")


def test_folder_without_files_in_place_of_a_table_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "results" / "runs.parquet"
    write_results(tmp_path / "results", run_tables(), MANIFEST)
    file.unlink()
    file.mkdir()
    problem = f"{file}: no Parquet file in it; run the scenario again with this version"
    with pytest.raises(ResultsError, match=f"^{re.escape(problem)}$"):
        read_results(tmp_path / "results")


@pytest.mark.parametrize(
    ("group", "where"),
    [(5, "group"), ({"session_timeout_ms": "long"}, "session_timeout_ms"), ({"static": 1}, "static")],
)
def test_group_of_an_assignor_that_is_none_is_refused(tmp_path: Path, group: object, where: str) -> None:
    write_results(tmp_path / "results", run_tables(), MANIFEST)
    file = tmp_path / "results" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["assignors"][0]["group"] = group
    file.write_text(json.dumps(manifest))
    with pytest.raises(ResultsError, match=rf"manifest.json: .*assignors.*{where}"):
        read_results(tmp_path / "results")


def test_manifest_without_an_end_is_refused(tmp_path: Path) -> None:
    write_results(tmp_path / "results", run_tables(), MANIFEST)
    os.truncate(tmp_path / "results" / "manifest.json", MAX_DOCUMENT_BYTES + 1)
    with pytest.raises(ResultsError, match=r"manifest.json: not a result directory: longer than 256,000,000 bytes$"):
        read_results(tmp_path / "results")


@pytest.mark.parametrize("excess", [0, 1])
def test_tables_are_read_up_to_the_rows_that_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, excess: int
) -> None:
    tables = run_tables()
    write_results(tmp_path / "results", tables, MANIFEST)
    limit = max(map(len, tables.values())) - excess
    monkeypatch.setattr("simulator.results.schema_checks.MAX_ROWS", limit)
    monkeypatch.setattr("simulator.results.result_directory.MAX_ROWS", limit)
    if not excess:
        read_results(tmp_path / "results")
        write_results(tmp_path / "results", tables, MANIFEST)
        return
    with pytest.raises(ResultsError, match=rf"parquet: .*: {limit + 1:,} rows, more than the maximum of {limit:,}$"):
        read_results(tmp_path / "results")
    with pytest.raises(ResultsError, match=rf"would have {limit + 1:,} rows"):
        write_results(tmp_path / "other", tables, MANIFEST)
    assert not (tmp_path / "other").exists()


COUNT_THREADS = """
import os, subprocess, sys
from pathlib import Path
from simulator.results.result_directory import read_results

def threads():
    if sys.platform.startswith("linux"):
        return set(os.listdir("/proc/self/task"))
    listed = subprocess.run(["ps", "-M", str(os.getpid())], capture_output=True, check=True).stdout
    return set(range(listed.count(b"\\n")))

before = threads()
read_results(Path(sys.argv[1]))
print(len(threads() - before))
"""


def test_reading_leaves_no_threads_that_abort_an_early_exit(tmp_path: Path) -> None:
    write_results(tmp_path / "results", run_tables(), MANIFEST)
    command = [sys.executable, "-c", COUNT_THREADS, str(tmp_path / "results")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"
