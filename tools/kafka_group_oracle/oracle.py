"""The group coordinator's assignor in Java, by the bridge; and the configs of streams groups that a release defines."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assignors import registry
from assignors.java.hash_order import CollectionOrder
from assignors.jvm.assignor import MakeCoordinatorAssignor
from assignors.jvm.reference import COORDINATOR
from assignors.kafka_releases import BROKERS
from scenarios.problems import Problem, solve_problem
from tools.artifacts import group_oracle
from tools.java import ask_java, build_classpath

CONFIGS_CLASS = "assignorsim.GroupConfigs"
NEWEST_KAFKA = BROKERS["4.4"]

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CustomClass:
    """An assignor in Java with the interfaces of KIP-1357, which Kafka 4.4 is the first to have.

    Attributes:
        name: Full name of a public class with a public constructor without parameters.
        classpath: Jars or class folders.
    """

    name: str
    classpath: Sequence[Path]


def run_assignor(
    problems: Sequence[Json],
    kafka_version: str = NEWEST_KAFKA,
    custom: CustomClass | None = None,
) -> list[Json]:
    """Run Kafka's assignor, or a custom one, on problems.

    `problems`: problems in the schema of docs/reference/problems.md; their assignor is ignored. `kafka_version`:
    release of `org.apache.kafka:kafka-group-coordinator` on Maven Central. `custom`: a custom assignor; None for
    Kafka's. Returns `{"sorted": answer, "production": answer}` for each problem.
    """
    info = _load(kafka_version, custom)
    return [
        {str(order): solve_problem(Problem(0, problem), "random", info, order) for order in CollectionOrder}
        for problem in problems
    ]


def _load(kafka_version: str, custom: CustomClass | None) -> registry.AssignorInfo:
    if custom is None:
        return registry.load(f"java:{COORDINATOR}@{kafka_version}:sticky")
    places = os.pathsep.join([*map(str, custom.classpath), f"{COORDINATOR}@{kafka_version}"])
    info = registry.load(f"java:{custom.name}@{places}")
    assert isinstance(info.make, MakeCoordinatorAssignor)
    # Errors of Kafka's classes are answers, as those of Kafka's own assignor are.
    return replace(info, make=MakeCoordinatorAssignor(replace(info.make.java, is_released=True)))


def read_configs(kafka_version: str = NEWEST_KAFKA) -> dict[str, Json]:
    """Return type, default, valid values and visibility of a release's configs of streams groups, by key."""
    [line] = ask_java(build_classpath(group_oracle(kafka_version)), CONFIGS_CLASS, "")
    configs: dict[str, Json] = json.loads(line)
    return configs
