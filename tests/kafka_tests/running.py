"""A JVM that runs Kafka's unit tests, and asks this process for answers."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.kafka_tests.answers import answer, with_a_moved_task
from tools.artifacts import KAFKA_TESTS, kafka_tests
from tools.java import ClusterError, build_classpath, find_executable

_INTERNALS: Final = "org.apache.kafka.streams.processor.internals"
TEST_CLASSES: Final = (
    "assignment.HighAvailabilityTaskAssignorTest",
    "assignment.TaskAssignorConvergenceTest",
    "assignment.LegacyStickyTaskAssignorTest",
    "assignment.StickyTaskAssignorTest",
    "assignment.CustomStickyTaskAssignorTest",
    "assignment.FallbackPriorTaskAssignorTest",
    "assignment.RackAwareTaskAssignorTest",
    "assignment.ClientTagAwareStandbyTaskAssignorTest",
    "assignment.TaskAssignmentUtilsTest",
    "StreamsPartitionAssignorTest",
    "HighAvailabilityStreamsPartitionAssignorTest",
    "RackAwarenessStreamsPartitionAssignorTest",
)
"""The test classes that call assignors, optimizers, standbys or the assignment to threads; no release has all."""

_HEAP: Final = "-Xmx2g"

Counts = tuple[int, ...]
"""Of a test class: tests, those that ask for answers, those that pass, answers, those that are Kafka's."""


def run_tests(release: str, classes: Sequence[str], *, are_wrong: bool = False) -> list[Mapping[str, Any]]:
    """Run test classes of a release, and return each test with its result and its answers.

    `release`: of `KAFKA_TESTS`. `classes`: of `TEST_CLASSES`; those that the release does not have are left out.
    `are_wrong`: whether each answer has a task with another client. Raises ClusterError if a JDK or Maven is missing,
    or the JVM ends before its tests do.
    """
    classpath = build_classpath(kafka_tests(KAFKA_TESTS[release]))
    with tempfile.TemporaryDirectory(prefix="assignor-sim-") as folder, tempfile.TemporaryFile("w+") as errors:
        changed = Path(folder, "classes")
        changed.mkdir()
        command = [
            *(find_executable("java", "a JDK, version 17 or newer"), _HEAP, f"-Djava.io.tmpdir={folder}"),
            *("assignorsim.bridge.tests.KafkaTests", str(changed)),
            *(f"{_INTERNALS}.{name}" for name in classes),
        ]
        with subprocess.Popen(
            command,
            env={**os.environ, "CLASSPATH": os.pathsep.join([str(changed), classpath])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
        ) as jvm:
            assert jvm.stdin is not None
            assert jvm.stdout is not None
            try:
                for line in jvm.stdout:
                    request = json.loads(line)
                    if "tests" in request:
                        tests: list[Mapping[str, Any]] = request["tests"]
                        return tests
                    given = answer(request, release)
                    if are_wrong:
                        given = with_a_moved_task(given)
                    # The JVM compares the text with that of Kafka's answer.
                    jvm.stdin.write(f"{json.dumps(given, sort_keys=True, separators=(',', ':'))}\n")
                    jvm.stdin.flush()
            finally:
                jvm.kill()
        errors.seek(0)
        raise ClusterError(f"Kafka's unit tests did not end:\n{errors.read()[-2_000:]}")


def counts_by_class(tests: Sequence[Mapping[str, Any]]) -> dict[str, Counts]:
    """Return the counts of each test class that has tests, by its name without package."""
    by_class: dict[str, list[Mapping[str, Any]]] = {}
    for test in tests:
        by_class.setdefault(test["class"].rpartition(".")[2], []).append(test)
    return {name: _counts(of) for name, of in by_class.items()}


def _counts(tests: Sequence[Mapping[str, Any]]) -> Counts:
    answers = [given for test in tests for given in test["answers"]]
    return (
        len(tests),
        sum(bool(test["answers"]) for test in tests),
        sum(test["status"] == "SUCCESSFUL" for test in tests),
        len(answers),
        sum(given["equal"] for given in answers),
    )
