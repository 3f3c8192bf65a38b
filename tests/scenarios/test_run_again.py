"""Runs that are simulated again in another process have the same traces, and leave no process behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import scenarios.time_ranges
from assignors.containment.isolation import AssignorProcess
from assignors.errors import CustomAssignorError
from scenarios.load import Scenario, assignor_specs, loads
from scenarios.run import run
from scenarios.time_ranges import Repetition, time_ranges
from simulator.processes.run_options import Observer
from simulator.results.trace import Trace
from simulator.world.world import ClientTimes
from tests.scenarios.test_time_ranges import newcomer

pytestmark = pytest.mark.answers

PROJECT = Path(__file__).parents[2]

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
    monkeypatch.setattr(scenarios.time_ranges, "PROCESS_SECONDS", 0.0)
    monkeypatch.setattr(scenarios.time_ranges, "usable_cpus", lambda: 2)
    return sent


def ranges_of(scenario: Scenario, assignor: str = "high_availability") -> list[dict[str, object]]:
    [spec] = assignor_specs(scenario, [assignor])
    rows: list[dict[str, object]] = time_ranges(scenario, run(scenario, spec, 1), spec, 1).to_pylist()
    return rows


def test_both_processes_find_the_same_range(requests: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = loads(newcomer("12000 MB"), "newcomer.yaml")
    by_two = ranges_of(scenario)
    assert len(by_two) == len(requests) == 1
    monkeypatch.setattr(scenarios.time_ranges, "PROCESS_SECONDS", 1e9)
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


class EndlessRun(Repetition):
    """A run that two processes simulate without end; both print their numbers."""

    def _is_worth_a_process(self, rebalances: int) -> bool:
        return True

    def simulate(self, times: ClientTimes, observe: Observer | None = None) -> Trace:
        print(os.getpid(), flush=True)
        while True:
            pass


RUN = """
    from scenarios.load import loads
    from tests.scenarios.test_run_again import EndlessRun

    scenario = loads(SCENARIO)
    world = scenario.world(1)
    times = world.application.times
    EndlessRun(scenario, world, scenario.assignor_spec("high_availability"), 1, None).simulate_both(times, times, 100)
"""


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL])
def test_no_process_is_left_behind(number: signal.Signals) -> None:
    code = f"SCENARIO = {newcomer('12000 MB')!r}\n{textwrap.dedent(RUN)}"
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, bufsize=0, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    running = {process.pid}
    try:
        for _ in range(2):
            assert select.select([process.stdout], [], [], END_S)[0], "took too long"
            running.add(int(process.stdout.readline()))
        assert len(running) == 2
        process.send_signal(number)
        # The output ends when no process can write to it, even if no parent waits for one that has ended.
        process.communicate(timeout=END_S)
        running.clear()
        assert process.returncode != 0
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
