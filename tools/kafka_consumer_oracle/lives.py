"""Histories of random consumer groups with the answers of a released Kafka, round by round, and their comparison."""

from __future__ import annotations

import json
import random
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assignors.consumers.previous_owners import owned_after
from assignors.consumers.registry import ConsumerAssignorInfo, ConsumerProtocol
from assignors.errors import KafkaError
from assignors.model.consumer_group import (
    NO_GENERATION,
    ConsumerAssignment,
    ConsumerAssignor,
    ConsumerGroupState,
    ConsumerMember,
    ConsumerTopic,
    partition_key,
)
from assignors.model.ids import TopicId, TopicPartition
from scenarios.problems import consumer_answer, consumer_problem_document
from tools.artifacts import consumer_oracle
from tools.java import ask_java, build_classpath

SIZES = ((3, 2, 4), (6, 4, 9), (6, 4, 9), (12, 6, 20), (12, 6, 20), (25, 10, 40), (60, 12, 130))
"""Maximum numbers of members, topics, and partitions of a topic."""

RACKS = ("az1", "az2", "az3", "az4", "")
SAME_HASH = ("AaAa", "AaBB", "BBBB")
"""Names with the same hash code in Java; with more of them, bins of maps become trees."""


@dataclass(slots=True)
class RandomConsumerGroup:
    """A group that changes from rebalance to rebalance; equal seeds give equal lives for equal answers.

    Attributes:
        is_classic: whether members report owned partitions in any state; brokers know consistent assignments only.
        members: members by id, in the order in which Kafka lists them.
        racks: racks of brokers; none if no broker has a rack.
        departed: members that left and may return.
    """

    seed: int
    is_classic: bool
    rng: random.Random
    limits: tuple[int, int, int] = (3, 2, 4)
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    topics: dict[str, ConsumerTopic] = field(default_factory=dict)
    racks: tuple[str | None, ...] = ()
    departed: list[ConsumerMember] = field(default_factory=list)
    subscriptions: list[tuple[str, ...]] = field(default_factory=list)
    share_with_rack: float = 0.0
    share_static: float = 0.0
    round: int = 0

    @classmethod
    def from_seed(cls, seed: int, *, is_classic: bool) -> RandomConsumerGroup:
        """Return the group of a seed before its first rebalance."""
        rng = random.Random(f"consumer group {seed}")
        group = cls(seed, is_classic, rng)
        group.limits = rng.choice(SIZES)
        known = tuple(RACKS[: rng.randint(1, 4)])
        group.racks = rng.choice(((), known, known, (*known, None), (None,)))
        group.share_with_rack = rng.choice((0.0, 0.5, 1.0, 1.0))
        group.share_static = rng.choice((0.0, 0.0, 0.5, 1.0))
        same_size = rng.randint(1, group.limits[2]) if rng.random() < 0.5 else None
        for _ in range(rng.randint(1, group.limits[1])):
            group.create_topic(same_size)
        group.choose_subscriptions()
        for _ in range(rng.randint(1, group.limits[0])):
            group.join()
        if rng.random() < 0.25:
            group.invent_owners()
        return group

    @property
    def problem_id(self) -> str:
        """Return the id of the next problem."""
        return f"group{self.seed}/r{self.round}"

    def state(self) -> ConsumerGroupState:
        """Return the input of the next rebalance."""
        members = list(self.members.values())
        if self.rng.random() < 0.3:
            self.rng.shuffle(members)
        seen = self.rng.choice((NO_GENERATION, NO_GENERATION, NO_GENERATION, self.round, self.round + 3))
        return ConsumerGroupState.of(
            members, self.topics.values(), max_generation=seen if self.is_classic else NO_GENERATION
        )

    def create_topic(self, partitions: int | None = None) -> None:
        """Add a topic, some with a name whose hash code others have, too."""
        free = [name for name in SAME_HASH if name not in self.topics]
        name = self.rng.choice(free) if free and self.rng.random() < 0.2 else f"topic{self.rng.randint(0, 99)}"
        if self.rng.random() < 0.03:
            name += self.rng.choice(("-\U0001f600", "-\uffee", "-1"))
        number = partitions or self.rng.randint(1, self.limits[2])
        bits = self.rng.getrandbits(128)
        if self.rng.random() < 0.15:
            bits = (self.rng.getrandbits(8) << 64) | self.rng.getrandbits(4)
        self.topics.setdefault(name, self.with_replicas(name, number, TopicId.of(uuid.UUID(int=bits))))

    def with_replicas(self, name: str, partitions: int, topic_id: TopicId | None) -> ConsumerTopic:
        """Return a topic with replicas in random racks: one replica, or one in some, most or all racks."""
        if not self.racks:
            return ConsumerTopic(name, partitions, (), topic_id)
        replicas = self.rng.randint(1, len(self.racks))
        if self.rng.random() < 0.3:
            racks = tuple(
                tuple(self.racks[(p + replica) % len(self.racks)] for replica in range(replicas))
                for p in range(partitions)
            )
        else:
            racks = tuple(tuple(self.rng.choices(self.racks, k=replicas)) for _ in range(partitions))
        return ConsumerTopic(name, partitions, racks, topic_id)

    def choose_subscriptions(self) -> None:
        """Choose the subscriptions of which members have one: often a single one."""
        names = [*self.topics, "missing"] if self.rng.random() < 0.2 else list(self.topics)
        number = self.rng.choice((1, 1, 2, 3, self.limits[0]))
        self.subscriptions = [
            tuple(self.rng.sample(names, self.rng.randint(0 if number > 2 else 1, len(names)))) for _ in range(number)
        ]

    def join(self) -> None:
        """Add a member: a new one, one that left, or a static one with a new member id."""
        if self.departed and self.rng.random() < 0.5:
            member = self.departed.pop(self.rng.randrange(len(self.departed)))
            if member.instance_id is not None and self.rng.random() < 0.7:
                member = replace(member, member_id=self.new_id())
            if not self.is_classic or self.rng.random() < 0.3:
                member = replace(member, owned=(), generation=NO_GENERATION, user_data_generation=None)
        else:
            member = ConsumerMember(
                self.new_id(),
                self.rng.choice(self.subscriptions),
                f"instance-{self.rng.randint(0, 999)}" if self.rng.random() < self.share_static else None,
                self.rng.choice(RACKS) if self.rng.random() < self.share_with_rack else None,
            )
        instances = {other.instance_id for other in self.members.values()} - {None}
        if member.member_id not in self.members and member.instance_id not in instances:
            self.members[member.member_id] = member

    def new_id(self) -> str:
        """Return a member id as a consumer's, or a short one with the hash code of others."""
        free = [name for name in SAME_HASH if name not in self.members]
        if free and self.rng.random() < 0.1:
            return self.rng.choice(free)
        return f"consumer-{self.rng.randint(1, 9)}-{uuid.UUID(int=self.rng.getrandbits(128))}"

    def invent_owners(self) -> None:
        """Let members own random partitions: those of brokers consistently, those of clients with contradictions."""
        claims = self.rng.choice((1, 1, 2)) if self.is_classic else 1
        for topic in self.topics.values():
            for partition in range(topic.partitions + (self.is_classic and self.rng.random() < 0.1)):
                for member_id in self.rng.sample(list(self.members), min(claims, len(self.members))):
                    if self.rng.random() < 0.8:
                        self.claim(member_id, TopicPartition(topic.name, partition))
        for member_id, member in self.members.items():
            if self.is_classic and member.owned:
                self.members[member_id] = self.with_generations(member, self.rng.randint(0, 3))

    def claim(self, member_id: str, partition: TopicPartition) -> None:
        """Let a member own one more partition."""
        member = self.members[member_id]
        self.members[member_id] = replace(member, owned=(*member.owned, partition))

    def with_generations(self, member: ConsumerMember, generation: int) -> ConsumerMember:
        """Return the member with a generation: of a current client, or in rare cases of an old one, or of one reset."""
        draw = self.rng.random()
        if draw < 0.85:
            return replace(member, generation=generation, user_data_generation=generation)
        if draw < 0.93:
            return replace(member, generation=NO_GENERATION, user_data_generation=generation)
        if draw < 0.97:
            return replace(member, generation=generation, user_data_generation=None)
        return replace(member, generation=NO_GENERATION, user_data_generation=None)

    def adopt(self, owned: Mapping[str, Sequence[TopicPartition]]) -> None:
        """Let the members adopt an assignment, except for a few of a classic group that missed it; change the group."""
        self.round += 1
        for member_id, partitions in owned.items():
            member = self.members[member_id]
            if self.is_classic and self.rng.random() < 0.05:
                continue
            adopted = replace(member, owned=tuple(partitions))
            self.members[member_id] = self.with_generations(adopted, self.round) if self.is_classic else adopted
        for _ in range(self.rng.choice((0, 1, 1, 2, 4))):
            self.change()

    def change(self) -> None:
        """Change one thing at random."""
        draw = self.rng.random()
        if draw < 0.3:
            self.join()
        elif draw < 0.55 and len(self.members) > 1:
            self.departed.append(self.members.pop(self.rng.choice(list(self.members))))
        elif draw < 0.7:
            name = self.rng.choice(list(self.topics))
            topic = self.topics[name]
            if not topic.partitions and not self.is_classic:
                return  # A topic that is created again has another id.
            self.topics[name] = self.with_replicas(name, topic.partitions + self.rng.randint(1, 5), topic.topic_id)
        elif draw < 0.78:
            self.create_topic()
            self.choose_subscriptions()
        elif draw < 0.84:
            self.delete_or_shrink_topic()
        elif draw < 0.94:
            member_id = self.rng.choice(list(self.members))
            topics = self.rng.choice(self.subscriptions)
            self.members[member_id] = replace(self.members[member_id], topics=topics)
        elif draw < 0.97:
            topics = self.rng.choice(self.subscriptions)
            self.members = {name: replace(member, topics=topics) for name, member in self.members.items()}
        elif not self.is_classic:
            self.restart_static_member()
        elif len(self.members) > 1:
            first, second = self.rng.sample(list(self.members), 2)
            for partition in self.members[first].owned[:2]:
                self.claim(second, partition)

    def restart_static_member(self) -> None:
        """Replace a static member by one with another member id, which takes over its target assignment."""
        static = [member for member in self.members.values() if member.instance_id is not None]
        if static:
            member = self.members.pop(self.rng.choice(static).member_id)
            member = replace(member, member_id=self.new_id())
            self.members[member.member_id] = member

    def delete_or_shrink_topic(self) -> None:
        """Delete a topic; in a classic group, it may come back with fewer partitions."""
        name = self.rng.choice(list(self.topics))
        partitions = self.rng.randint(0, self.topics[name].partitions) if self.is_classic else 0
        self.topics[name] = self.with_replicas(name, partitions, self.topics[name].topic_id)


