"""Scenarios are read from files: what is no scenario, and what reading must not do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.load import Scenario, ScenarioError, load, loads
from scenarios.schema import SCHEMA_FILE
from tests.scenarios.scenario_texts import SMALL, load_text, mistakes_in, replace_in_small

LIBRARY = sorted(SCHEMA_FILE.with_name("library").glob("*.yaml"))


def test_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "night.yaml"
    file.write_text("\ufeff" + replace_in_small("name: small\n", "description: >\n  Two\n  lines.\n"), encoding="utf-8")
    scenario = load(file)
    assert (scenario.name, scenario.description, scenario.path) == ("night", "Two lines.", file)
    assert load(str(file)).world(1) == scenario.world(1)


def _load_error(path: Path) -> str:
    with pytest.raises(ScenarioError) as raised:
        load(path)
    return str(raised.value)


def test_path_that_is_not_a_file_is_rejected(tmp_path: Path) -> None:
    assert _load_error(tmp_path / "x.yaml") == f"{tmp_path / 'x.yaml'}: no such file"
    assert _load_error(tmp_path) == f"{tmp_path}: not a file"
    os.mkfifo(tmp_path / "pipe")
    assert _load_error(tmp_path / "pipe") == f"{tmp_path / 'pipe'}: not a file"


def test_file_that_is_not_utf_8_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_bytes(SMALL.encode() + "# Zürich\n".encode("latin-1"))
    assert _load_error(file) == f"{file}:23: not UTF-8 text; save it as UTF-8"


def test_file_of_ten_megabytes_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SMALL + "# comment\n" * 1_000_000)
    assert _load_error(file).startswith(
        f"{file}:39954: longer than the maximum of 400,000 bytes; save long lists of topics"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.yaml:1: the file is empty; a scenario is a mapping with cluster, application and clients"),
        ("- a\n", "s.yaml:1: expected a mapping with cluster, application and clients, found a list"),
        ("\nhello\n", "s.yaml:2: expected a mapping with cluster, application and clients, found 'hello'"),
        ("a: 1\na: 2\n", "s.yaml:2: duplicate key 'a' in this mapping (first in line 1)"),
    ],
)
def test_document_that_is_not_a_mapping_is_rejected(text: str, message: str) -> None:
    assert mistakes_in(text) == [message]


def test_empty_mapping_lacks_three_sections() -> None:
    assert mistakes_in("{}") == [
        "s.yaml:1: cluster: missing",
        "s.yaml:1: application: missing",
        "s.yaml:1: clients: missing",
    ]


@pytest.mark.parametrize("path", LIBRARY, ids=[path.stem for path in LIBRARY])
def test_shipped_scenarios_load_and_have_descriptions(path: Path) -> None:
    scenario = load(path)
    assert scenario.name == path.stem.replace("_", "-")
    assert len(scenario.description) > 60
    assert scenario.world(1).disturbances or len(scenario.assignors) >= 2, "no event and no comparison"


def test_anchors_and_merge_keys_are_supported() -> None:
    text = replace_in_small(
        "  - {name: app, count: 3, racks: [az1, az2, az3], threads: 2}\n  - {name: late, rack: az1, starts: false}\n",
        "  - &app {name: app, count: 3, racks: [az1, az2, az3], threads: 2}\n"
        "  - {<<: *app, name: late, starts: false}\n",
    )
    assert [client.name for client in load_text(text).world(1).clients] == [
        f"{name}-{i}" for name in ("app", "late") for i in range(3)
    ]


def test_loading_imports_no_heavy_packages() -> None:
    program = (
        "import sys; import scenarios.load\n"
        "heavy = {'pandas', 'pyarrow', 'pyspark', 'ortools', 'numba', 'matplotlib', 'simpy', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=SCHEMA_FILE.parent.parent
    )
    assert done.stdout.strip() == "[]"


def test_scenario_cannot_import_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil_assignor.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    [mistake] = mistakes_in(replace_in_small("[high_availability]", '["evil_assignor:Evil"]'))
    assert "unknown assignor 'evil_assignor:Evil'" in mistake
    assert "evil_assignor" not in sys.modules


def test_scenario_is_immutable() -> None:
    scenario = loads(SMALL)
    assert isinstance(scenario, Scenario)
    with pytest.raises(AttributeError):
        scenario.name = "other"  # type: ignore[misc]
