"""The time of Kafka's search on a group leader."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.flow import FlowEffort, solve_min_traffic
from assignors.leader_time import MOST_EDGES_MEASURED, leader_time_ms, look_ns

SMALL = FlowEffort(cycles=3, passes=400, nodes=100, edges=2_000)
LARGE = FlowEffort(cycles=3, passes=4_000, nodes=1_000, edges=200_000)


def test_without_flows_there_is_nothing_to_wait_for() -> None:
    assert leader_time_ms([]) == 0


def test_a_flow_takes_its_looks() -> None:
    assert leader_time_ms([SMALL]) == pytest.approx(400 * 2_000 * look_ns(2_000) / 1e6)


def test_flows_take_their_time_one_after_the_other() -> None:
    assert leader_time_ms([SMALL, LARGE, SMALL]) == pytest.approx(2 * leader_time_ms([SMALL]) + leader_time_ms([LARGE]))


def test_a_processor_of_twice_the_speed_needs_half_the_time() -> None:
    assert leader_time_ms([SMALL, LARGE], relative_speed=2) == pytest.approx(leader_time_ms([SMALL, LARGE]) / 2)


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_a_processor_without_speed_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="relative_speed must be positive"):
        leader_time_ms([SMALL], relative_speed=speed)


def test_the_same_looks_take_longer_in_a_larger_graph() -> None:
    small, large = FlowEffort(0, 100_000, 100, 1_000), FlowEffort(0, 1_000, 1_000, 100_000)
    assert leader_time_ms([large]) > 1.5 * leader_time_ms([small])


def test_beyond_what_was_measured_a_look_takes_no_longer() -> None:
    assert look_ns(MOST_EDGES_MEASURED - 1) < look_ns(MOST_EDGES_MEASURED) == look_ns(10 * MOST_EDGES_MEASURED)


def test_300_tasks_on_30_clients_take_what_they_took() -> None:
    effort = FlowEffort(cycles=80, passes=81 * 303, nodes=303, edges=17_102)
    assert leader_time_ms([effort]) == pytest.approx(6_998, rel=0.1)


def test_two_tasks_that_change_places_take_two_searches() -> None:
    effort = solve_min_traffic(np.array([[10, 0], [0, 10]]), np.array([0, 1])).effort
    nodes = 2 + 2 + 3
    edges = 2 * (2 + 4 + 2) + nodes - 1
    assert leader_time_ms([effort]) == pytest.approx(2 * nodes * edges * look_ns(edges) / 1e6)
