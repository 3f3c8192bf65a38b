"""Task ids in Kafka's text form (`0_3`)."""

from __future__ import annotations

from collections.abc import Iterable

from assignors.model.ids import TaskId
from scenarios.kafka.observation.errors import ObservationError


def parse_task_id(task: str) -> TaskId:
    """Parse a task id.

    Raises ObservationError if the text is not a task id, or belongs to a named topology, which cannot be simulated.
    """
    try:
        return TaskId.parse(task)
    except ValueError as error:
        raise ObservationError(f"{error}; tasks of named topologies cannot be simulated") from None


def sort_tasks(tasks: Iterable[str]) -> tuple[str, ...]:
    """Return distinct tasks in Kafka's order, `2_0` before `10_0`."""
    return tuple(map(str, sorted(set(map(parse_task_id, tasks)))))
