from dataclasses import dataclass, field

import assignor_sim as sim


@dataclass(frozen=True)
class StayPut:
    """Tasks stay on their client while it has capacity; others go to a client with a copy, then near their data.

    Standbys go to racks without a copy, then to previous owners. No warm-ups; ties go to the lower process id.
    """

    def assign(self, state: sim.ApplicationState) -> sim.TaskAssignment:
        tasks = list(state.all_tasks.values())
        members = state.kafka_streams_states.values()
        threads = sum(member.num_processing_threads for member in members)
        clients = [Client(member, -(-len(tasks) * member.num_processing_threads // threads)) for member in members]
        moving = []
        for task in tasks:
            stays_with = next((client for client in clients if client.ran(task) and client.has_capacity()), None)
            if stays_with is None:
                moving.append(task)
            else:
                stays_with.tasks[task.id] = sim.TaskType.ACTIVE
        for task in moving:
            with_capacity = (client for client in clients if client.has_capacity())
            goes_to = min(
                with_capacity,
                key=lambda c: (not c.had_copy(task), c.remote_partitions(task), c.load(), c.state.process_id),
                default=None,
            )
            if goes_to is not None:
                goes_to.tasks[task.id] = sim.TaskType.ACTIVE
        for task in tasks:
            for _ in range(state.assignment_configs.num_standby_replicas if task.is_stateful else 0):
                add_standby(task, clients)
        return sim.TaskAssignment(sim.KafkaStreamsAssignment(c.state.process_id, c.tasks) for c in clients)


def add_standby(task: sim.TaskInfo, clients: list["Client"]) -> None:
    """Assign one more standby to a client without the task, if there is one."""
    racks = {client.state.rack_id for client in clients if task.id in client.tasks}
    chosen = min(
        (client for client in clients if task.id not in client.tasks),
        key=lambda c: (c.state.rack_id in racks, not c.had_copy(task), c.load(), c.state.process_id),
        default=None,
    )
    if chosen is not None:
        chosen.tasks[task.id] = sim.TaskType.STANDBY


@dataclass
class Client:
    """A client and the tasks assigned to it so far.

    Its capacity for active tasks is its share by threads, rounded up, so that all tasks fit.
    """

    state: sim.KafkaStreamsState
    capacity: int
    tasks: dict[sim.TaskId, sim.TaskType] = field(default_factory=dict)

    def ran(self, task: sim.TaskInfo) -> bool:
        return task.id in self.state.previous_active_tasks

    def had_copy(self, task: sim.TaskInfo) -> bool:
        return self.ran(task) or task.id in self.state.previous_standby_tasks

    def has_capacity(self) -> bool:
        return len(self.tasks) < self.capacity

    def load(self) -> float:
        return len(self.tasks) / self.state.num_processing_threads

    def remote_partitions(self, task: sim.TaskInfo) -> int:
        """Return the number of partitions that it would read from other racks."""
        sources = (partition for partition in task.topic_partitions if partition.is_source)
        return sum(self.state.rack_id not in (partition.rack_ids or ()) for partition in sources)
