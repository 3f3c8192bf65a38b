"""Killed commands leave the old state or the new one; `python -m tests.faults` tries more moments."""

from __future__ import annotations

import os
import signal

import pytest

from tests.faults.kills import COMMANDS, Command, try_moments

MOMENTS = int(os.environ.get("KILL_MOMENTS", "1"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_killed_command_leaves_the_old_state_or_the_new_one(command: Command) -> None:
    moments = range(MOMENTS)
    tried = list(try_moments(command, {signal.SIGKILL: moments, signal.SIGINT: moments}))
    assert len(tried) == 2 * MOMENTS
    assert [moment for moment in tried if moment.wrong] == []
