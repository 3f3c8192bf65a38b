"""Errors of `ingest` and `generate metrics` that are reported before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from assignor_sim.cli import app


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ingest"], "no sources; name time series, dumps or logs"),
        (["ingest", "m.csv", "--map", "mine"], "--map mine: no such file or built-in mapping (mappings: plain"),
        (["ingest", "m.csv", "--interval", "soon"], "--interval soon: "),
        (["ingest", "m.csv", "--interval", "0m"], "--interval 0m: must be at least 1 ms"),
        (["generate", "metrics", "--out", "raw", "--faults", "holes=1"], "expected some, none, or shares of gaps"),
        (["generate", "metrics", "--out", "raw", "--interval", "7m"], "8 intervals must divide a day"),
    ],
)
def test_invalid_arguments_exit_with_code_2(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["ingest"], ["generate", "metrics"]])
def test_help_shows_an_example(command: list[str]) -> None:
    assert "Example: assignor-sim " in CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "160"}).stdout
