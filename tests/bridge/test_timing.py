"""Assignors in Java are timed in JVMs of their own: only what they do, for as long as asked."""

from __future__ import annotations

from pathlib import Path

import pytest

import assignor_sim as sim
from assignors import registry
from assignors.errors import CustomAssignorError
from assignors.jvm.assignor import JavaAssignor
from assignors.jvm.timing import TimingPlan, time_calls
from assignors.kafka_releases import BROKERS, CLIENTS
from pipeline.review.timing import SIZES, timed_state
from tests.bridge.test_review import reference

pytestmark = pytest.mark.kafka

PLAN = TimingPlan(forks=1, warmup_ms=1, iterations=2, iteration_ms=5)
STATES = [timed_state(*size) for size in SIZES[:2]]
STICKY = {release: f"java:kafka-group-coordinator@{version}:sticky" for release, version in BROKERS.items()}
HIGH_AVAILABILITY = f"java:kafka-streams@{CLIENTS['4.3']}:ha"


def made(name: str) -> JavaAssignor:
    assignor = registry.resolve(name).info.make()
    assert isinstance(assignor, JavaAssignor)
    return assignor


def test_time_and_memory_of_an_assignor_are_measured(jar: Path) -> None:
    for calls in time_calls(made(reference(jar, "Wasteful")), STATES, PLAN):
        assert len(calls.ns) == len(calls.allocated_bytes) == PLAN.iterations
        assert min(calls.ns) >= 2_000_000
        assert min(calls.allocated_bytes) >= 2**20


@pytest.mark.parametrize("name", [STICKY["4.3"], STICKY["4.4"], HIGH_AVAILABILITY])
def test_assignors_of_brokers_and_of_clients_are_timed(name: str) -> None:
    small, large = time_calls(made(name), STATES, PLAN)
    assert 0 < min(small.allocated_bytes) < min(large.allocated_bytes)
    assert min(small.ns) > 0


def test_an_assignor_that_throws_is_an_error(jar: Path) -> None:
    with pytest.raises(CustomAssignorError, match="IllegalStateException: no"):
        time_calls(made(reference(jar, "Throwing")), STATES, PLAN)


def test_only_assignors_in_java_are_timed() -> None:
    with pytest.raises(ValueError, match="high_availability is not in Java"):
        sim.review(HIGH_AVAILABILITY, "high_availability", timing=True, families=["cold"], quick=True)
    with pytest.raises(ValueError, match="timing has no configs"):
        sim.review("high_availability", timing=True, head_configs={"num.standby.replicas": 1})


def test_a_timed_application_has_lost_a_process_and_is_valid() -> None:
    state = timed_state(*SIZES[0])
    held = [task for tasks in (*state.previous_active, *state.previous_standby) for task in tasks]
    assert set(held) < set(state.tasks.ids)
    assert len(state.tasks) == SIZES[0][0]
    assert len(state.clients) == SIZES[0][1]


@pytest.mark.slow
def test_a_review_has_the_times_at_all_sizes() -> None:
    reviewed = sim.review(STICKY["4.4"], STICKY["4.3"], timing=True, families=["cold"], quick=True, workers=1)
    assert [size.tasks for size in reviewed.report.timing] == [tasks for tasks, _, _ in SIZES]
    assert "Time and memory of an assignment" in str(reviewed)


def test_a_review_of_an_assignor_that_throws_says_why_it_is_not_timed(jar: Path) -> None:
    reviewed = sim.review(
        reference(jar, "Throwing"), HIGH_AVAILABILITY, timing=True, families=["cold"], quick=True, workers=1
    )
    assert [count.invariant for count in reviewed.report.failed] == ["valid"]
    text = " ".join(str(reviewed).split())
    assert "Not timed: org.example.Misbehaving$Throwing raised java.lang.IllegalStateException: no" in text
