"""Input and output of kafka-reassign-partitions.sh."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.reassignment import PartitionReassignment, parse_reassignment

DIALECTS = Path(__file__).with_name("dialects")

BY_HAND = """
{
  "version": 1,
  "partitions": [
    {"topic": "orders", "partition": 2, "replicas": [5, 6]}, {"topic": "a", "partition": 0, "replicas": [5]},
    {
      "topic": "{braces}",
      "partition": 0,
      "replicas": [7]
    }
  ]
}
"""


def test_proposed_assignment_of_generate_is_parsed() -> None:
    assert parse_reassignment((DIALECTS / "reassignment.txt").read_text()) == (
        PartitionReassignment(5, "orders", 0, (3, 1)),
        PartitionReassignment(5, "payments", 1, (1,)),
    )


def test_entries_have_their_line_numbers() -> None:
    assert parse_reassignment(BY_HAND) == (
        PartitionReassignment(5, "orders", 2, (5, 6)),
        PartitionReassignment(5, "a", 0, (5,)),
        PartitionReassignment(6, "{braces}", 0, (7,)),
    )


def test_log_dirs_are_parsed_per_replica() -> None:
    entry = '{"topic": "a", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "/var/kafka"]}'
    [move] = parse_reassignment(_plan(f"[{entry}]"))
    assert move.log_dirs == ("any", "/var/kafka")


def test_missing_version_is_1() -> None:
    text = '{"partitions": [{"topic": "a", "partition": 0, "replicas": [1, 2], "log_dirs": ["/data/1", "any"]}]}'
    assert parse_reassignment(text) == (PartitionReassignment(1, "a", 0, (1, 2), ("/data/1", "any")),)


def test_proposals_of_cruise_control_are_parsed() -> None:
    text = """{"summary": {"numReplicaMovements": 1}, "version": 1, "proposals": [
      {"topicPartition": {"hash": 7, "topic": "a", "partition": 3}, "oldLeader": 1,
       "oldReplicas": [1, 2], "newReplicas": [2, 3]}]}"""
    assert parse_reassignment(text) == (PartitionReassignment(1, "a", 3, (2, 3)),)


def _plan(partitions: str) -> str:
    return f'{{"version": 1,\n"partitions": {partitions}}}'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no JSON; kafka-reassign-partitions.sh requires {"),
        ("hello", None, "no JSON"),
        ("[]", None, "no JSON"),
        ('\n{"version": 1,\n"partitions": [,]}', 3, "invalid JSON: Expecting value"),
        ("{" * 100, 1, "invalid JSON"),
        ('{"version": "1"}', 1, "version is not 1; kafka-reassign-partitions.sh requires {"),
        ("{}", 1, "partitions is not a non-empty list"),
        ('{"proposals": [1]}', 1, "proposals[0] is not a mapping"),
        ('{"proposals": [{"topicPartition": {"topic": "a"}}]}', 1, "proposals[0].partition is not a partition number"),
        ('\n{"version": 2, "partitions": []}', 2, "version is not 1"),
        ('{"version": 1}', 1, "partitions is not a non-empty list"),
        (_plan("[]"), 1, "partitions is not a non-empty list"),
        (_plan("{}"), 1, "partitions is not a non-empty list"),
        (_plan("[1]"), 1, "partitions is not a list of mappings"),
        (_plan('[1, {"topic": "a"}, {}]'), 1, "partitions is not a list of mappings"),
        (_plan("[{}]"), 2, "partitions[0].topic is not a topic name"),
        (_plan('[{"topic": "a\\n", "partition": 0, "replicas": [1]}]'), 2, "partitions[0].topic is not a topic name"),
        (_plan('[{"topic": "a"}]'), 2, "partitions[0].partition is not a partition number"),
        (_plan('[{"topic": "a", "partition": true}]'), 2, "partitions[0].partition is not a partition number"),
        (_plan('[{"topic": "a", "partition": -1}]'), 2, "partitions[0].partition is not a partition number"),
        (
            _plan('[{"topic": "a", "partition": 0, "replicas": [1, 2], "log_dirs": ["any"]}]'),
            2,
            "partitions[0].log_dirs has 1 entry for 2 replicas",
        ),
        (
            _plan('[{"topic": "a", "partition": 0, "replicas": [1], "log_dirs": ["here"]}]'),
            2,
            "partitions[0].log_dirs[0]: 'here' is not an absolute path or 'any'",
        ),
        (_plan('[{"topic": "a", "partition": 0}]'), 2, "partitions[0].replicas is not a list of broker ids"),
        (
            _plan('[{"topic": "a", "partition": 0, "replicas": []}]'),
            2,
            "partitions[0].replicas is not a list of broker",
        ),
        (_plan('[{"topic": "a", "partition": 0, "replicas": ["1"]}]'), 2, "partitions[0].replicas is not a list of"),
        (
            _plan('[{"topic": "a", "partition": 0, "replicas": [1, 1]}]'),
            2,
            "partitions[0].replicas has a duplicate broker",
        ),
        (
            _plan('[{"topic": "a", "partition": 0, "replicas": [1], "log_dirs": "any"}]'),
            2,
            "partitions[0].log_dirs is not a list of directories",
        ),
        (
            _plan(
                '[{"topic": "a", "partition": 0, "replicas": [1]},\n{"topic": "a", "partition": 0, "replicas": [2]}]'
            ),
            3,
            "partitions[1]: duplicate partition a-0 (first in partitions[0])",
        ),
    ],
)
def test_malformed_json_is_rejected_with_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as raised:
        parse_reassignment(text)
    assert raised.value.line == line
