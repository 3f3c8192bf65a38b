"""A group of members without Kafka Streams on a real broker, and the same group as the state of an assignor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from assignors.model.assignment import AssignmentColumns, TaskAssignor
from assignors.model.columns import BoolArray
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import UNKNOWN_THREAD, ApplicationState, KafkaStreamsState, TaskInfo
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tests.real_kafka.streams_members.member import MemberTopology, StreamsMember, Tasks
from tests.real_kafka.streams_members.protocol import KAFKA_VERSION, ProtocolConnection

JAVA: Final = "assignorsim.RackSpread"
SOURCE: Final = Path(__file__).with_name("RackSpread.java")
SESSION_TIMEOUT_MS: Final = 10_000
BROKER_CONFIGS: Final[Mapping[str, object]] = {
    "offsets.topic.num.partitions": 1,
    "group.streams.heartbeat.interval.ms": 1_000,
    "group.streams.min.heartbeat.interval.ms": 1_000,
    "group.streams.session.timeout.ms": SESSION_TIMEOUT_MS,
    "group.streams.min.session.timeout.ms": SESSION_TIMEOUT_MS,
    "group.streams.initial.rebalance.delay.ms": 1_000,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.num.standby.replicas": 1,
}
ASSIGNORS: Final[Mapping[str, object]] = {"group.streams.assignors": f"sticky,{JAVA}"}
"""Also of the controller, which checks `streams.assignor.name`."""

PARTITIONS: Final = {"0": 7, "1": 3}
"""Number of tasks of each subtopology; the first has state."""

STATEFUL: Final = ("0",)
CONFIGS: Final = AssignmentConfigs(num_standby_replicas=1)


def topology(group: str) -> MemberTopology:
    """Return the topology of a group, with a changelog of its own."""
    sources = {name: f"input-{name}" for name in PARTITIONS}
    return MemberTopology(sources, {name: f"{group}-store-{name}" for name in STATEFUL})


@contextmanager
def coordinator(classes: Path) -> Iterator[ProtocolConnection]:
    """Run one broker with the input topics and a custom assignor; yield a connection to it."""
    spec = ClusterSpec(
        brokers=1,
        kafka_version=KAFKA_VERSION,
        broker_configs={**BROKER_CONFIGS, **ASSIGNORS},
        controller_configs=ASSIGNORS,
        classes=(classes,),
    )
    with KafkaCluster(spec) as cluster, ProtocolConnection(cluster.bootstrap_servers) as connection:
        connection.await_coordinator("any")
        connection.create_topics({f"input-{name}": number for name, number in PARTITIONS.items()})
        yield connection


def state_of(members: Sequence[StreamsMember]) -> ApplicationState:
    """Return the state of a group, whose members own the tasks that they have reported, by thread."""
    by_process: dict[str, list[StreamsMember]] = {}
    for member in sorted(members, key=lambda member: member.id):
        by_process.setdefault(member.process_id, []).append(member)
    tasks = [
        TaskInfo(TaskId(int(name), partition), is_stateful=name in STATEFUL)
        for name, number in PARTITIONS.items()
        for partition in range(number)
    ]
    clients = [
        KafkaStreamsState(
            ProcessId.parse(process),
            num_processing_threads=len(threads),
            rack_id=threads[0].rack_id,
            client_tags=threads[0].tags,
            previous_active_tasks=tuple(task for thread in threads for task in _ids(thread.active)),
            previous_standby_tasks=tuple(task for thread in threads for task in _ids(thread.standby)),
            instance_id=None if threads[0].instance_id is None else threads[0].instance_id.rpartition("-")[0],
        )
        for process, threads in by_process.items()
    ]
    state = ApplicationState.of(tasks, clients, CONFIGS)
    threads_of = np.full((len(state.tasks), len(state.clients)), UNKNOWN_THREAD, dtype=np.int64)
    for process, threads in by_process.items():
        for number, thread in enumerate(threads):
            for task in (*_ids(thread.active), *_ids(thread.standby)):
                threads_of[state.row_of_task[task], state.row_of_client[ProcessId.parse(process)]] = number
    return replace(state, previous_thread=threads_of)


def predicted_target(assignor: TaskAssignor, members: Sequence[StreamsMember]) -> dict[str, tuple[Tasks, Tasks]]:
    """Return the target assignment of an assignor: active tasks and standbys by member id."""
    state = state_of(members)
    columns = AssignmentColumns.of(state, assignor.assign(state))
    assert columns.thread is not None
    target: dict[str, tuple[Tasks, Tasks]] = {}
    for client, process in enumerate(state.clients.ids):
        threads = sorted(member.id for member in members if member.process_id == str(process))
        for number, member_id in enumerate(threads):
            on_thread = columns.thread[:, client] == number
            target[member_id] = (
                by_subtopology(state, (columns.active == client) & on_thread),
                by_subtopology(state, columns.standby[:, client] & on_thread),
            )
    return target


def _ids(tasks: Tasks) -> list[TaskId]:
    return [TaskId(int(name), partition) for name, partitions in tasks.items() for partition in sorted(partitions)]


def by_subtopology(state: ApplicationState, rows: BoolArray) -> Tasks:
    """Return the tasks in some rows, as partitions by subtopology."""
    partitions: dict[str, set[int]] = {}
    for row in np.flatnonzero(rows).tolist():
        task = state.tasks.ids[row]
        partitions.setdefault(str(task.subtopology), set()).add(task.partition)
    return {name: frozenset(numbers) for name, numbers in partitions.items()}
