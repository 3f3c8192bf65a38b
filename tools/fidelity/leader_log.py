"""Rebalances as a leader logged them, what it was shown and what it answered, and the same put to our assignor.

At DEBUG the leader writes down the state of every client before it assigns, at INFO its answer. Whatever brought the
group there, the answer to what was shown must be Kafka's.

Source: `StreamsPartitionAssignor.assignTasksToClients`, `ClientState.toString`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from assignors import registry
from assignors.model.assignment import AssignmentColumns
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState, KafkaStreamsState
from tools.fidelity.prediction import TaskDistribution
from tools.kafka_cluster.applications import RACK_TAG

_PROCESS = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_SHOWN = re.compile(
    rf"({_PROCESS})=\[activeTasks: \(\[.*?\]\) standbyTasks: \(\[.*?\]\) prevActiveTasks: \(\[(.*?)\]\) "
    r"prevStandbyTasks: \(\[(.*?)\]\) changelogOffsetTotalsByTask: \(\[.*?\]\) taskLagTotals: \(\[(.*?)\]\) "
    r"clientTags: .*? capacity: (\d+)"
)
_ANSWERED = re.compile(rf"({_PROCESS})=\[activeTasks: \(\[(.*?)\]\) standbyTasks: \(\[(.*?)\]\)\]")
_HEAD = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \[([\w.-]+?)-StreamThread-\d+\]")


@dataclass(frozen=True, slots=True)
class LoggedClientState:
    """A client as the leader saw it."""

    process_id: str
    threads: int
    active: tuple[str, ...]
    standby: tuple[str, ...]
    lags: dict[str, int]


@dataclass(frozen=True, slots=True)
class LeaderDecision:
    """What a leader was shown, clients in the order of its map, what it answered, and when."""

    at_ms: int
    shown: tuple[LoggedClientState, ...]
    answer: TaskDistribution


def logged_rebalances(log: str, client_id: str) -> Iterator[LeaderDecision]:
    """Read the rebalances that threads of one application's client led."""
    shown: tuple[LoggedClientState, ...] = ()
    for at_ms, text in _entries(log, client_id):
        if "Assigning tasks and " in text:
            shown = tuple(_shown(match) for match in _SHOWN.finditer(text))
        elif "Assignment of tasks to nodes: " in text:
            found = {match[1]: (_tasks(match[2]), _tasks(match[3])) for match in _ANSWERED.finditer(text)}
            active = {process: frozenset(tasks) for process, (tasks, _) in found.items() if tasks}
            standby = {process: frozenset(tasks) for process, (_, tasks) in found.items() if tasks}
            yield LeaderDecision(at_ms, shown, TaskDistribution(active, standby))


def warmed_up_early(rebalances: Sequence[LeaderDecision], probing_interval_ms: int) -> bool:
    """Return whether a rebalance that was not a probing one already saw a warm-up replica caught up.

    Restoring a small state takes about as long as a follow-up rebalance. Where it wins that race, the leader moves the
    active task at the follow-up rebalance, and a later probing rebalance is saved.

    Args:
        rebalances: of an application without standby replicas, in the order in which they happened.
        probing_interval_ms: `probing.rebalance.interval.ms`.
    """
    return any(
        task in rebalance.answer.standby.get(client.process_id, ()) and lag == 0
        for rebalance, following in pairwise(rebalances)
        if following.at_ms - rebalance.at_ms < probing_interval_ms
        for client in following.shown
        for task, lag in client.lags.items()
    )


def replay(
    rebalance: LeaderDecision, like: ApplicationState, racks: Mapping[str, str], assignor: str
) -> TaskDistribution:
    """What our assignor answers to what the leader was shown.

    Args:
        rebalance: what the leader was shown.
        like: a state of the same application: its tasks, partitions and configs.
        racks: where each process stands, which is its client tag as well.
        assignor: a name that `registry.load` understands.
    """
    at = range(len(like.tasks)) if like.task_insertion_order is None else like.task_insertion_order.tolist()
    tasks = [like.all_tasks[like.tasks.ids[row]] for row in at]
    clients = [
        KafkaStreamsState(
            process_id=ProcessId.parse(each.process_id),
            num_processing_threads=each.threads,
            rack_id=racks[each.process_id],
            client_tags={RACK_TAG: racks[each.process_id]},
            previous_active_tasks=_parsed(each.active),
            previous_standby_tasks=_parsed(each.standby),
            task_lags={TaskId.parse(task): lag for task, lag in each.lags.items()},
        )
        for each in rebalance.shown
    ]
    state = ApplicationState.of(tasks, clients, like.assignment_configs)
    made = registry.make(registry.load(assignor))
    columns = AssignmentColumns.of(state, made.assign(state))
    ids = [str(client) for client in state.clients.ids]
    return TaskDistribution.of(state.tasks.ids, ids, columns.active, columns.standby)


def _entries(log: str, client_id: str) -> Iterator[tuple[int, str]]:
    """What one client logged, with the time of each entry; an entry may have several lines."""
    for entry in re.split(r"^(?=\d{4}-\d\d-\d\d \d\d:)", log, flags=re.MULTILINE):
        match = _HEAD.match(entry)
        if match and match[2] == client_id:
            yield round(datetime.fromisoformat(match[1]).timestamp() * 1000), entry


def _shown(match: re.Match[str]) -> LoggedClientState:
    lags = dict(entry.split("=") for entry in _tasks(match[4]))
    return LoggedClientState(
        match[1], int(match[5]), _tasks(match[2]), _tasks(match[3]), {task: int(lag) for task, lag in lags.items()}
    )


def _tasks(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(", ") if part)


def _parsed(tasks: Sequence[str]) -> tuple[TaskId, ...]:
    return tuple(map(TaskId.parse, tasks))
