"""Assignments as one-line tables, `A: 0_0 (0_1) | B: 0_1`: clients in order, standbys in parentheses.

A client may have threads, `A*2:`, and a number that differs from its position in the alphabet, `A#17:`. The number is
its process id, and its bin in a small hash table.
"""

import re

from assignors.model.assignment import TaskAssignment, TaskType
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition

CLIENT = re.compile(r"(?P<name>[A-Z])(#(?P<number>\d+))?(\*(?P<threads>\d+))?(@(?P<rack>\w+))?:(?P<tasks>.*)")


def client(text: str) -> KafkaStreamsState:
    match = CLIENT.fullmatch(text.strip())
    assert match is not None, text
    active = [word for word in match["tasks"].split() if not word.startswith("(")]
    standby = [word.strip("()") for word in match["tasks"].split() if word.startswith("(")]
    return KafkaStreamsState(
        ProcessId(0, int(match["number"] or ord(match["name"]) - ord("A") + 1)),
        num_processing_threads=int(match["threads"] or 1),
        rack_id=match["rack"],
        previous_active_tasks=tuple(map(TaskId.parse, active)),
        previous_standby_tasks=tuple(map(TaskId.parse, standby)),
    )


def task(text: str, racks: dict[str, tuple[str | None, ...]] | None = None, stateless: str = "") -> TaskInfo:
    """Return a task that reads `in-P` and, unless it is stateless, `store-P`, with replicas in the given racks."""
    task_id = TaskId.parse(text)
    topics = {f"in{task_id.subtopology}-{task_id.partition}": True}
    if text not in stateless.split():
        topics[f"store{task_id.subtopology}-{task_id.partition}"] = False
    return TaskInfo(
        task_id,
        text not in stateless.split(),
        tuple(
            TaskTopicPartition(TopicPartition.parse(name), is_source, not is_source, (racks or {}).get(name))
            for name, is_source in topics.items()
        ),
    )


def state(
    before: str,
    tasks: str,
    standbys: int = 0,
    stateless: str = "",
    racks: dict[str, tuple[str | None, ...]] | None = None,
    strategy: str = "none",
    costs: tuple[int, int] | None = None,
) -> ApplicationState:
    """Return the state of the group leader: previous tasks of clients, listed in this order, and the current tasks."""
    return ApplicationState.of(
        [task(text, racks, stateless) for text in tasks.split()],
        [client(text) for text in before.split("|")] if before else [],
        AssignmentConfigs(
            num_standby_replicas=standbys,
            rack_aware_assignment_strategy=RackAwareStrategy.parse(strategy),
            rack_aware_traffic_cost=None if costs is None else costs[0],
            rack_aware_non_overlap_cost=None if costs is None else costs[1],
        ),
    )


def table(assignment: TaskAssignment) -> str:
    """Return the table of an assignment; clients are named A, B, C… in the order of process ids."""
    lines = []
    for position, given in enumerate(assignment.assignment):
        words = [str(held) for held in sorted(given.tasks) if given.tasks[held] is TaskType.ACTIVE]
        words += [f"({held})" for held in sorted(given.tasks) if given.tasks[held] is TaskType.STANDBY]
        lines.append(" ".join([f"{chr(ord('A') + position)}:", *words]))
    return " | ".join(lines)
