"""How far the copies of tasks are, and how many there are to be, as far as that can be told from outside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from assignors.model.ids import TaskId
from scenarios.kafka.live.classic_group import sorted_tasks, task_id
from scenarios.kafka.live.running_group import RunningGroup
from scenarios.kafka.observation.observation import ObservedProcess, ObservedSubtopology, ObservedTopic

STANDBYS: Final = "num.standby.replicas"


def with_standbys_level(
    running: RunningGroup, topics: Sequence[ObservedTopic]
) -> tuple[tuple[ObservedProcess, ...], tuple[str, ...]]:
    """Offset sums of standbys as they are now, as far as they are known, and what was assumed.

    Members of a classic group tell them when they join, which may be days ago, and the ends of changelogs are those of
    now. Where no follow-up rebalance is due, the leader found all copies caught up, and standbys have read on since.
    Those of a streams group tell them time and again.
    """
    is_streams, warms_up = running.protocol == "streams", running.next_rebalance_ms is not None
    if is_streams or warms_up or all(process.copies is None for process in running.processes):
        return running.processes, ()
    ends = _task_ends(running.subtopologies, topics)
    level = []
    for process in running.processes:
        standbys = {task for thread in process.threads for task in thread.standby if task in ends}
        copies = {**(process.copies or {}), **{task: ends[task] for task in standbys}}
        level.append(replace(process, copies={task: copies[task] for task in sorted_tasks(copies)}))
    return tuple(level), ("No probing rebalance is due: all standbys are taken to be caught up.",)


def count_standbys(running: RunningGroup) -> tuple[str, tuple[str, ...]]:
    """The number of standbys that most stateful tasks have, and the sentence that says so."""
    threads = [thread for process in running.processes for thread in process.threads]
    standbys = Counter(task for thread in threads for task in thread.standby)
    stateful = {each.id for each in running.subtopologies if each.changelogs}
    active = {task for thread in threads for task in thread.active}
    counts = Counter(standbys[task] for task in active if task_id(task).subtopology in stateful)
    most = max(sorted(counts), key=lambda count: counts[count], default=0)
    return str(most), (f"{STANDBYS} is taken to be {most}, which is how many standbys most stateful tasks have.",)


def _task_ends(subtopologies: Sequence[ObservedSubtopology], topics: Sequence[ObservedTopic]) -> dict[str, int]:
    """The sum of the end offsets of each task's changelogs."""
    ends = {topic.name: topic.end_offsets for topic in topics if topic.end_offsets is not None}
    sums: dict[str, int] = {}
    for each in subtopologies:
        changelogs = [ends[topic] for topic in each.changelogs.values() if topic in ends]
        for partition in range(max(map(len, changelogs), default=0)):
            of_partition = [found[partition] for found in changelogs if partition < len(found)]
            sums[str(TaskId(each.id, partition))] = sum(of_partition)
    return sums
