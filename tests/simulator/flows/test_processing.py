"""Input is processed once or waits in the backlog."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.flows.processing import Processing

INF = float("inf")
RUNS, STOPS = np.array([True]), np.array([False])
THREAD = np.array([0])


def single_task(records_per_s: float = 10.0, capacity: float = 30.0) -> Processing:
    return Processing(np.array([records_per_s], dtype=np.float64), np.array([capacity], dtype=np.float64))


def test_input_of_a_stopped_task_waits() -> None:
    processing = single_task()
    processing.update_rates(STOPS, THREAD)
    processing.advance(60)
    assert processing.backlog_s.tolist() == [60]
    assert processing.take_work().tolist() == [0]


def test_running_task_processes_its_input() -> None:
    processing = single_task()
    processing.update_rates(RUNS, THREAD)
    processing.advance(60)
    assert processing.backlog_s.tolist() == [0]
    assert processing.rate.tolist() == [1]
    assert processing.take_work().tolist() == [60]
    assert processing.take_work().tolist() == [0], "work is returned once"


def test_backlog_is_processed_at_the_speed_of_the_thread() -> None:
    processing = single_task(10, 30)
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


def test_thread_without_limit_processes_backlog_immediately() -> None:
    processing = single_task(capacity=INF)
    processing.update_rates(STOPS, THREAD)
    processing.advance(60)
    processing.update_rates(RUNS, THREAD)
    assert processing.backlog_s.tolist() == [0]
    assert processing.take_work().tolist() == [60]
    assert processing.max_processing_delay_s.tolist() == [60]


def test_backlog_grows_on_a_thread_that_cannot_keep_up() -> None:
    processing = single_task(10, 5)
    processing.update_rates(RUNS, THREAD)
    processing.advance(60)
    processing.update_rates(RUNS, THREAD)
    processing.advance(60)
    assert processing.backlog_s.tolist() == [60]
    assert processing.next_change_s() == INF


def test_tasks_share_their_thread() -> None:
    processing = Processing(np.array([10.0, 10.0, 10.0]), np.array([50.0, 10.0]))
    threads = np.array([0, 0, 1])
    processing.update_rates(np.array([True, False, True]), threads)
    processing.advance(40)
    processing.update_rates(np.array([True, True, True]), threads)
    assert processing.rate.tolist() == [1, 4, 1]
    assert processing.next_change_s() == pytest.approx(40 / 3)


def test_task_without_input_has_no_backlog() -> None:
    processing = single_task(records_per_s=0)
    processing.update_rates(STOPS, THREAD)
    processing.advance(60)
    processing.update_rates(RUNS, THREAD)
    assert processing.backlog_s.tolist() == [0]
    assert processing.rate.tolist() == [1], "no backlog is left to process"


def test_rate_follows_the_input() -> None:
    processing = single_task(10, 30)
    processing.update_rates(RUNS, THREAD)
    processing.set_input(2.0)
    assert processing.rate.tolist() == [2]
    processing.set_input(4.0)
    assert processing.rate.tolist() == [3], "the thread is at its limit"
    processing.advance(10)
    assert processing.backlog_s.tolist() == [10]
    processing.set_input(0.0)
    assert processing.next_change_s() == pytest.approx(10 / 3)


def test_work_never_exceeds_the_input() -> None:
    processing = single_task(10, 1_000_000)
    processing.update_rates(STOPS, THREAD)
    processing.advance(1)
    processing.update_rates(RUNS, THREAD)
    processing.advance(0.001)
    assert processing.take_work().tolist() == pytest.approx([1.001])
    assert processing.backlog_s.tolist() == [0]


@st.composite
def random_histories(draw: st.DrawFn) -> tuple[Processing, list[tuple[float, float, list[bool], list[int]]]]:
    """Draw tasks on threads and time spans: their length, the traffic, the running tasks and their threads."""
    tasks, threads = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    usual = draw(st.lists(st.sampled_from((0.0, 1.0, 7.0, 100.0)), min_size=tasks, max_size=tasks))
    capacity = draw(st.lists(st.sampled_from((0.5, 20.0, 1_000.0, INF)), min_size=threads, max_size=threads))
    runs = st.lists(st.booleans(), min_size=tasks, max_size=tasks)
    thread_of_task = st.lists(st.integers(0, threads - 1), min_size=tasks, max_size=tasks)
    span = st.tuples(st.floats(0, 1_000), st.sampled_from((0.0, 0.5, 1.0, 3.0)), runs, thread_of_task)
    return Processing(np.array(usual), np.array(capacity)), draw(st.lists(span, max_size=8))


@given(random_histories())
def test_input_equals_processed_work_plus_backlog(
    case: tuple[Processing, list[tuple[float, float, list[bool], list[int]]]],
) -> None:
    processing, spans = case
    input_s = 0.0
    for seconds, factor, runs, threads in spans:
        processing.set_input(factor)
        processing.update_rates(np.array(runs), np.array(threads))
        assert not processing.rate[~np.array(runs)].any()
        processing.advance(seconds)
        input_s += factor * seconds
        work_s = processing.work_s
        assert (processing.backlog_s >= 0).all()
        assert processing.backlog_s + work_s == pytest.approx(np.full(len(work_s), input_s), rel=1e-9, abs=1e-6)
        assert (processing.max_processing_delay_s >= processing.backlog_s).all()
