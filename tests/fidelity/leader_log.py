"""Leader decisions from a leader's log, and the same decisions by the reimplemented assignor.

The leader logs the state of every client before an assignment at DEBUG, and the assignment at INFO. Whatever happened
before, the reimplementation must return the same assignment for the same state.

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
from scenarios.kafka.naming import UUID_PATTERN
from tests.fidelity.prediction import TaskDistribution
from tests.kafka_cluster.applications import RACK_TAG

_CLIENT_STATE = re.compile(
    rf"({UUID_PATTERN})=\[activeTasks: \(\[.*?\]\) standbyTasks: \(\[.*?\]\) prevActiveTasks: \(\[(.*?)\]\) "
    r"prevStandbyTasks: \(\[(.*?)\]\) changelogOffsetTotalsByTask: \(\[.*?\]\) taskLagTotals: \(\[(.*?)\]\) "
    r"clientTags: .*? capacity: (\d+)"
)
_CLIENT_ASSIGNMENT = re.compile(rf"({UUID_PATTERN})=\[activeTasks: \(\[(.*?)\]\) standbyTasks: \(\[(.*?)\]\)\]")
_ENTRY_START = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \[([\w.-]+?)-StreamThread-\d+\]")


@dataclass(frozen=True, slots=True)
class LoggedClientState:
    """State of a client before an assignment.

    Attributes:
        process_id: Process id.
        threads: Number of stream threads.
        active: Previous active tasks.
        standby: Previous standby tasks.
        lags: Lag by task.
    """

    process_id: str
    threads: int
    active: tuple[str, ...]
    standby: tuple[str, ...]
    lags: dict[str, int]


@dataclass(frozen=True, slots=True)
class LeaderDecision:
    """A logged assignment with its input.

    Attributes:
        at_ms: Time since 1970.
        clients: State of the clients, in the order of the leader's map.
        assignment: The assignment.
    """

    at_ms: int
    clients: tuple[LoggedClientState, ...]
    assignment: TaskDistribution


def parse_leader_decisions(log: str, client_id: str) -> Iterator[LeaderDecision]:
    """Yield the decisions of the threads of one client."""
    clients: tuple[LoggedClientState, ...] = ()
    for at_ms, text in _entries(log, client_id):
        if "Assigning tasks and " in text:
            clients = tuple(_client_state(match) for match in _CLIENT_STATE.finditer(text))
        elif "Assignment of tasks to nodes: " in text:
            tasks = {
                match[1]: (_split_tasks(match[2]), _split_tasks(match[3]))
                for match in _CLIENT_ASSIGNMENT.finditer(text)
            }
            active = {process: frozenset(actives) for process, (actives, _) in tasks.items() if actives}
            standby = {process: frozenset(standbys) for process, (_, standbys) in tasks.items() if standbys}
            yield LeaderDecision(at_ms, clients, TaskDistribution(active, standby))


def warmed_up_early(
    decisions: Sequence[LeaderDecision], probing_interval_ms: int, acceptable_recovery_lag: int
) -> bool:
    """Return whether a follow-up rebalance, not a probing one, already found a warm-up replica caught up.

    Restoring a small state takes about as long as a follow-up rebalance. If it is faster, the leader moves the active
    task at the follow-up rebalance, which saves a later probing rebalance.

    Args:
        decisions: Decisions of an application without standby replicas, by time.
        probing_interval_ms: `probing.rebalance.interval.ms`.
        acceptable_recovery_lag: `acceptable.recovery.lag`. With exactly-once, a warm-up that has read everything still
            has a lag of 1 per changelog.
    """
    return any(
        task in decision.assignment.standby.get(client.process_id, ()) and lag <= acceptable_recovery_lag
        for decision, following in pairwise(decisions)
        if following.at_ms - decision.at_ms < probing_interval_ms
        for client in following.clients
        for task, lag in client.lags.items()
    )


def replay(
    decision: LeaderDecision, template: ApplicationState, racks: Mapping[str, str], assignor: str, kafka: str
) -> TaskDistribution:
    """Return the assignment of the reimplemented assignor for the input of a leader decision.

    Args:
        decision: Provides the state of the clients.
        template: A state of the same application; provides tasks, partitions and configs.
        racks: Rack of each process, which is its client tag as well.
        assignor: Name of the assignor, as `assignors.registry.load` accepts it.
        kafka: Release of the leader.
    """
    order = template.task_insertion_order
    rows = range(len(template.tasks)) if order is None else order.tolist()
    tasks = [template.all_tasks[template.tasks.ids[row]] for row in rows]
    clients = [
        KafkaStreamsState(
            process_id=ProcessId.parse(client.process_id),
            num_processing_threads=client.threads,
            rack_id=racks[client.process_id],
            client_tags={RACK_TAG: racks[client.process_id]},
            previous_active_tasks=_parse_tasks(client.active),
            previous_standby_tasks=_parse_tasks(client.standby),
            task_lags={TaskId.parse(task): lag for task, lag in client.lags.items()},
        )
        for client in decision.clients
    ]
    state = ApplicationState.of(tasks, clients, template.assignment_configs)
    columns = AssignmentColumns.of(state, registry.make(registry.load(assignor).in_group(kafka, kafka)).assign(state))
    process_ids = [str(client) for client in state.clients.ids]
    return TaskDistribution.of(state.tasks.ids, process_ids, columns.active, columns.standby)


def _entries(log: str, client_id: str) -> Iterator[tuple[int, str]]:
    """Yield the time and text of the log entries of one client; an entry may have several lines."""
    for entry in re.split(r"^(?=\d{4}-\d\d-\d\d \d\d:)", log, flags=re.MULTILINE):
        match = _ENTRY_START.match(entry)
        if match and match[2] == client_id:
            yield round(datetime.fromisoformat(match[1]).timestamp() * 1000), entry


def _client_state(match: re.Match[str]) -> LoggedClientState:
    lags = dict(entry.split("=") for entry in _split_tasks(match[4]))
    return LoggedClientState(
        process_id=match[1],
        threads=int(match[5]),
        active=_split_tasks(match[2]),
        standby=_split_tasks(match[3]),
        lags={task: int(lag) for task, lag in lags.items()},
    )


def _split_tasks(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(", ") if part)


def _parse_tasks(tasks: Sequence[str]) -> tuple[TaskId, ...]:
    return tuple(map(TaskId.parse, tasks))
