"""A watched application: what its next assignment depends on besides the members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assignors.model.assignment import TaskAssignor
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import TaskId, TopicPartition
from assignors.model.state import TaskInfo, TaskTopicPartition
from assignors.registry import AssignorLike
from scenarios.kafka.observation.observation import Observation, ObservedSubtopology
from scenarios.kafka.observation.scenario_writer import scenario_text
from scenarios.load import AssignorSpec, loads
from scenarios.watch.watched_group import WatchedGroup
from simulator.world.group_configs import GroupProtocol
from simulator.world.layout import lay_out


@dataclass(frozen=True, slots=True, eq=False)
class WatchedApplication(WatchedGroup):
    """An application as it was observed in a stable group.

    Attributes:
        tasks: the tasks, in the order in which the leader lists them.
        configs: the configs of the assignor.
    """

    tasks: tuple[TaskInfo, ...]
    configs: AssignmentConfigs

    @classmethod
    def of(cls, observation: Observation, assignor: AssignorLike | None = None) -> WatchedApplication:
        """Return the application of an observation.

        `observation`: the observed state. `assignor`: the assignor; None for the one of the observed configs. Raises
        ObservationError if the application is not running, ScenarioError if the observed state or a config is invalid,
        and UnknownAssignorError if the assignor is unknown.
        """
        scenario = loads(scenario_text(observation), "the observed application")
        world = scenario.world(scenario.seeds[0])
        layout = lay_out(world)
        infos = {info.id: info for info in _task_infos(observation)}
        ids = [layout.tasks.ids[row] for row in layout.task_insertion_order.tolist()]
        application = world.application
        spec = scenario.assignors[0] if assignor is None else scenario.assignor_spec(assignor)
        return cls(
            task_names=tuple(map(str, layout.tasks.ids)),
            tasks=tuple(infos[task] for task in ids),
            configs=application.assignment_configs,
            assignor_name=spec.label,
            spec=spec,
            group_configs=application.group_configs,
            commit_interval_ms=application.state_configs.commit_interval_ms,
            scenario=scenario,
            client_names={str(client.process_id): client.name for client in world.clients},
        )

    @property
    def is_streams_group(self) -> bool:
        """Return whether the coordinator assigns the tasks."""
        return self.group_configs.protocol is GroupProtocol.STREAMS

    def task_of_partition(self) -> dict[TopicPartition, TaskId]:
        """Return the task that reads each source partition."""
        return {
            partition.topic_partition: task.id
            for task in self.tasks
            for partition in task.topic_partitions
            if partition.is_source
        }

    def assignor(self, members: Mapping[str, str]) -> TaskAssignor:
        """Return the assignor; that of a coordinator gets the process ids of its listed members."""
        if not self.is_streams_group:
            return self.spec.make()
        parameters = {**self.spec.parameters, "members": dict(members)}
        return AssignorSpec(self.spec.label, self.spec.info, parameters, self.configs).make()


def _task_infos(observation: Observation) -> Iterator[TaskInfo]:
    racks = {broker.id: broker.rack for broker in observation.brokers}
    replicas = {topic.name: topic.replicas for topic in observation.topics}

    def partition(topic: str, number: int, subtopology: ObservedSubtopology) -> TaskTopicPartition:
        return TaskTopicPartition(
            TopicPartition(topic, number),
            topic in subtopology.sources,
            topic in subtopology.changelogs.values(),
            tuple(racks.get(broker) for broker in replicas[topic][number]),
        )

    for subtopology in observation.subtopologies:
        topics = sorted({*subtopology.sources, *subtopology.changelogs.values()} & set(replicas))
        for number in range(_num_tasks(subtopology.sources, replicas)):
            read = tuple(partition(topic, number, subtopology) for topic in topics if number < len(replicas[topic]))
            yield TaskInfo(TaskId(subtopology.id, number), bool(subtopology.changelogs), read)


def _num_tasks(sources: Sequence[str], replicas: Mapping[str, Sequence[object]]) -> int:
    return max((len(replicas[topic]) for topic in sources if topic in replicas), default=0)
