"""A watched application or consumer group: what its next assignment and its downtimes depend on besides the members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assignors.consumer_tasks import ConsumerTasks
from assignors.model.assignment import TaskAssignor
from assignors.model.configs import AssignmentConfigs
from assignors.model.consumer_group import ConsumerAssignor, ConsumerTopic
from assignors.model.ids import TaskId, TopicPartition
from assignors.model.state import TaskInfo, TaskTopicPartition
from assignors.registry import AssignorLike
from scenarios.kafka.observation.consumer_scenario_writer import (
    consumer_assumptions,
    consumer_names,
    consumer_scenario_text,
    consumer_warnings,
    has_kafkas_assignor,
)
from scenarios.kafka.observation.observation import Observation, ObservationError, ObservedSubtopology
from scenarios.kafka.observation.scenario_writer import scenario_text
from scenarios.load import AssignorSpec, Scenario, loads
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.layout import lay_out


@dataclass(frozen=True, slots=True, eq=False)
class WatchedGroup:
    """A group as it was observed in a stable state: a Kafka Streams application, or other consumers.

    Attributes:
        task_names: the tasks in Kafka's text form; those of a consumer group are partitions.
        spec: the assignor of the scenario.
        group_configs: the configs of the group protocol.
        commit_interval_ms: the longest time between two commits of a task that makes progress.
        scenario: the scenario that starts in the observed state; its clients have the names of `client_names`.
        client_names: the name of each observed process in the scenario.
    """

    task_names: tuple[str, ...]
    assignor_name: str
    spec: AssignorSpec
    group_configs: GroupConfigs
    commit_interval_ms: int
    scenario: Scenario
    client_names: Mapping[str, str]


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


_COMMIT_INTERVAL: Final = "auto.commit.interval.ms"
_COMMIT_INTERVAL_MS: Final = 5_000
"""Kafka's default of `auto.commit.interval.ms`."""


@dataclass(frozen=True, slots=True, eq=False)
class WatchedConsumers(WatchedGroup):
    """A consumer group as it was observed in a stable state.

    Attributes:
        topics: the topics to which members subscribe.
        assignor: the assignor of partitions; None if the group reports a custom one, and no other is given.
    """

    topics: tuple[ConsumerTopic, ...]
    assignor: ConsumerAssignor | None

    @classmethod
    def of(cls, observation: Observation, assignor: AssignorLike | None = None) -> WatchedConsumers:
        """Return the group of an observation.

        `observation`: the observed state. `assignor`: the assignor; None for the one that the group reports. Raises
        ObservationError if the group has no members, or the commit interval is not a number; ScenarioError if the
        observed state or a config is invalid; and UnknownAssignorError if the assignor is unknown.
        """
        scenario = loads(consumer_scenario_text(observation), "the observed consumer group")
        spec = scenario.assignors[0] if assignor is None else scenario.assignor_spec(assignor)
        world = scenario.world(scenario.seeds[0], spec)
        observed = observation.consumers
        assert observed is not None
        names, tasks = consumer_names(observed.members), spec.make()
        assert isinstance(tasks, ConsumerTasks)
        is_known = assignor is not None or has_kafkas_assignor(observation)
        return cls(
            task_names=tuple(f"{topic.name}-{n}" for topic in observation.topics for n in range(len(topic.replicas))),
            assignor_name=spec.label if is_known else observed.assignor,
            spec=spec,
            group_configs=world.application.group_configs,
            commit_interval_ms=_commit_interval_ms(observation.configs),
            scenario=scenario,
            client_names={
                member.instance_id or member.member_id: names[member.member_id] for member in observed.members
            },
            topics=tuple(_topics(observation)),
            assignor=tasks.assignor if is_known else None,
        )


def watched_assumptions(observation: Observation) -> list[str]:
    """Return sentences on what is not simulated, and on what was assumed, of an observed consumer group."""
    interval_s = _commit_interval_ms(observation.configs) / 1_000
    commits = (
        f"Consumers are assumed to commit at least every {interval_s:g} s; state {_COMMIT_INTERVAL} with --config."
    )
    return [*consumer_warnings(observation), *consumer_assumptions(observation), commits]


def _commit_interval_ms(configs: Mapping[str, str]) -> int:
    """Return the time between two commits; consumers that commit by themselves are taken to do so as often."""
    text = configs.get(_COMMIT_INTERVAL, "").strip()
    if text and not (text.isascii() and text.isdecimal()):
        raise ObservationError(f"{_COMMIT_INTERVAL}={text}: expected a number of milliseconds")
    return int(text) if text else _COMMIT_INTERVAL_MS


def _topics(observation: Observation) -> Iterator[ConsumerTopic]:
    racks = {broker.id: broker.rack for broker in observation.brokers}
    for topic in observation.topics:
        of_partitions = tuple(tuple(racks.get(broker) for broker in replicas) for replicas in topic.replicas)
        yield ConsumerTopic(topic.name, len(topic.replicas), of_partitions, topic.topic_id)
