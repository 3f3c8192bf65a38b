"""The group coordinator's assignor in a Java process that answers a batch of problems."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assignors.kafka_releases import BROKERS
from tools.artifacts import group_oracle
from tools.java import ask_java, build_classpath

MAIN_CLASS = "assignorsim.GroupOracle"
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
    text = "".join(json.dumps(problem) + "\n" for problem in problems)
    lines = _run_java(MAIN_CLASS, text, kafka_version, custom)
    return [json.loads(line) for line in lines]


def read_configs(kafka_version: str = NEWEST_KAFKA) -> dict[str, Json]:
    """Return type, default, valid values and visibility of a release's configs of streams groups, by key."""
    [line] = _run_java(CONFIGS_CLASS, "", kafka_version)
    configs: dict[str, Json] = json.loads(line)
    return configs


def _run_java(main_class: str, text: str, kafka_version: str, custom: CustomClass | None = None) -> list[str]:
    classpath = [build_classpath(group_oracle(kafka_version)), *map(str, custom.classpath if custom else ())]
    return ask_java(os.pathsep.join(classpath), main_class, text, [] if custom is None else [custom.name])
