"""Random problems and placements with many ties: equal racks, equal lags, idle clients, unassigned tasks."""

import random
from collections import Counter

from assignors.flow import FlowEffort
from assignors.model.configs import LONG_MAX, AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import LATEST_OFFSET, UNKNOWN_OFFSET_SUM, ApplicationState, KafkaStreamsState, TaskInfo
from assignors.model.state import TaskTopicPartition as Partition
from assignors.recording.recorder import Recorder
from assignors.tasks.task_placement import TaskPlacement


class RecordedWork(Recorder):
    """Counts the flows of each effort."""

    def __init__(self) -> None:
        self.flows: Counter[FlowEffort] = Counter()

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        self.flows[effort] += times


def draw_state(chance: random.Random, max_clients: int = 14, max_tasks: int = 24) -> ApplicationState:
    """Return a random state with known racks."""
    racks = [f"az{number}" for number in range(chance.randint(1, 3))]
    ids = sorted(
        {TaskId(chance.randrange(3), chance.randrange(max_tasks)) for _ in range(chance.randint(1, max_tasks))}
    )
    tasks = [TaskInfo(task, chance.random() < 0.85, draw_partitions(chance, task, racks)) for task in ids]
    lags = chance.choice([(0, 5), (0, 0, 0, 20_000), (LATEST_OFFSET, 0, 9_999, 10_001, 50_000, UNKNOWN_OFFSET_SUM)])
    bits = chance.choice([5, 8, 62])
    clients = [
        KafkaStreamsState(
            ProcessId(chance.getrandbits(bits), number),
            num_processing_threads=chance.choice([1, 1, 2, 3]),
            rack_id=chance.choice(racks),
            client_tags={key: chance.choice("ab") for key in ("zone", "shelf") if chance.random() < 0.8},
            task_lags={task.id: chance.choice(lags) for task in tasks if task.is_stateful},
        )
        for number in range(chance.randint(1, max_clients))
    ]
    return ApplicationState.of(tasks, clients, draw_configs(chance))


def draw_partitions(chance: random.Random, task: TaskId, racks: list[str]) -> tuple[Partition, ...]:
    homes = {topic: (chance.choice(racks),) * chance.randint(1, 2) for topic in ("in", "more", "store")}
    return (
        Partition(TopicPartition(f"in{task.subtopology}", task.partition), True, False, homes["in"]),
        Partition(TopicPartition(f"more{task.subtopology}", task.partition), True, False, homes["more"]),
        Partition(TopicPartition(f"store{task.subtopology}", task.partition), False, True, homes["store"]),
    )


def draw_configs(chance: random.Random) -> AssignmentConfigs:
    return AssignmentConfigs(
        acceptable_recovery_lag=chance.choice([10_000, 10_000, 0, LONG_MAX]),
        max_warmup_replicas=chance.choice([1, 2, 5, 100]),
        num_standby_replicas=chance.randint(0, 3),
        rack_aware_assignment_tags=chance.choice([(), (), ("zone",)]),
        rack_aware_assignment_strategy=chance.choice(list(RackAwareStrategy)),
        rack_aware_traffic_cost=chance.choice([None, 0, 1, 10]),
        rack_aware_non_overlap_cost=chance.choice([None, 0, 1, 10]),
    )


def draw_placement(chance: random.Random, state: ApplicationState) -> TaskPlacement:
    """Return each task on a random client, and standbys of the stateful ones on some others."""
    placement = TaskPlacement(state)
    clients = range(len(state.clients))
    crowd = chance.choices(clients, k=chance.randint(1, len(clients)))
    for task, is_stateful in enumerate(state.tasks.stateful.tolist()):
        placement.assign_active(task, chance.choice(crowd))
        others = [client for client in clients if client != placement.owner[task]]
        if is_stateful:
            for client in chance.sample(others, min(len(others), chance.randint(0, 3))):
                placement.assign_standby(task, client)
    return placement
