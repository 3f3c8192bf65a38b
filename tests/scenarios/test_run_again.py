"""Runs that are simulated again in another process have the same traces, and leave no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import scenarios.run_again
from assignors.containment.isolation import AssignorProcess
from assignors.errors import CustomAssignorError
from scenarios.assignor_specs import assignor_specs
from scenarios.load import Scenario, loads
from scenarios.run import run
from scenarios.time_ranges import time_ranges
from tests.scenarios.test_time_ranges import newcomer

END_S = 20.0
"""Time limit for processes to start or to end."""


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Let every run be worth a process, and record what is sent to processes."""
    sent: list[bytes] = []

    def exchange(process: AssignorProcess, request: bytes, timeout_s: float) -> bytes:
        sent.append(request)
        return original(process, request, timeout_s)

    original = AssignorProcess.exchange
    monkeypatch.setattr(AssignorProcess, "exchange", exchange)
    monkeypatch.setattr(scenarios.run_again, "PROCESS_SECONDS", 0.0)
    monkeypatch.setattr(scenarios.run_again, "_usable_cpus", lambda: 2)
    return sent


def ranges_of(scenario: Scenario, assignor: str = "high_availability") -> list[dict[str, object]]:
    [spec] = assignor_specs(scenario, [assignor])
    rows: list[dict[str, object]] = time_ranges(scenario, run(scenario, spec, 1), spec, 1).to_pylist()
    return rows


def test_both_processes_find_the_same_range(requests: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = loads(newcomer("12000 MB"), "newcomer.yaml")
    by_two = ranges_of(scenario)
    assert len(by_two) == len(requests) == 1
    monkeypatch.setattr(scenarios.run_again, "PROCESS_SECONDS", 1e9)
    assert ranges_of(scenario) == by_two
    assert len(requests) == 1


def test_a_process_that_ends_is_replaced_by_this_one(monkeypatch: pytest.MonkeyPatch, requests: list[bytes]) -> None:
    scenario = loads(newcomer("12000 MB"), "newcomer.yaml")
    expected = ranges_of(scenario)

    def exchange(process: AssignorProcess, request: bytes, timeout_s: float) -> bytes:
        process.close()
        raise CustomAssignorError("its process was killed")

    monkeypatch.setattr(AssignorProcess, "exchange", exchange)
    assert ranges_of(scenario) == expected


def test_custom_assignors_stay_in_this_process(requests: list[bytes]) -> None:
    scenario = loads(newcomer("12000 MB"), "newcomer.yaml")
    ranges_of(scenario, "tests.scenarios.test_run_again:make_custom_assignor")
    assert not requests


def make_custom_assignor() -> object:
    """Return an assignor that the registry does not know."""
    from assignors.tasks.high_availability import HighAvailability

    class Custom:
        def assign(self, state: object) -> object:
            return HighAvailability().assign(state)  # type: ignore[arg-type]

    return Custom()


RUN = """
    import scenarios.run_again
    from scenarios.run import run
    from scenarios.load import loads
    from scenarios.run_again import Repetition

    scenario = loads(SCENARIO)
    spec = scenario.assignor_spec("high_availability")
    scenarios.run_again.PROCESS_SECONDS = 0.0
    scenarios.run_again._usable_cpus = lambda: 2
    world = scenario.world(1)
    times = world.application.times
    print("begins", flush=True)
    while True:
        Repetition(scenario, world, spec, 1, None).simulate_both(times.scaled(0.5), times, 100)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_behind(number: signal.Signals, tmp_path: Path) -> None:
    code = f"SCENARIO = {newcomer('12000 MB')!r}\n{textwrap.dedent(RUN)}"
    with (tmp_path / "errors").open("w") as errors:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=errors)
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"begins\n"
            wait_until(lambda: bool(children_of(process.pid)))
            children = children_of(process.pid)
            process.send_signal(number)
            assert process.wait(END_S) != 0
            wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + END_S
    while not is_so():
        assert time.monotonic() < end, "took too long"
        time.sleep(0.02)


def children_of(parent: int) -> list[int]:
    """Return the processes whose parent is the given one."""
    children = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            children.append(int(name))
    return children
