"""`-q` and `-v` mean the same before and after the name of a command."""

from __future__ import annotations

import pytest

from tests.assignor_sim.conftest import Shell
from tests.scenarios.scenario_texts import replace_in_small

pytestmark = pytest.mark.answers

WARNING = "valid, but not modeled"
CONFIG = "{num.standby.replicas: 1}"
SCENARIO = replace_in_small(CONFIG, "{num.standby.replicas: 1, max.task.idle.ms: 500}")


@pytest.fixture
def file(shell: Shell) -> str:
    return str(shell.write("scenario.yaml", SCENARIO))


@pytest.mark.parametrize("arguments", [("-q", "run"), ("run", "-q"), ("run", "--quiet")])
def test_quiet_command_prints_no_warnings(shell: Shell, file: str, arguments: tuple[str, ...]) -> None:
    assert WARNING in shell("run", file).err
    quiet = shell(*arguments, file)
    assert (quiet.code, quiet.err) == (0, "")
    assert WARNING in shell("run", file).err, "the option must not outlast its command"


@pytest.mark.parametrize("arguments", [("-v", "run"), ("run", "-v")])
def test_verbose_command_prints_its_steps(shell: Shell, file: str, arguments: tuple[str, ...]) -> None:
    steps = set(shell(*arguments, file).err.splitlines()) - set(shell("run", file).err.splitlines())
    assert steps
