"""Errors end a command with exit code 2; a closed output does not."""

from __future__ import annotations

import pytest

from assignor_sim.console.exits import BAD_INPUT, exit_on_error


def test_error_ends_the_command_with_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited, exit_on_error(OSError):
        raise FileNotFoundError(2, "No such file or directory", "events.jsonl")
    assert exited.value.code == BAD_INPUT
    assert capsys.readouterr().err == "error: events.jsonl: No such file or directory\n"


def test_closed_output_is_left_to_the_program() -> None:
    """`main` then ends without an error, as for other commands."""
    with pytest.raises(BrokenPipeError), exit_on_error(OSError):
        raise BrokenPipeError(32, "Broken pipe")
