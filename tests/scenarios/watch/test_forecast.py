"""Forecasts of downtimes: how many crashes are simulated, and what is forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scenarios.watch import monitor
from scenarios.watch.monitor import MAX_SIMULATIONS, SimulatedDowntimes
from scenarios.watch.watched_group import WatchedGroup
from tests.scenarios.watch.watched_groups import recorded_consumers

TASK = "orders-0"


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the processes whose crashes are simulated; the task of the n-th one is down for n seconds."""
    processes: list[str] = []

    def simulate(_: WatchedGroup, process: str) -> dict[str, int]:
        processes.append(process)
        return {TASK: 1_000 * len(processes)}

    monkeypatch.setattr(monitor, "simulate_crash", simulate)
    return processes


def group_of(*processes: str) -> WatchedGroup:
    return replace(recorded_consumers("billing")[0], client_names=dict.fromkeys(processes, "client"))


def test_crashes_of_many_processes_are_not_all_simulated(simulated: list[str]) -> None:
    """The others are down for the longest of the simulated times; a newer state has simulations of its own."""
    downtimes, names = SimulatedDowntimes(), [f"p{number}" for number in range(MAX_SIMULATIONS + 3)]
    downtimes.remember(group_of(*names))
    predicted = [downtimes.down_ms(name, TASK) for name in names]
    longest_ms = 1_000 * MAX_SIMULATIONS
    assert predicted == [*range(1_000, longest_ms + 1, 1_000), *[longest_ms] * 3]
    assert simulated == names[:MAX_SIMULATIONS]
    downtimes.remember(group_of(*names))
    assert downtimes.down_ms(names[-1], TASK) == longest_ms + 1_000


def test_process_that_left_is_known_until_many_others_have_joined(simulated: list[str]) -> None:
    downtimes = SimulatedDowntimes()
    downtimes.remember(group_of("left", "stays"))
    assert downtimes.down_ms("left", TASK) == 1_000
    for number in range(200):
        downtimes.remember(group_of("stays", f"p{number}"))
        assert (downtimes.down_ms("left", TASK) is None) == (number > 101)
    assert len(simulated) == 1


def test_crash_of_a_recorded_consumer_takes_a_session_since_its_last_heartbeat() -> None:
    """The session times out after 45 s, and members send a heartbeat every second."""
    watched, snapshot = recorded_consumers("audit")
    downtimes = SimulatedDowntimes()
    downtimes.remember(watched)
    member = snapshot.members[1]
    down_ms = [downtimes.down_ms(member.process_id, task) for task in member.active]
    assert all(ms is not None and 44_000 <= ms < 48_000 for ms in down_ms)
    assert downtimes.down_ms("unknown", TASK) is None
    assert downtimes.restore_ms(member.process_id, member.active) == 0
