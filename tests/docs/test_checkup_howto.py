"""The how-to of checkups: its limits are those of the grades, and its commands for CI servers run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reports.analysis.checkup.areas import GROUP_AREAS, STREAMS_AREAS
from reports.render.checkup import LIMIT_HEADERS, limit_rows
from reports.render.markdown import markdown_table
from tests.assignor_sim.conftest import Shell
from tests.contract.test_checkup import TINY

pytestmark = pytest.mark.answers

GROUP_PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "check-a-consumer-group.md"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "check-an-application.md"


def test_limits_are_those_of_the_grades() -> None:
    assert markdown_table(LIMIT_HEADERS, list(limit_rows(STREAMS_AREAS))) in PAGE.read_text(encoding="utf-8")
    assert markdown_table(LIMIT_HEADERS, list(limit_rows(GROUP_AREAS))) in GROUP_PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_commands_for_ci_servers_run(tmp_path: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## In CI")[2]
    commands = re.findall(r"^(?:- run|  script): (assignor-sim .*)$", section, re.MULTILINE)
    assert len(commands) == 2
    shell = Shell(tmp_path)
    shell.write("shop.yaml", TINY)
    assert shell("checkup", "shop.yaml", "--save", "shop.lock").code == 0
    summary = tmp_path / "summary.md"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    for command in commands:
        subprocess.run(["sh", "-ec", command], cwd=tmp_path, env=environment, check=True, timeout=120)
    assert summary.read_text(encoding="utf-8").startswith("## small")
    assert (tmp_path / "checkup" / "checkup.html").exists()
