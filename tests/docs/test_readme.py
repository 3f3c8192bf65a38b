"""What the README and the how-tos show is what happens."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import Shell

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_the_readme_shows_todays_output() -> None:
    refreshed = runpy.run_path(str(ROOT / "tools" / "readme.py"))["refreshed"]
    assert refreshed(README) == README, "run `python tools/readme.py`"


def test_the_readmes_scenario_runs(shell: Shell) -> None:
    shell.write("first.yaml", README.split("```yaml\n")[1].split("```")[0])
    ended = shell("run", "first.yaml", "--format", "json")
    assert ended.code == 0, ended.err
    assert [row["assignor"] for row in json.loads(ended.out)] == ["high_availability", "min_traffic", "sticky"]


def test_the_readmes_assignor_runs(shell: Shell) -> None:
    shell.write("nearest.py", README.split("```python\n")[1].split("```")[0])
    arguments = ["run", "order_processing", "--assignor", "nearest:Nearest", "--assignor", "HA min_traffic"]
    ended = shell(*arguments, "--format", "json", PYTHONPATH=str(shell.folder))
    assert ended.code == 0, ended.err
    nearest, _ = json.loads(ended.out)
    assert nearest["assignor"] == "nearest:Nearest"


def test_every_page_that_is_linked_is_there() -> None:
    import re

    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    missing = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert missing == []
