"""A predicted assignment, and the tasks that an actual one has elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assignors.model.ids import TaskId
from scenarios.kafka.observation.observation import GroupSnapshot


@dataclass(frozen=True, slots=True, eq=False)
class PredictedAssignment:
    """A predicted assignment, by process id.

    Attributes:
        tasks: all tasks, in Kafka's order.
        active: the process of each active task; none of withheld ones.
        withheld: tasks that their new owners get only in the next rebalance, since another process still owns them.
        may_wait: tasks that may also be withheld, because they may move to another thread of their process.
        standby: the processes with a standby or warm-up of each task, sorted.
    """

    tasks: tuple[str, ...]
    active: Mapping[str, str]
    withheld: frozenset[str]
    may_wait: frozenset[str]
    standby: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """A task that is elsewhere than predicted.

    Attributes:
        role: `active` or `standby`.
        predicted: process ids, sorted.
        observed: process ids, sorted.
    """

    task: str
    role: str
    predicted: tuple[str, ...]
    observed: tuple[str, ...]


def find_differences(predicted: PredictedAssignment, snapshot: GroupSnapshot) -> tuple[TaskDifference, ...]:
    """Return the tasks that are not where they were predicted; if the coordinator assigns, the target is compared."""
    actives = snapshot.target_actives()
    standbys: dict[str, set[str]] = {}
    for member in snapshot.members:
        for task in member.target_standby:
            standbys.setdefault(task, set()).add(member.process_id)
    differences = []
    for task in in_kafka_order({*predicted.tasks, *actives, *standbys}):
        expected, actual = predicted.active.get(task), actives.get(task)
        if expected != actual and not (actual is None and task in predicted.may_wait):
            differences.append(TaskDifference(task, "active", _listed(expected), _listed(actual)))
        copies = tuple(sorted(standbys.get(task, ())))
        if copies != predicted.standby.get(task, ()):
            differences.append(TaskDifference(task, "standby", predicted.standby.get(task, ()), copies))
    return tuple(differences)


def in_kafka_order(tasks: Iterable[str]) -> list[str]:
    """Return tasks in Kafka's order, `2_0` before `10_0`; partitions by topic and number."""
    return sorted(tasks, key=_kafka_order)


def _kafka_order(task: str) -> tuple[str, int, int]:
    topic, _, number = task.rpartition("-")
    return (topic, 0, int(number)) if topic else ("", *TaskId.parse(task))


def _listed(process: str | None) -> tuple[str, ...]:
    return () if process is None else (process,)
