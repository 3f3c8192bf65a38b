"""Input is processed or waits; none is lost and none is done twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.flows.processing import Processing

INF = float("inf")
RUNS, STOPS = np.array([True]), np.array([False])
THREAD = np.array([0])


def one(records_per_s: float = 10.0, capacity: float = 30.0) -> Processing:
    return Processing(np.array([records_per_s], dtype=np.float64), np.array([capacity], dtype=np.float64))


def test_the_input_of_a_task_that_does_not_run_waits() -> None:
    processing = one()
    processing.update_rates(STOPS, THREAD)
    processing.advance(60)
    assert processing.backlog_s.tolist() == [60]
    assert processing.take_work().tolist() == [0]


def test_a_task_that_runs_takes_what_comes_in() -> None:
    processing = one()
    processing.update_rates(RUNS, THREAD)
    processing.advance(60)
    assert processing.backlog_s.tolist() == [0]
    assert processing.rate.tolist() == [1]
    assert processing.take_work().tolist() == [60]
    assert processing.take_work().tolist() == [0], "it is taken once"


def test_a_task_catches_up_as_fast_as_its_thread_can() -> None:
    processing = one(10, 30)
    processing.update_rates(STOPS, THREAD)
    processing.advance(60)
    processing.update_rates(RUNS, THREAD)
    assert processing.rate.tolist() == [3]
    assert processing.next_change_s() == 30
    processing.advance(30)
    assert processing.backlog_s.tolist() == [0]
    assert processing.max_processing_delay_s.tolist() == [60]
    processing.update_rates(RUNS, THREAD)
    assert processing.rate.tolist() == [1]
    assert processing.next_change_s() == INF


def test_a_thread_without_limit_catches_up_at_once() -> None:
    processing = one(capacity=INF)
    processing.update_rates(STOPS, THREAD)
    processing.advance(60)
    processing.update_rates(RUNS, THREAD)
    assert processing.backlog_s.tolist() == [0]
    assert processing.take_work().tolist() == [60]
    assert processing.max_processing_delay_s.tolist() == [60]


def test_a_thread_that_cannot_keep_up_falls_behind_for_good() -> None:
    processing = one(10, 5)
    processing.update_rates(RUNS, THREAD)
    processing.advance(60)
    processing.update_rates(RUNS, THREAD)
    processing.advance(60)
    assert processing.backlog_s.tolist() == [60]
    assert processing.next_change_s() == INF


def test_tasks_share_their_thread_and_one_that_keeps_up_leaves_the_rest() -> None:
    processing = Processing(np.array([10.0, 10.0, 10.0]), np.array([50.0, 10.0]))
    threads = np.array([0, 0, 1])
    processing.update_rates(np.array([True, False, True]), threads)
    processing.advance(40)
    processing.update_rates(np.array([True, True, True]), threads)
    assert processing.rate.tolist() == [1, 4, 1]
    assert processing.next_change_s() == pytest.approx(40 / 3)


def test_a_task_without_input_has_nothing_to_catch_up_with() -> None:
    processing = one(records_per_s=0)
    processing.update_rates(STOPS, THREAD)
    processing.advance(60)
    processing.update_rates(RUNS, THREAD)
    assert processing.backlog_s.tolist() == [0]
    assert processing.rate.tolist() == [1], "time of no input passes as it comes"


def test_more_traffic_than_usual_is_more_work() -> None:
    processing = one(10, 30)
    processing.update_rates(RUNS, THREAD)
    processing.set_input(2.0)
    assert processing.rate.tolist() == [2]
    processing.set_input(4.0)
    assert processing.rate.tolist() == [3], "the thread can do no more"
    processing.advance(10)
    assert processing.backlog_s.tolist() == [10]
    processing.set_input(0.0)
    assert processing.next_change_s() == pytest.approx(10 / 3)


def test_a_task_that_has_caught_up_a_little_before_now_did_no_more_than_came_in() -> None:
    processing = one(10, 1_000_000)
    processing.update_rates(STOPS, THREAD)
    processing.advance(1)
    processing.update_rates(RUNS, THREAD)
    processing.advance(0.001)
    assert processing.take_work().tolist() == pytest.approx([1.001])
    assert processing.backlog_s.tolist() == [0]


@st.composite
def happenings(draw: st.DrawFn) -> tuple[Processing, list[tuple[float, float, list[bool], list[int]]]]:
    """Tasks on threads, and for some spans of time: how long, how much traffic, what runs, and where."""
    tasks, threads = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    usual = draw(st.lists(st.sampled_from((0.0, 1.0, 7.0, 100.0)), min_size=tasks, max_size=tasks))
    capacity = draw(st.lists(st.sampled_from((0.5, 20.0, 1_000.0, INF)), min_size=threads, max_size=threads))
    runs = st.lists(st.booleans(), min_size=tasks, max_size=tasks)
    where = st.lists(st.integers(0, threads - 1), min_size=tasks, max_size=tasks)
    span = st.tuples(st.floats(0, 1_000), st.sampled_from((0.0, 0.5, 1.0, 3.0)), runs, where)
    return Processing(np.array(usual), np.array(capacity)), draw(st.lists(span, max_size=8))


@given(happenings())
def test_what_comes_in_was_processed_or_waits(
    case: tuple[Processing, list[tuple[float, float, list[bool], list[int]]]],
):
    processing, spans = case
    came = 0.0
    for seconds, factor, runs, where in spans:
        processing.set_input(factor)
        processing.update_rates(np.array(runs), np.array(where))
        assert not processing.rate[~np.array(runs)].any()
        processing.advance(seconds)
        came += factor * seconds
        done = processing.work_s
        assert (processing.backlog_s >= 0).all()
        assert processing.backlog_s + done == pytest.approx(np.full(len(done), came), rel=1e-9, abs=1e-6)
        assert (processing.max_processing_delay_s >= processing.backlog_s).all()
