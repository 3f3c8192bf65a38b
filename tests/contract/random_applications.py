"""Random applications whose clients come and go, to hold every assignor to its contract.

One seed rebuilds a whole life: the tasks, the clients, and every event. As in Kafka's own convergence test, a task's
copy is caught up one round after it was assigned.
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
    """An application at one point of its life."""

    chance: random.Random
    tasks: list[TaskInfo]
    configs: AssignmentConfigs
    clients: dict[ProcessId, KafkaStreamsState] = field(default_factory=dict)
    gone: list[KafkaStreamsState] = field(default_factory=list)
    history: list[str] = field(default_factory=list)

    @classmethod
    def from_seed(cls, seed: int) -> RandomApplication:
        chance = random.Random(seed)
        life = cls(chance, random_tasks(chance), random_configs(chance))
        for _ in range(chance.randint(1, 8)):
            life.join()
        return life

    def state(self) -> ApplicationState:
        return ApplicationState.of(self.tasks, self.clients.values(), self.configs)

    def join(self) -> None:
        process_id = ProcessId.of(uuid.UUID(int=self.chance.getrandbits(128)))
        tags = {"zone": self.chance.choice("xyz"), "cluster": self.chance.choice("12")}
        client = KafkaStreamsState(
            process_id,
            num_processing_threads=self.chance.randint(1, 4),
            rack_id=self.chance.choice(RACKS),
            client_tags=tags,
            task_lags={task.id: END_OFFSET for task in self.tasks if task.is_stateful},
        )
        self.clients[process_id] = client
        self.history.append(f"{process_id} joins")

    def leave(self) -> None:
        process_id = self.chance.choice(sorted(self.clients))
        self.gone.append(self.clients.pop(process_id))
        self.history.append(f"{process_id} leaves")

    def rejoin(self) -> None:
        client = self.gone.pop(self.chance.randrange(len(self.gone)))
        lags = {task: max(lag, 0) for task, lag in client.task_lags.items()}
        self.clients[client.process_id] = dataclasses.replace(
            client, previous_active_tasks=(), previous_standby_tasks=(), task_lags=lags
        )
        self.history.append(f"{client.process_id} comes back")

    def apply_random_event(self) -> None:
        if self.gone and self.chance.random() < 0.3:
            self.rejoin()
        elif len(self.clients) > 1 and self.chance.random() < 0.5:
            self.leave()
        else:
            self.join()

    def apply(self, assignment: TaskAssignment) -> None:
        """Everybody has caught up on what was assigned; copies that are not assigned any more are left behind."""
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


def random_tasks(chance: random.Random) -> list[TaskInfo]:
    tasks = []
    for subtopology in range(chance.randint(1, 4)):
        stateful = chance.random() < 0.7
        racks = [tuple(chance.choice(RACKS) for _ in range(chance.randint(1, 3))) for _ in range(chance.randint(1, 12))]
        for partition, replicas in enumerate(racks):
            source = TaskTopicPartition(TopicPartition(f"in{subtopology}", partition), True, False, replicas)
            changelog = TaskTopicPartition(TopicPartition(f"log{subtopology}", partition), False, True, replicas[::-1])
            partitions = (source, changelog) if stateful else (source,)
            tasks.append(TaskInfo(TaskId(subtopology, partition), stateful, partitions))
    return tasks


def random_configs(chance: random.Random) -> AssignmentConfigs:
    return AssignmentConfigs(
        acceptable_recovery_lag=chance.choice([0, 100, 10_000]),
        max_warmup_replicas=chance.randint(1, 4),
        num_standby_replicas=chance.choice([0, 0, 1, 2]),
        rack_aware_assignment_tags=chance.choice([(), (), ("zone",), ("zone", "cluster")]),
        rack_aware_traffic_cost=chance.choice([None, 1, 10]),
        rack_aware_non_overlap_cost=chance.choice([None, 0, 1, 10]),
        rack_aware_assignment_strategy=chance.choice(list(RackAwareStrategy)),
    )


def rebalance_until_stable(life: RandomApplication, assignor: TaskAssignor, most_rounds: int) -> int | None:
    """Rebalance until nothing more is asked for; how many rounds that took, None if too many."""
    for rounds in range(1, most_rounds + 1):
        assignment = assignor.assign(life.state())
        life.apply(assignment)
        if assignment.followup_rebalance_delay_ms is None:
            return rounds
    return None
