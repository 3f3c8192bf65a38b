"""Times that others measured with real Kafka Streams applications lie within what the simulator predicts."""

from __future__ import annotations

from functools import cache

import pytest

from scenarios.load import loads
from scenarios.run import run
from simulator.results.tabulation import tabulate

APPLICATION = """
cluster:
  brokers: {count: 1}
  topics: [{name: events, partitions: 1, bytes_per_s: 1 kB/s}]
application:
  id: app
  subtopologies: [{sources: [events]}]
clients: [{name: instance, count: CLIENTS}]
events: [EVENT]
assignors: [high_availability]
duration: 10m
"""
SEEDS = range(1, 13)
"""Seeds draw when members send their heartbeats."""
CLOSED_AT_MS = range(60_000, 63_000, 1_000)
"""Closing times over one heartbeat interval, which decides when the session ends."""
HEARTBEAT_S = 3


@cache
def downtimes_s(clients: int, event: str) -> list[float]:
    """Return the downtime of the only task after an event, for each closing time and seed."""
    downtimes = []
    for at_ms in CLOSED_AT_MS:
        scenario = loads(
            APPLICATION.replace("CLIENTS", str(clients)).replace("EVENT", event.replace("AT", f"{at_ms}ms"))
        )
        for seed in SEEDS:
            trace = run(scenario, "high_availability", seed)
            [task] = tabulate(trace, "high_availability", seed)["tasks"].to_pylist()
            downtimes.append(task["downtime_ms"] / 1000)
    return downtimes


@pytest.mark.parametrize("observed_s", [43.9, 44.3])
def test_handover_after_a_close_without_leave_group(observed_s: float) -> None:
    """The only running instance closes by default, and another one takes over (apache/beam#39745)."""
    closing = "{at: AT, leave: {clients: %s}}"
    predicted = [seconds for name in ("instance-0", "instance-1") for seconds in downtimes_s(2, closing % name)]
    handovers = [seconds for seconds in predicted if seconds > 0]
    assert len(handovers) >= len(CLOSED_AT_MS)
    # The session ends up to a heartbeat before the timeout; the other member learns of it up to a heartbeat later.
    assert min(handovers) <= observed_s <= max(handovers)
    assert 45 - HEARTBEAT_S <= min(handovers) <= max(handovers) <= 45 + HEARTBEAT_S * 1.01


def test_leave_group_saves_a_session_timeout_at_each_restart() -> None:
    """Tests that restart an instance at once took about 45 s less per restart (apache/kafka#23272, #23492)."""
    restart = "{at: AT, rolling_bounce: {clients: instance, down: 1s, leaves_group: %s}}"
    default, leaving = (downtimes_s(1, restart % leaves) for leaves in ("false", "true"))
    savings = [without - with_leave for without, with_leave in zip(default, leaving, strict=True)]
    assert 35 <= min(savings) <= max(savings) <= 45
