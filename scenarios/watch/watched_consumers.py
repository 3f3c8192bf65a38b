"""A watched consumer group: what its next assignment depends on besides the members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from assignors.consumer_tasks import ConsumerTasks
from assignors.model.consumer_group import ConsumerAssignor, ConsumerTopic
from assignors.registry import AssignorLike
from scenarios.kafka.observation.consumer_scenario_writer import (
    consumer_assumptions,
    consumer_names,
    consumer_scenario_text,
    consumer_warnings,
    has_kafkas_assignor,
)
from scenarios.kafka.observation.observation import Observation, ObservationError
from scenarios.load import loads
from scenarios.watch.watched_group import WatchedGroup

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
