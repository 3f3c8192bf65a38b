"""The assignors of a released Kafka in a Java process that answers a batch of problems of consumer groups."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from assignors.consumers.registry import ConsumerProtocol
from tools.artifacts import consumer_oracle
from tools.java import ClusterError, build_classpath, find_executable

MAIN_CLASS = "assignorsim.ConsumerOracle"
OPTIONS = ("-Xmx2g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LIMIT_S = 900

Json = dict[str, Any]


def run_released(problems: Sequence[Json], kafka_version: str, protocol: ConsumerProtocol) -> list[Json]:
    """Run Kafka's assignors on problems.

    Args:
        problems: Problems in the schema of docs/reference/problems.md, which name assignors without release.
        kafka_version: Release of `kafka-clients` (classic) or `kafka-group-coordinator` (consumer) on Maven Central.
        protocol: Protocol of all problems.

    Returns:
        `{"assignment": …, "error": …}` for each problem; partitions are in the order of Kafka's answer.

    Raises:
        ClusterError: Java or Maven fails, or a problem is invalid.
    """
    classpath = build_classpath(consumer_oracle(kafka_version, str(protocol)))
    done = subprocess.run(
        [find_executable("java", "a JDK, version 17 or newer"), *OPTIONS, MAIN_CLASS],
        input="".join(json.dumps(problem) + "\n" for problem in problems),
        env={**os.environ, "CLASSPATH": classpath},
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_S,
    )
    if done.returncode != 0:
        output = "\n".join(done.stderr.splitlines()[-20:])
        raise ClusterError(f"Kafka {kafka_version}: the consumer oracle exited with code {done.returncode}:\n{output}")
    return [json.loads(line) for line in done.stdout.splitlines()]
