"""Count the answers that equal those of a released Kafka."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from assignors.consumers.registry import ConsumerAssignorInfo
from assignors.errors import KafkaError
from assignors.model.consumer_group import ConsumerAssignor
from scenarios.problems import consumer_answer
from tools.kafka_consumer_oracle.lives import AnsweredProblem
from tools.kafka_consumer_oracle.oracle import Json


@dataclass(slots=True)
class ConsumerTally:
    """Numbers of answers.

    Attributes:
        compared: problems.
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
