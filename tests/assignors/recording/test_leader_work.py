"""Work of Kafka's assignors outside of flows, and its time on a group leader."""

from __future__ import annotations

import pytest

from assignors.recording.leader_time import NEGLIGIBLE_MS, WORK_NS, work_time_ms
from assignors.recording.leader_work import LeaderWork
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import LegacySticky
from scenarios.problems import parse_problem
from simulator.assignment.rebalance import compute_assignment
from tests.assignors.recording.scale_problems import predicted_ms, problem, read


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


def test_every_kind_of_work_takes_time() -> None:
    assert set(WORK_NS) == set(LeaderWork)
    assert all(work_time_ms(kind, 1_000_000) > 0 for kind in LeaderWork)
