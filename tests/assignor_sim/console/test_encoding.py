"""Output in encodings that lack some of our characters."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest


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
@pytest.mark.parametrize("arguments", [("run", "cold_start", "--assignor", "sticky"), ("list",)])
def test_characters_that_an_encoding_lacks_are_replaced(encoding: str, arguments: tuple[str, ...]) -> None:
    limited, complete = output(encoding, *arguments), output("utf-8", *arguments)
    assert "----" in limited
    assert len(limited.splitlines()) == len(complete.splitlines())
    assert "?" not in limited.replace("(?)", ""), "every character that is used has a stand-in"
