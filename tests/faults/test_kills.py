"""Commands that are killed at random moments leave the old state or the new one; `kills.py` tries more moments."""

from __future__ import annotations

import os

import pytest

from tests.faults.kills import COMMANDS, Command, try_moments

MOMENTS = int(os.environ.get("KILL_MOMENTS", "1"))
SEED = int(os.environ.get("KILL_SEED", "1"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_killed_command_leaves_the_old_state_or_the_new_one(command: Command) -> None:
    failures: list[str] = []
    moments = MOMENTS if command.name in ("sweep", "aggregate", "ingest") else 2 * MOMENTS
    assert try_moments(command, moments, SEED, failures.append)["tried"] == moments
    assert not failures
