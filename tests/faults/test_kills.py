"""Killed commands leave the old state or the new one; `python -m tests.faults` tries more moments."""

from __future__ import annotations

import os
import signal

import pytest

from tests.faults.kills import COMMANDS, Command, try_moments

pytestmark = pytest.mark.answers

MOMENTS = int(os.environ.get("KILL_MOMENTS", "1"))
SIGNALS = (signal.SIGKILL, signal.SIGINT)
ONE_SIGNAL = {"aggregate": signal.SIGKILL, "ingest": signal.SIGINT, "ingest --add": signal.SIGKILL}
"""The signal of commands that start Java, for which each moment takes half a minute."""

TRIED = [
    pytest.param(
        command,
        id=command.name,
        marks=[pytest.mark.slow] if command.is_slow or command.name in ("report", "run") else [],
    )
    for command in COMMANDS
    if command.name not in ("ingest", "sweep") or MOMENTS > 1
]
"""With one moment each, `ingest` is left out: `ingest --add` writes in the same way; `tests/pipeline` kills sweeps."""


@pytest.mark.parametrize("command", TRIED)
def test_killed_command_leaves_the_old_state_or_the_new_one(command: Command) -> None:
    moments = range(MOMENTS)
    signals = [ONE_SIGNAL[command.name]] if command.name in ONE_SIGNAL else SIGNALS
    tried = list(try_moments(command, dict.fromkeys(signals, moments)))
    assert len(tried) == len(signals) * MOMENTS
    assert [moment for moment in tried if moment.wrong] == []
