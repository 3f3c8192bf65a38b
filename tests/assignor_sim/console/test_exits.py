"""Errors in the input end a command with exit code 2; a closed output and other exceptions do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assignor_sim.console.messages import _INPUT_ERROR, BAD_INPUT, exit_on_error
from assignors.errors import UnknownAssignorError

ROOT = Path(__file__).parents[3]
PACKAGES = ("assignor_sim", "assignors", "pipeline", "reports", "scenarios", "simulator")


def test_error_ends_the_command_with_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited, exit_on_error(OSError):
        raise FileNotFoundError(2, "No such file or directory", "events.jsonl")
    assert exited.value.code == BAD_INPUT
    assert capsys.readouterr().err == "error: events.jsonl: No such file or directory\n"


def test_closed_output_is_left_to_the_program() -> None:
    """`main` then ends without an error, as for other commands."""
    with pytest.raises(BrokenPipeError), exit_on_error(OSError):
        raise BrokenPipeError(32, "Broken pipe")


def test_errors_in_the_input_are_known_by_their_names_and_those_of_their_bases(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as exited, exit_on_error():
        raise UnknownAssignorError("unknown assignor 'stiky'")
    assert exited.value.code == BAD_INPUT
    assert capsys.readouterr().err == "error: unknown assignor 'stiky'\n"
    with pytest.raises(FileNotFoundError), exit_on_error():
        raise FileNotFoundError(2, "No such file or directory", "events.jsonl")


def test_names_of_errors_in_the_input_are_those_of_exceptions() -> None:
    texts = (file.read_text(encoding="utf-8") for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    defined = {name for text in texts for name in re.findall(r"^class (\w+Error)\(", text, re.MULTILINE)}
    named = {f"{stem}Error" for stem in _INPUT_ERROR.pattern.removesuffix("Error").strip("()").split("|")}
    assert named - defined == set()
