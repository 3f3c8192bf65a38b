"""The how-tos on regression tests and on comparing assignors: their options exist, and their test runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from assignor_sim.cli import app
from tests.docs.plugin_options import plugin_options

pytestmark = pytest.mark.answers

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
KEEP = (HOW_TO / "keep-regression-tests.md").read_text(encoding="utf-8")
COMPARE = (HOW_TO / "compare-your-assignor.md").read_text(encoding="utf-8")


def test_every_documented_option_exists() -> None:
    group = typer.main.get_command(app)
    commands = group.commands.values()  # type: ignore[attr-defined]
    known = {name for command in commands for parameter in command.params for name in parameter.opts}
    named = set(re.findall(r"--[a-z][a-z-]+", KEEP + COMPARE))
    assert named <= known | plugin_options()
    assert plugin_options() <= named


def test_shown_test_runs(tmp_path: Path) -> None:
    code = KEEP.split("```python\n")[1].split("```")[0].replace("../scenarios/rack_outage.yaml", "cold_start.yaml")
    (tmp_path / "test_shown.py").write_text(f"import pytest\n\n{code}", encoding="utf-8")
    library = HOW_TO.parents[1] / "scenarios" / "library"
    text = (library / "cold_start.yaml").read_text(encoding="utf-8").replace("duration: 6h", "duration: 20m")
    (tmp_path / "cold_start.yaml").write_text(text, encoding="utf-8")
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "assignor_sim.pytest_plugin", "--assignor-scenarios", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        timeout=120,
    )
    # The pods of this scenario take minutes to restore, so the test must fail, for this reason only.
    assert "1 failed, 1 passed, 1 skipped" in completed.stdout, completed.stdout
    assert re.search(r"assert (np\.int64\()?\d+\)? < 60000", completed.stdout), completed.stdout
