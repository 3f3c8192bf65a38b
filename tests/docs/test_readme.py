"""The README shows current output, its examples run, and links in docs are valid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import Shell
from tools.readme import refreshed

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_readme_shows_current_output() -> None:
    assert refreshed(README) == README, "run `python -m tools.readme`"


def test_readme_scenario_runs(shell: Shell) -> None:
    shell.write("first.yaml", README.split("```yaml\n")[1].split("```")[0])
    result = shell("run", "first.yaml", "--format", "json")
    assert result.code == 0, result.err
    assert [row["assignor"] for row in json.loads(result.out)] == ["high_availability", "min_traffic", "sticky"]


def test_readme_assignor_runs(shell: Shell) -> None:
    shell.write("nearest.py", README.split("```python\n")[1].split("```")[0])
    arguments = ["run", "order_processing", "--assignor", "nearest:Nearest", "--assignor", "HA min_traffic"]
    result = shell(*arguments, "--format", "json", PYTHONPATH=str(shell.folder))
    assert result.code == 0, result.err
    nearest, _ = json.loads(result.out)
    assert nearest["assignor"] == "nearest:Nearest"


def test_every_linked_page_exists() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    missing = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert missing == []
