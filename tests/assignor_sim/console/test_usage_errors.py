"""Errors of options and arguments have the form of other errors, without the words of the argument library."""

from __future__ import annotations

import sys

import pytest

from assignor_sim.cli import main
from assignor_sim.console.messages import usage_message

LIBRARY = ("Value error", "Input should be", "invalid value for", "Possible options", "no such", "extra argument(s)")
"""Words of the argument library."""


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("list bogus", "list: topic: unknown value 'bogus' (known: assignors, consumers, scenarios, problems, "),
        ("list metric", "list: topic: unknown value 'metric' (did you mean 'metrics'?)\n"),
        (
            "run cold_start --format xml",
            "run: --format: unknown value 'xml' (known: table, json, csv, markdown) (help: ",
        ),
        ("run cold_start --seed x", "run: --seed: "),
        ("compare cold_start --assignor a --seeds 0", "compare: --seeds: "),
        ("run cold_start --sed 1", "run: unknown option --sed (did you mean --seed"),
        ("rnu", "unknown command 'rnu' (did you mean 'run'?)\n"),
        ("generate bogus", "generate: unknown command 'bogus' (help: assignor-sim generate --help)\n"),
        ("doctor extra", "doctor: unexpected argument: extra (help: assignor-sim doctor --help)\n"),
        ("sweep return_of_balance", "sweep: missing option '--out' (help: assignor-sim sweep --help)\n"),
    ],
)
def test_error_says_what_is_wrong_and_what_would_be_right(
    command: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["assignor-sim", *command.split()])
    with pytest.raises(SystemExit) as exited:
        main()
    printed = capsys.readouterr()
    assert (exited.value.code, printed.out) == (2, "")
    assert printed.err.startswith(f"error: {message}")
    assert [words for words in LIBRARY if words in printed.err] == []


@pytest.mark.parametrize(
    ("library", "message"),
    [
        ("Invalid value for '--seed': 'x' is not a valid integer.", "--seed: 'x' is not a valid integer"),
        ("Invalid value for '--seeds': Input should be greater than or equal to 1", "--seeds: must be at least 1"),
        ("Invalid value for '--x': Input should be a valid number, unable to parse string", "--x: must be a number"),
        ("No such option: --sed Did you mean --seed?", "unknown option --sed (did you mean --seed?)"),
        ("Something else happened.", "something else happened"),
    ],
)  # fmt: skip
def test_messages_of_every_release_of_the_library_are_understood(library: str, message: str) -> None:
    assert usage_message(library) == message