MAIN_CLASS = "assignorsim.ConsumerOracle"

Json = dict[str, Any]


def run_released(problems: Sequence[Json], kafka_version: str, protocol: ConsumerProtocol) -> list[Json]:
    """Run Kafka's assignors on problems.

    `problems`: problems in the schema of docs/reference/problems.md, which name assignors without release;
    `kafka_version`: release of `kafka-clients` (classic) or `kafka-group-coordinator` (consumer) on Maven Central.
    Returns `{"assignment": …, "error": …}` for each problem; partitions are in the order of Kafka's answer.
    """
    classpath = build_classpath(consumer_oracle(kafka_version, str(protocol)))
    text = "".join(json.dumps(problem) + "\n" for problem in problems)
    return [json.loads(line) for line in ask_java(classpath, MAIN_CLASS, text)]


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


@dataclass(slots=True)
class ConsumerTally:
    """Numbers of answers.

    Attributes:
        identical: answers that are Kafka's, partition for partition, in Kafka's order.
        refused: problems that Kafka answers with an exception.
        different: problems with another answer.
    """

    compared: int = 0
    identical: int = 0
    refused: int = 0
    different: list[Json] = field(default_factory=list)

    def as_row(self) -> dict[str, int]:
        """Return the numbers for the stored results."""
        return {"compared": self.compared, "identical": self.identical, "refused": self.refused}


