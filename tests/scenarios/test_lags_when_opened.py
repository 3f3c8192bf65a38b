"""A kill leaves what was on disk when stores were opened, as an application that closed before finds it again."""

from __future__ import annotations

import pytest

from assignors.model.ids import TaskId
from scenarios.load import loads
from scenarios.run import run
from simulator.processes.run_options import RunOptions

TASKS = [TaskId(0, 0), TaskId(0, 1)]
WHOLE = 50_000
"""Records of each changelog, 5 MB: less than a memtable."""
SCENARIO = """
name: killed
cluster: {{brokers: {{count: 1}}, topics: [{{name: in, partitions: 2, bytes_per_s: {rate}}}]}}
application:
  id: app
  kafka: "{kafka}"
  starts: running
  configs: {{processing.guarantee: {guarantee}}}
  subtopologies: [{{sources: [in], stores: [{{name: s, size: 10 MB, record_size: 100, bytes_per_s: {rate}}}]}}]
clients:
  - {{name: app, tasks: {{active: [0_0, 0_1], lags: {{}}, lags_when_opened: {{{opened}}}}}}}
events:
{events}
assignors: [high_availability]
duration: 2h
"""
CRASH = "  - {at: 1h, crash: {clients: app, down: 5m}}"
BOUNCE = "  - {at: 20m, rolling_bounce: {clients: app, down: 10s}}"


def lags_after_kill(
    opened: str, *, events: str = CRASH, kafka: str = "4.4", guarantee: str = "at_least_once", rate: str = "0"
) -> list[int]:
    """Return the lag of each task that the client reports when it returns after the kill."""
    text = SCENARIO.format(opened=opened, events=events, kafka=kafka, guarantee=guarantee, rate=rate)
    trace = run(loads(text, "a test"), "high_availability", options=RunOptions(capture=True))
    state = list(trace.captured_rounds)[-1].state
    return [int(state.lags[state.row_of_task[task], 0]) for task in TASKS]


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_state_on_disk_at_the_opening_survives(guarantee: str) -> None:
    commit_marker = int(guarantee != "at_least_once")
    assert lags_after_kill("0_0: 0, 0_1: 300", guarantee=guarantee) == [commit_marker, 300]
    assert lags_after_kill("0_1: 0", guarantee=guarantee)[1] == commit_marker


def test_stores_are_empty_when_opened_by_default() -> None:
    assert lags_after_kill("") == [WHOLE, WHOLE]


@pytest.mark.parametrize("rate", ["0", "100 B/s"])
def test_it_is_the_state_of_an_application_that_closed_and_returned(rate: str) -> None:
    """The client closes with what it has written for 20 min; a run that begins as it returns has all that on disk."""
    returned = lags_after_kill("", events=f"{BOUNCE}\n{CRASH}", rate=rate)
    stated = lags_after_kill("0_0: 0, 0_1: 0", events=CRASH, rate=rate)
    # Each task writes 50 bytes per second, half a record.
    written = 0 if rate == "0" else 20 * 60 // 2
    assert stated == [lag + written for lag in returned]
    assert max(stated) < WHOLE


def test_checkpoint_files_decide_before_the_release_that_keeps_offsets_in_stores() -> None:
    assert lags_after_kill("0_0: 300", kafka="4.2") == lags_after_kill("", kafka="4.2") == [0, 0]
