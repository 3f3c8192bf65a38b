"""Client times decide whether a warm-up is in time for a rebalance; a range is reported where seconds decide."""

from __future__ import annotations

import json

import pytest

from assignor_sim.api.running import run
from reports.render.terminal.comparison import render
from scenarios.load import ScenarioError, loads
from simulator.world.world import MEASURED, ClientTimes

PROBING_MS, JOIN_MS = 60_000, 60_000
TIMES = "{open_store: 60 ms, restore_start: 200 ms, rejoin: 60 ms, uncertainty: 2}"
"""Times of a fast machine; tests that use them do not depend on the defaults."""


def newcomer(state: str, olds: int = 1, times: str = TIMES, configs: str = "") -> str:
    """Return a scenario in which a client joins; 8 of 12 tasks have state, which is restored at 50 MB/s."""
    return f"""
name: newcomer
cluster:
  brokers: {{count: 3, racks: [az1, az2, az3]}}
  topics:
    - {{name: clicks, partitions: 4, bytes_per_s: 100 kB/s}}
    - {{name: orders, partitions: 8, bytes_per_s: 100 kB/s}}
application:
  id: shop
  times: {times}
  configs:
    probing.rebalance.interval.ms: {PROBING_MS}
    acceptable.recovery.lag: 100
    heartbeat.interval.ms: 1000
    session.timeout.ms: 15000
    {configs}
  subtopologies:
    - {{sources: [clicks]}}
    - sources: [orders]
      stores: [{{name: counts, size: {state}}}]
clients:
  - {{name: old, count: {olds}, rack: az1}}
  - {{name: newcomer, rack: az2, starts: false}}
events:
  - {{at: {JOIN_MS}, join: {{clients: newcomer}}}}
duration: 30m
"""


@pytest.mark.parametrize("olds", [1, 2, 3])
@pytest.mark.parametrize("times", ["{}", "{open_store: 10 ms, restore_start: 50 ms, rejoin: 0}"])
def test_newcomer_with_small_state_waits_for_a_probing_rebalance(olds: int, times: str) -> None:
    """13 MB a task: the newcomer rejoins before its warm-ups have read anything, and reports that."""
    result = run(loads(newcomer("104 MB", olds, times), "newcomer.yaml"))
    rounds = [row for row in result.tables["rounds"].to_pylist() if row["at_ms"] >= JOIN_MS]
    assert len(rounds) > 2
    assert rounds[1]["at_ms"] < JOIN_MS + 5_000
    assert all(row["requested_at_ms"] >= JOIN_MS + PROBING_MS for row in rounds[2:])


def test_last_rebalance_after_a_newcomer_is_as_late_as_observed() -> None:
    """Real groups with 13 MB a task had their last rebalance 77 to 135 s after the newcomer."""
    result = run(loads(newcomer("104 MB", times="{}"), "newcomer.yaml"))
    last_ms = max(row["at_ms"] for row in result.tables["rounds"].to_pylist())
    assert JOIN_MS + 77_000 < last_ms < JOIN_MS + 135_000


def test_outcome_that_depends_on_seconds_is_reported() -> None:
    """Two warm-ups of 1.5 GB are restored in about the minute until the probing rebalance."""
    result = run(loads(newcomer("12000 MB"), "newcomer.yaml"))
    [row] = result.tables["time_ranges"].to_pylist()
    assert row["late_rebalances_to_converge"] > row["early_rebalances_to_converge"]
    assert row["uncertainty"] == 2
    assert row["client"] == "newcomer"
    assert abs(row["caught_up_after_ms"]) < 1_000
    [record] = json.loads(render(result.tables, "json"))
    [note] = [note for note in record["notes"] if "client times" in note]
    assert f"the copy of {row['task']} on newcomer catches up" in note
    assert note.startswith("high_availability converges in ")
    assert "application.times" in render(result.tables)


@pytest.mark.parametrize(
    "text",
    [
        newcomer("104 MB"),
        newcomer("12000 MB", times="{uncertainty: 1}"),
        newcomer("12000 MB", times="{open_store: 0, restore_start: 0, rejoin: 0}"),
        newcomer("12000 MB", configs="group.protocol: streams"),
    ],
)
def test_other_outcomes_are_not_reported(text: str) -> None:
    assert not run(loads(text, "newcomer.yaml")).tables["time_ranges"].num_rows


def test_ranges_can_be_left_out() -> None:
    result = run(loads(newcomer("12000 MB"), "newcomer.yaml"), ranges=False)
    assert not result.tables["time_ranges"].num_rows


def test_ranges_change_no_other_table() -> None:
    scenario = loads(newcomer("12000 MB"), "newcomer.yaml")
    with_ranges, without = run(scenario), run(scenario, ranges=False)
    for name, table in without.tables.items():
        assert name == "time_ranges" or with_ranges.tables[name].equals(table), name


def test_times_of_a_scenario() -> None:
    text = newcomer("1 MB", times="{start: 5s, open_store: 20 ms, uncertainty: 1.5}")
    expected = ClientTimes(5_000, 20, MEASURED.restore_start_ms, MEASURED.rejoin_ms, 1.5)
    assert loads(text, "newcomer.yaml").world(1).application.times == expected


def test_start_delays_a_client_that_an_event_starts() -> None:
    text = newcomer("1 MB", times="{start: 5s}")
    rows = run(loads(text, "newcomer.yaml")).tables["rounds"].to_pylist()
    assert rows[1]["requested_at_ms"] == JOIN_MS + 5_000


@pytest.mark.parametrize("times", ["{uncertainty: 0.5}", "{open_store: -1}", "{unknown: 1}"])
def test_invalid_times_are_rejected(times: str) -> None:
    with pytest.raises(ScenarioError, match=r"newcomer\.yaml:10: application\.times"):
        loads(newcomer("1 MB", times=times), "newcomer.yaml")


def test_copies_that_begin_early_are_compared_with_members_that_rejoin_late() -> None:
    """Earlier copies are complete before the last members rejoin; if both were faster, they would not be."""
    text = """
cluster: {brokers: {count: 1}, topics: [{name: t, partitions: 4, bytes_per_s: 4 kB/s}]}
application:
  id: app
  configs: {num.standby.replicas: 1, max.warmup.replicas: 8}
  subtopologies: [{sources: [t], stores: [{name: s, size: 232 MB}]}]
clients: [{name: c, count: 2}, {name: n, count: 1, starts: false}]
events: [{at: 10m, scale_out: {clients: [n]}}]
duration: 2h
"""
    [row] = run(loads(text, "ranges")).tables["time_ranges"].to_pylist()
    assert (row["early_rebalances_to_converge"], row["rebalances_to_converge"]) == (3, 4)
    assert row["early_time_to_converge_ms"] == pytest.approx(8_100, rel=0.01)
