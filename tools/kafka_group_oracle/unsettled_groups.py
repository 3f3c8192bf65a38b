"""Streams groups whose assignment never settles in Kafka 4.4.0 although nothing changes (KAFKA-21166).

They were found among random groups of 3 to 7 processes of 1 to 4 threads, 1 to 3 subtopologies of 1 to 8 partitions,
and 1 or 2 standbys, of which one process leaves after two rebalances: 5 of 9,000 never settle. Up to 4.3.1, these do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assignors.contract import carried_out, compute
from assignors.model.assignment import AssignmentColumns, TaskAssignor
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo


@dataclass(frozen=True)
class UnsettledGroup:
    """A group, of which the last process leaves.

    Attributes:
        partitions: the number of partitions of each subtopology, all of them with state.
        threads: the number of threads of each process.
        standbys: `num.standby.replicas`.
    """

    partitions: Sequence[int]
    threads: dict[str, int]
    standbys: int

    def after_departure(self, assignor: TaskAssignor) -> ApplicationState:
        """Return the state in which the last process has left after two rebalances."""
        tasks = [TaskInfo(TaskId(part, n), True) for part, count in enumerate(self.partitions) for n in range(count)]
        clients = {
            ProcessId.parse(process): KafkaStreamsState(ProcessId.parse(process), num_processing_threads=threads)
            for process, threads in self.threads.items()
        }
        configs = AssignmentConfigs(num_standby_replicas=self.standbys)
        state = ApplicationState.of(tasks, clients.values(), configs)
        for _ in range(2):
            state = carried_out(state, compute(state, assignor))
        left = list(clients)[-1]
        rows = [row for row, process in enumerate(state.clients.ids) if process != left]
        remaining = [
            replace(
                clients[state.clients.ids[row]],
                previous_active_tasks=state.previous_active[row],
                previous_standby_tasks=state.previous_standby[row],
            )
            for row in rows
        ]
        assert state.previous_thread is not None
        return replace(ApplicationState.of(tasks, remaining, configs), previous_thread=state.previous_thread[:, rows])

    def answers(self, assignor: TaskAssignor, rounds: int) -> list[AssignmentColumns]:
        """Return the assignments of some rebalances after the departure."""
        state, answers = self.after_departure(assignor), []
        for _ in range(rounds):
            answers.append(compute(state, assignor))
            state = carried_out(state, answers[-1])
        return answers


SMALLEST = UnsettledGroup(
    (3,),
    {
        "1bb409d7-5c8a-497e-befb-b6da241da5f3": 2,
        "f0a25323-1970-4bf5-93a4-9731140d4c46": 2,
        "88cf6890-6bb3-45d7-b7be-fceb03a3565c": 4,
        "88bc8b13-951e-4c58-a269-09f7274a4a71": 1,
        "c83afef6-c97d-4856-a6e2-7669dfd7a148": 2,
    },
    2,
)
LARGER = UnsettledGroup(
    (8, 3, 8),
    {
        "2bf79ae7-4af0-4404-9913-674009e63371": 2,
        "dff79ac4-8981-446f-9ad2-b853de51dbf3": 1,
        "197a5c7c-ef89-4a2a-bfec-c2b679a4f6e6": 3,
        "e7fdcda9-1626-42d9-9439-1aa685521bf1": 1,
        "cb01cd99-d56c-4264-9b9c-e4105867873b": 3,
    },
    2,
)
