"""Offsets and number of standbys, inferred from an observed group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from assignors.model.ids import TaskId
from scenarios.kafka.live.running_group import RunningGroup
from scenarios.kafka.observation.observation import ObservedProcess, ObservedSubtopology, ObservedTopic
from scenarios.kafka.observation.tasks import parse_task_id, sort_tasks

STANDBYS: Final = "num.standby.replicas"


def with_caught_up_standbys(
    group: RunningGroup, topics: Sequence[ObservedTopic]
) -> tuple[tuple[ObservedProcess, ...], tuple[str, ...]]:
    """Return the processes with current offset sums of standbys, and assumptions.

    Members of a classic group report offsets when they join, possibly days ago, while the end offsets of changelogs are
    current. If no follow-up rebalance is scheduled, the leader found all task copies caught up, and standbys have kept
    up since. Members of a streams group report offsets continuously.
    """
    is_streams, is_warming_up = group.protocol == "streams", group.next_rebalance_ms is not None
    if is_streams or is_warming_up or all(process.offset_sums is None for process in group.processes):
        return group.processes, ()
    end_offset_sums = _end_offset_sums(group.subtopologies, topics)
    processes = []
    for process in group.processes:
        standbys = {task for thread in process.threads for task in thread.standby if task in end_offset_sums}
        offset_sums = {**(process.offset_sums or {}), **{task: end_offset_sums[task] for task in standbys}}
        processes.append(replace(process, offset_sums={task: offset_sums[task] for task in sort_tasks(offset_sums)}))
    return tuple(processes), ("No probing rebalance is scheduled: all standbys are assumed to be caught up.",)


def infer_num_standbys(group: RunningGroup) -> tuple[str, tuple[str, ...]]:
    """Return the number of standbys that most stateful tasks have, and the assumption that this is the config."""
    threads = [thread for process in group.processes for thread in process.threads]
    standbys = Counter(task for thread in threads for task in thread.standby)
    stateful = {subtopology.id for subtopology in group.subtopologies if subtopology.changelogs}
    active = {task for thread in threads for task in thread.active}
    frequency = Counter(standbys[task] for task in active if parse_task_id(task).subtopology in stateful)
    number = max(sorted(frequency), key=lambda count: frequency[count], default=0)
    sentence = f"{STANDBYS} is assumed to be {number}, the number of standbys of most stateful tasks."
    return str(number), (sentence,)


def _end_offset_sums(subtopologies: Sequence[ObservedSubtopology], topics: Sequence[ObservedTopic]) -> dict[str, int]:
    """Return the sum of the end offsets of each task's changelogs."""
    end_offsets = {topic.name: topic.end_offsets for topic in topics if topic.end_offsets is not None}
    sums: dict[str, int] = {}
    for subtopology in subtopologies:
        changelogs = [end_offsets[topic] for topic in subtopology.changelogs.values() if topic in end_offsets]
        for partition in range(max(map(len, changelogs), default=0)):
            task = str(TaskId(subtopology.id, partition))
            sums[task] = sum(offsets[partition] for offsets in changelogs if partition < len(offsets))
    return sums
