"""Commands write the same files in processes with different `PYTHONHASHSEED`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.assignor_sim.commands.plan_commands import ASSIGNMENT, ROUND_ROBIN, list_files
from tests.assignor_sim.conftest import SMALL, Shell

pytestmark = pytest.mark.answers


@pytest.fixture
def process_shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.slow
def test_results_of_runs_do_not_depend_on_hash_seed(process_shell: Shell) -> None:
    process_shell.write("small.yaml", SMALL)
    for name, hash_seed in (("first", "1"), ("second", "2")):
        assert process_shell("run", "small.yaml", "--out", name, PYTHONHASHSEED=hash_seed).code == 0
    for file in sorted((process_shell.folder / "first").rglob("*")):
        if file.is_file() and file.name not in ("manifest.json", "report.html"):
            second = process_shell.folder / "second" / file.relative_to(process_shell.folder / "first")
            assert file.read_bytes() == second.read_bytes(), file.name


@pytest.mark.slow
def test_plans_do_not_depend_on_hash_seed(process_shell: Shell) -> None:
    process_shell.write("today.json", json.dumps(ASSIGNMENT))
    out = process_shell.folder / "out"
    outputs = []
    for seed in ("1", "2"):
        result = process_shell(
            "plan", "today.json", *ROUND_ROBIN, "--out", "out", PYTHONHASHSEED=seed,
            PYTHONPATH=str(Path(__file__).parents[2]),
        )  # fmt: skip
        assert result.code == 0, result.err
        outputs.append((result.out, {name: (out / name).read_bytes() for name in list_files(out)}))
    assert outputs[0] == outputs[1]
