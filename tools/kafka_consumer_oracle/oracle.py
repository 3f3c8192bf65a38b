"""The assignors of a released Kafka in a Java process that answers a batch of problems of consumer groups."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from assignors.consumers.registry import ConsumerProtocol
from tools.artifacts import consumer_oracle
from tools.java import ask_java, build_classpath

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
