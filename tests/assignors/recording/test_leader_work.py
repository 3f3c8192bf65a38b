"""Work of Kafka's assignors outside of flows, and its time on a group leader."""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from assignors.flow import FlowEffort
from assignors.recording import EDGE_SCAN_NS, NEGLIGIBLE_MS, WORK_NS, LeaderWork, Recorder, work_time_ms
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import LegacySticky
from reports.analysis.metrics import METRIC
from scenarios.problems import parse_problem
from simulator.assignment.rebalance import compute_assignment
from tests.assignors.recording.scale_problems import PROBLEMS, predicted_ms, problem, read


class Counted(Recorder):
    """Counts the scans of edges and the other operations of an assignor."""

    def __init__(self) -> None:
        self.scans = 0
        self.operations: defaultdict[LeaderWork, float] = defaultdict(float)

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        self.scans += times * effort.passes * effort.edges

    def work(self, kind: LeaderWork, count: float) -> None:
        self.operations[kind] += count


def test_leader_of_twice_the_speed_needs_half_the_time() -> None:
    state = problem("sticky-many_threads_per_client-first")
    once, twice = (compute_assignment(state, LegacySticky(), speed).leader_compute_ms for speed in (1.0, 2.0))
    assert once == pytest.approx(predicted_ms(LegacySticky(), state))
    assert once == pytest.approx(2 * twice)


def test_negligible_work_is_left_out_of_simulations() -> None:
    state = problem("ha-many_threads_per_client-first")
    assert 0 < predicted_ms(HighAvailability(), state) < NEGLIGIBLE_MS
    assert compute_assignment(state, HighAvailability()).leader_compute_ms == 0


def test_time_of_the_sticky_assignor_grows_with_the_cube_of_the_tasks() -> None:
    def of(tasks: int) -> float:
        few = read("sticky-large_partition_count-first")
        return predicted_ms(LegacySticky(), parse_problem(few | {"tasks": few["tasks"][:tasks]}))

    assert of(1_000) / of(500) == pytest.approx(8, rel=0.05)
    assert of(2_000) / of(1_000) == pytest.approx(8, rel=0.05)


@pytest.mark.parametrize("speed", [1.0, 0.25])
@pytest.mark.parametrize(
    "name", ["rack-min_traffic-100x10-r3x1-scaleout", "rack-balance_subtopology-300x30-r3x1-fresh"]
)
def test_compute_time_follows_the_documented_formula(name: str, speed: float) -> None:
    """Scans of edges, and other operations from 50 ms on, by the speed of the leader."""
    counted = Counted()
    state = parse_problem(json.loads(gzip.decompress((PROBLEMS / f"{name}.json.gz").read_bytes())))
    computed = compute_assignment(state, HighAvailability(), speed, counted)
    other_ms = sum(count * WORK_NS[kind] for kind, count in counted.operations.items()) / 1e6
    expected = counted.scans * EDGE_SCAN_NS / 1e6 + (other_ms if other_ms >= NEGLIGIBLE_MS else 0)
    assert counted.scans > 0
    assert computed.leader_compute_ms == pytest.approx(expected / speed)


def test_page_has_the_formula_and_the_times_of_operations() -> None:
    page = (Path(__file__).parents[3] / "docs" / "development" / "performance.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (.*) \| ([\d,.]+) \|$", page, re.MULTILINE))
    assert [float(text.replace(",", "")) for text in list(listed.values())[: len(WORK_NS)]] == list(WORK_NS.values())
    assert f"(edge scans × {EDGE_SCAN_NS} ns + other operations) / `leader_speed`" in page
    assert f"less than {NEGLIGIBLE_MS:g} ms" in page
    assert f"x {EDGE_SCAN_NS} ns" in METRIC["leader_compute_ms"].meaning


def test_every_kind_of_work_takes_time() -> None:
    assert set(WORK_NS) == set(LeaderWork)
    assert all(work_time_ms(kind, 1_000_000) > 0 for kind in LeaderWork)
