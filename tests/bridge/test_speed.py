"""A call of a Java assignor costs little: no more than a call of a Python assignor in a process of its own.

At least 1,000 calls per second on a small state were measured on two idle cores. The test compares two times of the
same machine instead, the shortest of several, so that other load does not matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from assignors import registry
from assignors.containment.limits import CallLimits
from assignors.model.assignment import TaskAssignor
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

RACKS = ("az1", "az2", "az3")
WARM_UP, CALLS, BATCHES = 2_000, 200, 12


def small_state() -> ApplicationState:
    """Return six stateful tasks on three clients with two threads each, and a standby for each task."""
    tasks = [
        TaskInfo(
            TaskId(0, number),
            True,
            (
                TaskTopicPartition(TopicPartition("orders", number), True, False, RACKS[:2]),
                TaskTopicPartition(TopicPartition("changelog", number), False, True, RACKS[1:]),
            ),
        )
        for number in range(6)
    ]
    clients = []
    for number, rack in enumerate(RACKS):
        lags = {task.id: 0 if task.id.partition % 3 == number else 1_000 for task in tasks}
        held = tuple(task for task, lag in lags.items() if lag == 0)
        clients.append(KafkaStreamsState(ProcessId(0, number + 1), 2, rack, {}, held, (), lags))
    return ApplicationState.of(tasks, clients, AssignmentConfigs(num_standby_replicas=1))


def shortest(call: Callable[[], object]) -> float:
    """Return the shortest time of some calls, in seconds per call."""
    times = []
    for _ in range(BATCHES):
        started = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - started) / CALLS)
    return min(times)


def test_call_of_java_is_as_fast_as_one_of_another_python_process() -> None:
    state = small_state()
    java: TaskAssignor = registry.make(registry.load("java:kafka-streams@4.3.1:high_availability"))
    python = registry.make_contained(registry.load("tests.real_kafka.stay_put:StayPut"), {}, CallLimits(isolate=True))
    for _ in range(WARM_UP):
        java.assign(state)
    python.assign(state)
    java_s, python_s = shortest(lambda: java.assign(state)), shortest(lambda: python.assign(state))
    print(f"Java: {1 / java_s:,.0f} calls/s; isolated Python: {1 / python_s:,.0f} calls/s")
    assert java_s < 1.5 * python_s
