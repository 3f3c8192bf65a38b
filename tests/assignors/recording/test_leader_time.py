"""Time of Kafka's search on a group leader."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.flow import FlowEffort, solve_min_traffic
from assignors.recording import EDGE_SCAN_NS, leader_time_ms

SMALL = FlowEffort(cycles=3, passes=400, nodes=100, edges=2_000)
LARGE = FlowEffort(cycles=3, passes=4_000, nodes=1_000, edges=200_000)


def test_no_flows_take_no_time() -> None:
    assert leader_time_ms([]) == 0


def test_flow_takes_the_time_of_its_edge_scans() -> None:
    assert leader_time_ms([SMALL]) == pytest.approx(400 * 2_000 * EDGE_SCAN_NS / 1e6)


def test_times_of_flows_add_up() -> None:
    assert leader_time_ms([SMALL, LARGE, SMALL]) == pytest.approx(2 * leader_time_ms([SMALL]) + leader_time_ms([LARGE]))


def test_processor_of_twice_the_speed_needs_half_the_time() -> None:
    assert leader_time_ms([SMALL, LARGE], relative_speed=2) == pytest.approx(leader_time_ms([SMALL, LARGE]) / 2)


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_processor_without_speed_is_rejected(speed: float) -> None:
    with pytest.raises(ValueError, match="relative_speed must be positive"):
        leader_time_ms([SMALL], relative_speed=speed)


@pytest.mark.parametrize(
    ("effort", "took_ms"),
    [
        (FlowEffort(cycles=76, passes=77 * 333, nodes=333, edges=17_102), 4_082),
        (FlowEffort(cycles=221, passes=222 * 1_053, nodes=1_053, edges=92_852), 148_805),
    ],
)
def test_predicted_times_match_times_measured_in_kafka(effort: FlowEffort, took_ms: float) -> None:
    assert leader_time_ms([effort]) == pytest.approx(took_ms, rel=0.3)


def test_swapping_two_tasks_takes_two_searches() -> None:
    effort = solve_min_traffic(np.array([[10, 0], [0, 10]]), np.array([0, 1])).effort
    nodes = 2 + 2 + 3
    edges = 2 * (2 + 4 + 2) + nodes - 1
    assert leader_time_ms([effort]) == pytest.approx(2 * nodes * edges * EDGE_SCAN_NS / 1e6)
