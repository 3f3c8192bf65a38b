"""Large single assignments, in the shapes of Kafka's `StreamsAssignmentScaleTest` and beyond.

Two assignments are computed: a new group, and the same group after one client in ten has left.

Source: apache/kafka, `StreamsAssignmentScaleTest.completeLargeAssignment`: one stateful subtopology; partitions,
clients, threads per client and standbys as in its tests. Kafka's test knows no racks; here there are three.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition
from simulator.random_streams import random_stream

_RACKS: Final = ("r1", "r2", "r3")
_REPLICAS: Final = 2
_RECORDS: Final = 100_000
_TASKS_PER_SUBTOPOLOGY: Final = 1_000


@dataclass(frozen=True, slots=True)
class ScaleShape:
    """The size of an assignment problem.

    Attributes:
        tasks: number of stateful tasks.
        threads: of each client.
        in_quick: whether the quick suite has it.
    """

    name: str
    tasks: int
    clients: int
    threads: int = 1
    standbys: int = 1
    in_quick: bool = False


SHAPES: Final = (
    ScaleShape("200x20", 200, 20, in_quick=True),
    ScaleShape("1000x100", 1_000, 100, in_quick=True),
    ScaleShape("large-partition-count", 6_000, 2),
    ScaleShape("large-num-consumers", 1_000, 1_000),
    ScaleShape("many-standbys", 1_000, 100, standbys=20),
    ScaleShape("many-threads-per-client", 1_000, 10, threads=1_000),
    ScaleShape("5000x500", 5_000, 500),
)
"""The shapes; the four with names are those of Kafka's test, with the standbys that all its assignors are asked for."""


def scale_state(shape: ScaleShape, seed: int) -> ApplicationState:
    """Return the state of a new group; the seed draws the racks of the replicas, and the process ids."""
    rng = random_stream(seed, "scale shape", shape.name)
    infos = [_task(row, rng) for row in range(shape.tasks)]
    lags = {info.id: _RECORDS for info in infos}
    words = rng.integers(0, 2**63, size=(shape.clients, 2)).tolist()
    clients = [
        KafkaStreamsState(ProcessId(most, least), shape.threads, _RACKS[number % len(_RACKS)], task_lags=lags)
        for number, (most, least) in enumerate(words)
    ]
    return ApplicationState.of(infos, clients, AssignmentConfigs(num_standby_replicas=shape.standbys))


def _task(row: int, rng: np.random.Generator) -> TaskInfo:
    subtopology, partition = divmod(row, _TASKS_PER_SUBTOPOLOGY)
    racks = tuple(_RACKS[column] for column in rng.permutation(len(_RACKS))[:_REPLICAS].tolist())
    source = TaskTopicPartition(TopicPartition(f"in{subtopology}", partition), True, False, racks)
    changelog = TaskTopicPartition(TopicPartition(f"log{subtopology}", partition), False, True, racks)
    return TaskInfo(TaskId(subtopology, partition), is_stateful=True, topic_partitions=(source, changelog))


def without_some_clients(state: ApplicationState) -> ApplicationState:
    """Return a state in which one client in ten, and at least one, has left."""
    kept = np.array([row for row in range(len(state.clients)) if row % 10 != 1], dtype=np.int64)
    clients = state.clients
    fewer = replace(
        clients,
        ids=tuple(clients.ids[row] for row in kept.tolist()),
        threads=clients.threads[kept],
        rack=clients.rack[kept],
        tags=tuple(clients.tags[row] for row in kept.tolist()),
        instance_ids=tuple(clients.instance_ids[row] for row in kept.tolist()) if clients.instance_ids else (),
    )
    return replace(
        state,
        clients=fewer,
        lags=state.lags[:, kept],
        previous_active=tuple(state.previous_active[row] for row in kept.tolist()),
        previous_standby=tuple(state.previous_standby[row] for row in kept.tolist()),
        client_insertion_order=None,
        previous_thread=None if state.previous_thread is None else state.previous_thread[:, kept],
    )
