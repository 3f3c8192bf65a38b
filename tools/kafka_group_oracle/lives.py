"""Lives of random streams groups: rounds of problems in which each answer is the previous assignment of the next."""

from __future__ import annotations

from collections.abc import Iterator

from assignors import registry
from scenarios.problems import Problem
from tools.kafka_group_oracle.oracle import CustomClass, Json, run_assignor
from tools.kafka_group_oracle.random_groups import ASSIGNOR, RandomGroup

GROUPS_PER_BATCH = 1000
COMPARED = ("assignment", "probing_rebalance", "error")


def assignor_of(kafka_version: str) -> str:
    """Return the name of the assignor of a release."""
    return registry.find(f"{ASSIGNOR}@{kafka_version}").name


def answered_problems(
    kafka_version: str, seeds: range, rounds: int, custom: CustomClass | None = None
) -> Iterator[tuple[Problem, Json]]:
    """Run Kafka on random groups, round by round: each answer is the previous assignment of the next round.

    `custom`: a custom assignor; None for Kafka's. Yields the problem with its answers, and the same as a line of a
    problem file.
    """
    for start in range(0, len(seeds), GROUPS_PER_BATCH):
        groups = [RandomGroup.from_seed(seed) for seed in seeds[start : start + GROUPS_PER_BATCH]]
        for _ in range(rounds):
            problems = [group.problem() for group in groups]
            answered = run_assignor(problems, kafka_version, custom)
            for group, problem, answers in zip(groups, problems, answered, strict=True):
                in_order, in_production = (
                    {key: answers[order][key] for key in COMPARED} for order in ("sorted", "production")
                )
                problem["assignor"] = assignor_of(kafka_version) if custom is None else custom.name
                line = {"problem": problem, "expected": in_order}
                if in_production != in_order:
                    line["expected_hash_order"] = in_production
                yield Problem(group.seed, problem, in_order, line.get("expected_hash_order")), line
                group.apply_assignment(in_production["assignment"])
