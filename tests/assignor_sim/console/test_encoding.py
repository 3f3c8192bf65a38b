"""Output in encodings that lack some of our characters."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import assignor_sim as sim

pytestmark = pytest.mark.answers


@cache
def output(encoding: str, *arguments: str) -> str:
    completed = subprocess.run(
        [sys.executable, "-m", "assignor_sim", *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "100"},
        check=True,
    )
    assert not completed.stderr or b"Traceback" not in completed.stderr
    return completed.stdout.decode(encoding)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize(
    "arguments", [("run", "cold_start", "--assignor", "sticky"), ("list",)], ids=lambda part: part[0]
)
def test_characters_that_an_encoding_lacks_are_replaced(encoding: str, arguments: tuple[str, ...]) -> None:
    limited, complete = output(encoding, *arguments), output("utf-8", *arguments)
    assert arguments[0] == "list" or "----" in limited
    assert len(limited.splitlines()) == len(complete.splitlines())
    assert "?" not in limited.replace("(?)", ""), "every character that is used has a stand-in"


def test_results_are_shown_in_an_encoding_of_windows(tmp_path: Path) -> None:
    sim.run("cold_start", "sticky").save(tmp_path / "out")
    assert "sticky" in output("cp1252", "show", str(tmp_path / "out"))
