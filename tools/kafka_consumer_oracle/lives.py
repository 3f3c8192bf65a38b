"""Lives of random consumer groups with the answers of a released Kafka, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assignors.consumers.previous_owners import owned_after
from assignors.consumers.registry import ConsumerAssignorInfo, ConsumerProtocol
from assignors.model.consumer_group import ConsumerAssignment, ConsumerGroupState, partition_key
from assignors.model.ids import TopicPartition
from scenarios.problems import consumer_problem_document
from tools.kafka_consumer_oracle.oracle import Json, run_released
from tools.kafka_consumer_oracle.random_groups import RandomConsumerGroup

GROUPS_PER_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class AnsweredProblem:
    """A problem with Kafka's answer.

    Attributes:
        problem: the same as JSON; the assignor is without release.
        answer: `{"assignment": …, "error": …}`.
    """

    state: ConsumerGroupState
    problem: Json
    answer: Json


def answered_problems(
    infos: Sequence[ConsumerAssignorInfo], kafka_version: str, seeds: range, rounds: int
) -> Iterator[tuple[ConsumerAssignorInfo, AnsweredProblem]]:
    """Run Kafka on random groups: what members own follows from the previous answer of the same assignor.

    `infos`: assignors of one protocol, which share a Java process; `seeds`: seeds of the groups, of which each assignor
    has its own copy. Yields the problems with Kafka's answers, by assignor.
    """
    protocol = infos[0].protocol
    is_classic = protocol is ConsumerProtocol.CLASSIC
    for start in range(0, len(seeds), GROUPS_PER_BATCH):
        batch = seeds[start : start + GROUPS_PER_BATCH]
        lives = [(info, RandomConsumerGroup.from_seed(seed, is_classic=is_classic)) for info in infos for seed in batch]
        for _ in range(rounds):
            states = [group.state() for _, group in lives]
            problems = [
                consumer_problem_document(state, group.problem_id, info.name_without_release, str(protocol))
                for (info, group), state in zip(lives, states, strict=True)
            ]
            answers = run_released(problems, kafka_version, protocol)
            for (info, group), state, problem, answer in zip(lives, states, problems, answers, strict=True):
                yield info, AnsweredProblem(state, problem, answer)
                group.adopt({} if answer["error"] else _owned_after(info, state, answer["assignment"]))


def _owned_after(
    info: ConsumerAssignorInfo, state: ConsumerGroupState, assignment: dict[str, list[str]]
) -> dict[str, tuple[TopicPartition, ...]]:
    rows = {topic.name: row for row, topic in enumerate(state.topics)}
    parsed = [[TopicPartition.parse(name) for name in assignment[member]] for member in state.member_ids]
    keys = tuple(tuple(partition_key(rows[p.topic], p.partition) for p in listed) for listed in parsed)
    owned = owned_after(info, state, ConsumerAssignment(keys))
    return {
        member: tuple(map(state.topic_partition, listed))
        for member, listed in zip(state.member_ids, owned, strict=True)
    }