def answer_of(assignor: ConsumerAssignor, answered: AnsweredProblem) -> Json:
    """Return this project's answer in the form of the oracle's."""
    try:
        return {"assignment": consumer_answer(answered.state, assignor.assign(answered.state)), "error": None}
    except KafkaError as error:
        return {"assignment": None, "error": error.java_class}


def compare(
    answered: Iterable[tuple[ConsumerAssignorInfo, AnsweredProblem]],
) -> list[tuple[ConsumerAssignorInfo, ConsumerTally]]:
    """Compare this project's answers with Kafka's, and print the problems that differ."""
    tallies: dict[tuple[str, str], tuple[ConsumerAssignorInfo, ConsumerAssignor, ConsumerTally]] = {}
    for info, problem in answered:
        key = info.name, str(info.protocol)
        if key not in tallies:
            tallies[key] = info, info.make(), ConsumerTally()
        _, assignor, tally = tallies[key]
        tally.compared += 1
        tally.refused += problem.answer["error"] is not None
        if answer_of(assignor, problem) == problem.answer:
            tally.identical += 1
            continue
        print(f"{info.name} ({info.protocol}), {problem.problem['id']}: the answer differs", file=sys.stderr)
        tally.different.append({"problem": problem.problem, "expected": problem.answer})
    return [(info, tally) for info, _, tally in tallies.values()]
