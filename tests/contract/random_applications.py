"""Random applications whose clients join and leave, to check the contract of assignors.

A seed reproduces the tasks, the clients, and all events. As in Kafka's own convergence test, a copy is caught up one
round after it was assigned.
"""

from __future__ import annotations

import dataclasses
import random
import uuid
from dataclasses import dataclass, field

from assignors.model.assignment import TaskAssignment, TaskAssignor, TaskType
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import LATEST_OFFSET, ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition

RACKS = ("rack-a", "rack-b", "rack-c")
END_OFFSET = 50_000


@dataclass
class RandomApplication:
    """An application at one point in time."""

    rng: random.Random
    tasks: list[TaskInfo]
    configs: AssignmentConfigs
    clients: dict[ProcessId, KafkaStreamsState] = field(default_factory=dict)
    former_clients: list[KafkaStreamsState] = field(default_factory=list)
    history: list[str] = field(default_factory=list)

    @classmethod
    def from_seed(cls, seed: int) -> RandomApplication:
        rng = random.Random(seed)
        application = cls(rng, random_tasks(rng), random_configs(rng))
        for _ in range(rng.randint(1, 8)):
            application.join()
        return application

    def state(self) -> ApplicationState:
        return ApplicationState.of(self.tasks, self.clients.values(), self.configs)

    def join(self) -> None:
        process_id = ProcessId.of(uuid.UUID(int=self.rng.getrandbits(128)))
        tags = {"zone": self.rng.choice("xyz"), "cluster": self.rng.choice("12")}
        client = KafkaStreamsState(
            process_id,
            num_processing_threads=self.rng.randint(1, 4),
            rack_id=self.rng.choice(RACKS),
            client_tags=tags,
            task_lags={task.id: END_OFFSET for task in self.tasks if task.is_stateful},
        )
        self.clients[process_id] = client
        self.history.append(f"{process_id} joins")

    def leave(self) -> None:
        process_id = self.rng.choice(sorted(self.clients))
        self.former_clients.append(self.clients.pop(process_id))
        self.history.append(f"{process_id} leaves")

    def rejoin(self) -> None:
        client = self.former_clients.pop(self.rng.randrange(len(self.former_clients)))
        lags = {task: max(lag, 0) for task, lag in client.task_lags.items()}
        self.clients[client.process_id] = dataclasses.replace(
            client, previous_active_tasks=(), previous_standby_tasks=(), task_lags=lags
        )
        self.history.append(f"{client.process_id} comes back")

    def apply_random_event(self) -> None:
        if self.former_clients and self.rng.random() < 0.3:
            self.rejoin()
        elif len(self.clients) > 1 and self.rng.random() < 0.5:
            self.leave()
        else:
            self.join()

    def apply(self, assignment: TaskAssignment) -> None:
        """Let clients catch up on their assigned copies; other copies fall behind."""
        stateful = {task.id for task in self.tasks if task.is_stateful}
        for given in assignment.assignment:
            before = self.clients[given.process_id]
            lags = dict(before.task_lags)
            for task in stateful:
                role = given.tasks.get(task)
                if role is TaskType.ACTIVE:
                    lags[task] = LATEST_OFFSET
                elif role is TaskType.STANDBY:
                    lags[task] = 0
                elif lags[task] < END_OFFSET:
                    lags[task] = max(lags[task], 0) + 20_000
            self.clients[given.process_id] = dataclasses.replace(
                before,
                previous_active_tasks=tuple(t for t, role in given.tasks.items() if role is TaskType.ACTIVE),
                previous_standby_tasks=tuple(t for t, role in given.tasks.items() if role is TaskType.STANDBY),
                task_lags=lags,
            )


def random_tasks(rng: random.Random) -> list[TaskInfo]:
    tasks = []
    for subtopology in range(rng.randint(1, 4)):
        stateful = rng.random() < 0.7
        racks = [tuple(rng.choice(RACKS) for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 12))]
        for partition, replicas in enumerate(racks):
            source = TaskTopicPartition(TopicPartition(f"in{subtopology}", partition), True, False, replicas)
            changelog = TaskTopicPartition(TopicPartition(f"log{subtopology}", partition), False, True, replicas[::-1])
            partitions = (source, changelog) if stateful else (source,)
            tasks.append(TaskInfo(TaskId(subtopology, partition), stateful, partitions))
    return tasks


def random_configs(rng: random.Random) -> AssignmentConfigs:
    return AssignmentConfigs(
        acceptable_recovery_lag=rng.choice([0, 100, 10_000]),
        max_warmup_replicas=rng.randint(1, 4),
        num_standby_replicas=rng.choice([0, 0, 1, 2]),
        rack_aware_assignment_tags=rng.choice([(), (), ("zone",), ("zone", "cluster")]),
        rack_aware_traffic_cost=rng.choice([None, 1, 10]),
        rack_aware_non_overlap_cost=rng.choice([None, 0, 1, 10]),
        rack_aware_assignment_strategy=rng.choice(list(RackAwareStrategy)),
    )


def rebalance_until_stable(application: RandomApplication, assignor: TaskAssignor, max_rounds: int) -> int | None:
    """Rebalance until no follow-up is requested; return the number of rebalances, None if there are too many."""
    for rounds in range(1, max_rounds + 1):
        assignment = assignor.assign(application.state())
        application.apply(assignment)
        if assignment.followup_rebalance_delay_ms is None:
            return rounds
    return None
