"""Time two assignors in Java at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final

from assignors import registry
from assignors.jvm.assignor import JavaAssignor
from assignors.jvm.timing import TimedCalls, TimingPlan, time_calls
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import LATEST_OFFSET, ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition
from pipeline.review.case_runs import Reviewed
from reports.analysis.review.timing import TimedSize

SIZES: Final = ((20, 3, 2), (100, 10, 2), (500, 25, 4), (2_000, 50, 8))
"""Tasks, processes, and threads of each process."""

WHOLE: Final = TimingPlan(forks=5, warmup_ms=2_000, iterations=5, iteration_ms=500)
QUICK: Final = TimingPlan(forks=2, warmup_ms=150, iterations=2, iteration_ms=75)

_RACKS: Final = 3
_RECORDS: Final = 1_000_000
"""Records of each changelog."""


def compare_times(
    assignors: Sequence[JavaAssignor], plan: TimingPlan, on_progress: Callable[[str], None]
) -> tuple[TimedSize, ...]:
    """Time the baseline and the assignor under review in turn, each in JVMs of its own.

    Raises CustomAssignorError if one throws, or does not answer in time.
    """
    states = [timed_state(*size) for size in SIZES]
    forks: list[list[list[TimedCalls]]] = []
    for fork in range(plan.forks):
        on_progress(f"timing, {fork + 1} of {plan.forks}")
        forks.append([time_calls(assignor, states, plan) for assignor in assignors])
    sizes = []
    for number, (tasks, processes, threads) in enumerate(SIZES):
        of_base, of_head = ([fork[side][number] for fork in forks] for side in (0, 1))
        sizes.append(
            TimedSize(
                tasks,
                processes * threads,
                base_ns=tuple(fmean(calls.ns) for calls in of_base),
                head_ns=tuple(fmean(calls.ns) for calls in of_head),
                base_bytes=fmean(fmean(calls.allocated_bytes) for calls in of_base),
                head_bytes=fmean(fmean(calls.allocated_bytes) for calls in of_head),
            )
        )
    return tuple(sizes)


def java_assignor(reviewed: Reviewed) -> JavaAssignor:
    """Return an assignor that can be timed; raise ValueError if it is not in Java."""
    resolved = registry.resolve(reviewed.assignor)
    assignor = resolved.info.make(**resolved.parameters)
    if not isinstance(assignor, JavaAssignor):
        raise ValueError(f"{reviewed.name} is not in Java: only assignors in Java, such as java:CLASS@JAR, are timed")
    return assignor.with_limits(reviewed.limits)


def timed_state(tasks: int, processes: int, threads: int) -> ApplicationState:
    """Return an application of which one process has just left.

    Half of the tasks have state, and a standby; all are spread evenly over the processes, which are in three racks.
    """
    stateful = tasks // 2
    ids = [TaskId(0, number) for number in range(stateful)] + [TaskId(1, number) for number in range(tasks - stateful)]
    infos = []
    for task in ids:
        racks = tuple(f"az{(task.partition + copy) % _RACKS}" for copy in range(2))
        partitions = [TaskTopicPartition(TopicPartition(f"in-{task.subtopology}", task.partition), True, False, racks)]
        if task.subtopology == 0:
            changelog = TopicPartition("app-store-changelog", task.partition)
            partitions.append(TaskTopicPartition(changelog, False, True, racks))
        infos.append(TaskInfo(task, task.subtopology == 0, tuple(partitions)))
    before = processes + 1
    clients = []
    for number in range(processes):
        active = tuple(task for place, task in enumerate(ids) if place % before == number)
        standby = tuple(task for place, task in enumerate(ids[:stateful]) if (place + 1) % before == number)
        lags = dict.fromkeys(ids[:stateful], _RECORDS)
        lags |= dict.fromkeys(standby, 0) | dict.fromkeys(filter(lags.__contains__, active), LATEST_OFFSET)
        clients.append(
            KafkaStreamsState(
                ProcessId(0, number + 1),
                threads,
                f"az{number % _RACKS}",
                previous_active_tasks=active,
                previous_standby_tasks=standby,
                task_lags=lags,
            )
        )
    return ApplicationState.of(infos, clients, AssignmentConfigs(num_standby_replicas=1))
