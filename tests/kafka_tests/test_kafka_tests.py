"""Kafka's own unit tests pass with this project's answers, and fail with wrong ones."""

from __future__ import annotations

import json

import pytest

from tests.kafka_tests.__main__ import BEGIN, END, PAGE, RESULTS, tables
from tests.kafka_tests.answers import with_a_moved_task
from tests.kafka_tests.running import counts_by_class, run_tests
from tools.artifacts import KAFKA_TESTS

pytestmark = pytest.mark.kafka

FAST = (
    "assignment.CustomStickyTaskAssignorTest",
    "assignment.FallbackPriorTaskAssignorTest",
    "assignment.ClientTagAwareStandbyTaskAssignorTest",
    "assignment.TaskAssignmentUtilsTest",
    "HighAvailabilityStreamsPartitionAssignorTest",
    "RackAwarenessStreamsPartitionAssignorTest",
)
"""Test classes that take seconds; `make kafka-tests` runs all."""


def test_tests_of_kafka_pass_with_answers_that_are_kafkas() -> None:
    tests = run_tests("4.3", FAST)
    assert [test["name"] for test in tests if test["status"] != "SUCCESSFUL"] == []
    assert [given for test in tests for given in test["answers"] if not given["equal"]] == []
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))[KAFKA_TESTS["4.3"]]["classes"]
    counts = counts_by_class(tests)
    assert len(counts) == len(FAST)
    assert {name: list(of) for name, of in counts.items()} == {name: stored[name][:-1] for name in counts}


def test_tests_of_kafka_fail_with_wrong_answers() -> None:
    tests = run_tests("4.3", FAST, are_wrong=True)
    failed = {test["class"].rpartition(".")[2] for test in tests if test["status"] != "SUCCESSFUL"}
    assert {"CustomStickyTaskAssignorTest", "FallbackPriorTaskAssignorTest"} <= failed


def test_wrong_answers_differ_in_a_client() -> None:
    right = {"assigned": {"a": {"active": ["0_0"], "standby": []}, "b": {"active": ["0_1"], "standby": []}}}
    assert with_a_moved_task(right)["assigned"]["b"]["active"] == ["0_0", "0_1"]


def test_page_has_the_stored_counts() -> None:
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))
    made = tables({version: of["classes"] for version, of in stored.items()})
    assert f"{BEGIN}\n{made}\n{END}" in PAGE.read_text(encoding="utf-8")
