"""Random problems and placements with many ties: equal racks, equal lags, idle clients, unassigned tasks."""

import random
from collections import Counter

from assignors.flow import FlowEffort
from assignors.model.configs import LONG_MAX, AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import LATEST_OFFSET, UNKNOWN_OFFSET_SUM, ApplicationState, KafkaStreamsState, TaskInfo
from assignors.model.state import TaskTopicPartition as Partition
from assignors.recording import Recorder
from assignors.tasks.task_placement import TaskPlacement


class RecordedWork(Recorder):
    """Counts the flows of each effort."""

    def __init__(self) -> None:
        self.flows: Counter[FlowEffort] = Counter()

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        self.flows[effort] += times


def draw_state(rng: random.Random, max_clients: int = 14, max_tasks: int = 24) -> ApplicationState:
    """Return a random state with known racks."""
    racks = [f"az{number}" for number in range(rng.randint(1, 3))]
    ids = sorted({TaskId(rng.randrange(3), rng.randrange(max_tasks)) for _ in range(rng.randint(1, max_tasks))})
    tasks = [TaskInfo(task, rng.random() < 0.85, draw_partitions(rng, task, racks)) for task in ids]
    lags = rng.choice([(0, 5), (0, 0, 0, 20_000), (LATEST_OFFSET, 0, 9_999, 10_001, 50_000, UNKNOWN_OFFSET_SUM)])
    bits = rng.choice([5, 8, 62])
    clients = [
        KafkaStreamsState(
            ProcessId(rng.getrandbits(bits), number),
            num_processing_threads=rng.choice([1, 1, 2, 3]),
            rack_id=rng.choice(racks),
            client_tags={key: rng.choice("ab") for key in ("zone", "shelf") if rng.random() < 0.8},
            task_lags={task.id: rng.choice(lags) for task in tasks if task.is_stateful},
        )
        for number in range(rng.randint(1, max_clients))
    ]
    return ApplicationState.of(tasks, clients, draw_configs(rng))


def draw_partitions(rng: random.Random, task: TaskId, racks: list[str]) -> tuple[Partition, ...]:
    homes = {topic: (rng.choice(racks),) * rng.randint(1, 2) for topic in ("in", "more", "store")}
    return (
        Partition(TopicPartition(f"in{task.subtopology}", task.partition), True, False, homes["in"]),
        Partition(TopicPartition(f"more{task.subtopology}", task.partition), True, False, homes["more"]),
        Partition(TopicPartition(f"store{task.subtopology}", task.partition), False, True, homes["store"]),
    )


def draw_configs(rng: random.Random) -> AssignmentConfigs:
    return AssignmentConfigs(
        acceptable_recovery_lag=rng.choice([10_000, 10_000, 0, LONG_MAX]),
        max_warmup_replicas=rng.choice([1, 2, 5, 100]),
        num_standby_replicas=rng.randint(0, 3),
        rack_aware_assignment_tags=rng.choice([(), (), ("zone",)]),
        rack_aware_assignment_strategy=rng.choice(list(RackAwareStrategy)),
        rack_aware_traffic_cost=rng.choice([None, 0, 1, 10]),
        rack_aware_non_overlap_cost=rng.choice([None, 0, 1, 10]),
    )


def draw_placement(rng: random.Random, state: ApplicationState) -> TaskPlacement:
    """Return each task on a random client, and standbys of the stateful ones on some others."""
    placement = TaskPlacement(state)
    clients = range(len(state.clients))
    crowd = rng.choices(clients, k=rng.randint(1, len(clients)))
    for task, is_stateful in enumerate(state.tasks.stateful.tolist()):
        placement.assign_active(task, rng.choice(crowd))
        others = [client for client in clients if client != placement.owner[task]]
        if is_stateful:
            for client in rng.sample(others, min(len(others), rng.randint(0, 3))):
                placement.assign_standby(task, client)
    return placement
