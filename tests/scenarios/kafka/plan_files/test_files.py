"""Files of a plan for Kafka's tools, in batches, with their rollback."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from assignors.model.ids import TopicPartition
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState
from scenarios.kafka.formats.reassignment import election_json, parse_reassignment, reassignment_json
from scenarios.kafka.plan_files import (
    BatchLimits,
    ReplicaChange,
    min_duration_ms,
    partitions_to_elect,
    plan_files,
    replica_changes,
    reverse_change,
    split_into_batches,
)

BROKERS = [BrokerState(broker) for broker in (10, 11, 12, 13)]
HELD = {("b", 0): [10, 11], ("a", 10): [11, 12], ("a", 2): [12, 10], ("a", 1): [13, 10]}
SIZES = {key: 100 * (row + 1) for row, key in enumerate(HELD)}


def build_cluster(leaders: dict[tuple[str, int], int] | None = None, *, sizes: bool = True) -> ClusterState:
    return ClusterState.of(BROKERS, HELD, leaders=leaders, size_bytes=SIZES if sizes else None)


def build_plan(*rows: list[int], width: int = 3) -> Any:
    return np.array([row + [NO_BROKER] * (width - len(row)) for row in rows], dtype=np.int64)


SAME = ([0, 1], [1, 2], [2, 0], [3, 0])
PLAN = build_plan([1, 0], [1, 2], [3, 0, 1], [3, 0])
"""b-0 changes its replica order, a-2 has a new leader and one more replica, the others are unchanged."""


def parse_json(content: bytes) -> Any:
    return json.loads(content)


def test_only_changes_are_listed_sorted_by_partition() -> None:
    changes = replica_changes(build_cluster(), PLAN)
    assert changes == (
        ReplicaChange(TopicPartition("a", 2), (12, 10), (13, 10, 11), needs_election=True, size_bytes=300, leader=12),
        ReplicaChange(TopicPartition("b", 0), (10, 11), (11, 10), needs_election=True, size_bytes=100, leader=10),
    )
    assert replica_changes(build_cluster(), build_plan(*SAME)) == ()


def test_copied_bytes_are_unknown_without_sizes() -> None:
    assert [change.copied_bytes for change in replica_changes(build_cluster(sizes=False), PLAN)] == [None, 0], (
        "b-0 copies nothing"
    )


def test_partitions_are_sorted_numerically() -> None:
    everything = build_plan([1, 0], [2, 1], [0, 2], [0, 3])
    assert [str(change.key) for change in replica_changes(build_cluster(), everything)] == ["a-1", "a-2", "a-10", "b-0"]


def test_reassignment_has_kafkas_format_and_rollback_reverses_it() -> None:
    files = plan_files(replica_changes(build_cluster(), PLAN))
    assert list(files) == ["reassignment.json", "election.json", "rollback.json"]
    assert parse_json(files["reassignment.json"]) == {
        "version": 1,
        "partitions": [
            {"topic": "a", "partition": 2, "replicas": [13, 10, 11]},
            {"topic": "b", "partition": 0, "replicas": [11, 10]},
        ],
    }
    assert [move.replicas for move in parse_reassignment(files["rollback.json"].decode())] == [(12, 10), (10, 11)]
    assert parse_json(files["election.json"]) == {
        "partitions": [{"topic": "a", "partition": 2}, {"topic": "b", "partition": 0}]
    }


def test_no_election_is_needed_if_the_preferred_leader_leads() -> None:
    changes = replica_changes(build_cluster({("b", 0): 11}), PLAN)
    assert [change.needs_election for change in changes] == [True, False]


def test_unchanged_partitions_with_another_leader_are_elected() -> None:
    cluster = build_cluster({("a", 10): 12, ("a", 1): NO_BROKER, ("b", 0): 11})
    assert partitions_to_elect(cluster, PLAN) == (TopicPartition("a", 1), TopicPartition("a", 10))
    assert partitions_to_elect(cluster, PLAN, ("b",)) == ()
    files = plan_files(replica_changes(cluster, build_plan(*SAME)), partitions_to_elect(cluster, build_plan(*SAME)))
    assert list(files) == ["election.json"]
    assert [entry["partition"] for entry in parse_json(files["election.json"])["partitions"]] == [1, 10, 0]


def test_plan_without_changes_has_no_files() -> None:
    assert plan_files(()) == {}
    assert plan_files((), (), BatchLimits(partitions=1)) == {}


def test_every_batch_has_its_own_files_and_further_elections_are_in_the_last() -> None:
    files = plan_files(replica_changes(build_cluster(), PLAN), (TopicPartition("c", 0),), BatchLimits(partitions=1))
    assert list(files) == [
        f"batch-{number:03}/{name}.json" for number in (1, 2) for name in ("reassignment", "election", "rollback")
    ]
    assert parse_json(files["batch-001/election.json"]) == {"partitions": [{"topic": "a", "partition": 2}]}
    assert [entry["topic"] for entry in parse_json(files["batch-002/election.json"])["partitions"]] == ["b", "c"]


def test_limit_of_zero_bytes_allows_changes_without_copies() -> None:
    batches = split_into_batches(replica_changes(build_cluster(), PLAN), BatchLimits(bytes=0))
    assert [[str(change.key) for change in batch] for batch in batches] == [["a-2"], ["b-0"]]


@pytest.mark.parametrize("seed", range(5))
def test_batches_partition_the_changes_within_their_limits(seed: int) -> None:
    rng = random.Random(seed)
    changes = [
        ReplicaChange(TopicPartition("t", number), (1,), (2,), rng.random() < 0.5, rng.randint(0, 120), 1)
        for number in range(rng.randint(1, 60))
    ]
    limits = BatchLimits(rng.choice([None, 1, 7]), rng.choice([None, 100, 300]))
    batches = split_into_batches(changes, limits)
    assert [change for batch in batches for change in batch] == changes
    for batch in batches:
        copied = sum(change.copied_bytes or 0 for change in batch)
        assert limits.partitions is None or len(batch) <= limits.partitions
        assert limits.bytes is None or copied <= limits.bytes or len(batch) == 1
    assert limits.splits_plan or len(batches) == 1


def test_byte_limit_requires_known_sizes() -> None:
    with pytest.raises(ValueError, match="unknown size of a-2"):
        split_into_batches(replica_changes(build_cluster(sizes=False), PLAN), BatchLimits(bytes=1))


def test_files_without_partitions_are_rejected() -> None:
    with pytest.raises(ValueError, match="no partitions"):
        reassignment_json([])
    with pytest.raises(ValueError, match="no partitions"):
        election_json([])


def test_names_are_escaped_as_json() -> None:
    key = TopicPartition('a"\\é', 0)
    assert parse_json(reassignment_json([(key, (1,))]).encode())["partitions"][0]["topic"] == 'a"\\é'
    assert parse_json(election_json([key]).encode())["partitions"][0]["topic"] == 'a"\\é'


def test_log_dirs_of_remaining_replicas_are_kept_and_rolled_back() -> None:
    log_dirs = {("a", 2): {12: "/d1", 10: "/d2"}, ("b", 0): {11: "/d3"}}
    files = plan_files(replica_changes(build_cluster(), PLAN, log_dirs))
    assert parse_json(files["reassignment.json"])["partitions"] == [
        {"topic": "a", "partition": 2, "replicas": [13, 10, 11], "log_dirs": ["any", "/d2", "any"]},
        {"topic": "b", "partition": 0, "replicas": [11, 10], "log_dirs": ["/d3", "any"]},
    ]
    assert parse_json(files["rollback.json"])["partitions"] == [
        {"topic": "a", "partition": 2, "replicas": [12, 10], "log_dirs": ["/d1", "/d2"]},
        {"topic": "b", "partition": 0, "replicas": [10, 11], "log_dirs": ["any", "/d3"]},
    ]
    assert [move.log_dirs for move in parse_reassignment(files["rollback.json"].decode())] == [
        ("/d1", "/d2"),
        ("any", "/d3"),
    ]


def test_no_log_dirs_are_written_if_none_is_known() -> None:
    files = plan_files(replica_changes(build_cluster(), PLAN, {("a", 2): {12: "/d1"}, ("a", 1): {13: "/d9"}}))
    assert "/d1" not in files["reassignment.json"].decode()
    assert "log_dirs" not in files["reassignment.json"].decode()
    assert [entry.get("log_dirs") for entry in parse_json(files["rollback.json"])["partitions"]] == [
        ["/d1", "any"],
        None,
    ]


THROTTLED = BatchLimits(throttle_bytes_per_s=50)


def scripts(files: dict[str, bytes]) -> dict[str, str]:
    return {name: content.decode() for name, content in files.items() if name.endswith(".sh")}


def test_scripts_match_the_files_of_a_plan() -> None:
    changes = replica_changes(build_cluster(), PLAN)
    assert list(scripts(plan_files(changes, (), THROTTLED))) == ["execute.sh", "rollback.sh"]
    only_elected = scripts(plan_files((), [TopicPartition("a", 1)], THROTTLED))
    assert list(only_elected) == ["execute.sh"]
    assert "kafka-leader-election.sh" in only_elected["execute.sh"]
    assert "kafka-reassign-partitions.sh" not in only_elected["execute.sh"]
    assert plan_files((), (), THROTTLED) == {}
    assert scripts(plan_files(changes)) == {}


def test_scripts_are_valid_shell() -> None:
    changes = [
        *replica_changes(build_cluster(), PLAN),
        ReplicaChange(TopicPartition("b", 1), (10,), (10,), False, 0, 10, ("/data/1",)),
    ]
    for text in scripts(plan_files(changes, (), THROTTLED)).values():
        checked = subprocess.run([str(shutil.which("sh")), "-n"], input=text, text=True, capture_output=True)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_log_dir_throttle_is_set_only_for_moves_between_directories() -> None:
    moved = ReplicaChange(TopicPartition("b", 1), (10,), (10,), False, 0, 10, ("/data/1",))
    option = "--replica-alter-log-dirs-throttle 50"
    assert option in scripts(plan_files([moved], (), THROTTLED))["execute.sh"]
    assert option not in scripts(plan_files(replica_changes(build_cluster(), PLAN), (), THROTTLED))["execute.sh"]


def test_min_duration_is_that_of_the_busiest_receiver_or_sender() -> None:
    key = TopicPartition("a", 0)
    to_one = [ReplicaChange(key, (1, 2), (1, 3), False, 1_000, 1), ReplicaChange(key, (2, 1), (2, 3), False, 2_000, 2)]
    assert min_duration_ms(to_one, 50) == 60_000
    from_one = [
        ReplicaChange(key, (1, 2), (1, 3), False, 1_000, 1),
        ReplicaChange(key, (1, 2), (1, 4), False, 2_000, 1),
    ]
    assert min_duration_ms(from_one, 50) == 60_000
    to_two = [ReplicaChange(key, (1,), (1, 2, 3), False, 1_000, 1)]
    assert min_duration_ms(to_two, 50) == 40_000, "the leader sends to both"
    assert min_duration_ms([*to_one, ReplicaChange(key, (1,), (2,), False, None, 1)], 50) is None
    assert min_duration_ms([ReplicaChange(key, (1, 2), (2, 1), False, 700, 1)], 50) == 0


def test_reverse_of_a_change_copies_removed_replicas_back() -> None:
    key = TopicPartition("a", 0)
    assert reverse_change(ReplicaChange(key, (1, 2), (3, 2), True, 700, 1)) == ReplicaChange(
        key, (3, 2), (1, 2), True, 700, 3
    )
    assert reverse_change(ReplicaChange(key, (1,), (1, 2, 3), False, 700, 1)).copied_bytes == 0
    assert reverse_change(ReplicaChange(key, (1, 2), (3, 4, 5), False, 300, 1)).copied_bytes == 600
    assert reverse_change(ReplicaChange(key, (1, 2, 3), (1,), False, 300, 1)).copied_bytes == 600
    assert reverse_change(ReplicaChange(key, (1, 2), (2, 1), False, 300, 1)).copied_bytes == 0
    assert reverse_change(ReplicaChange(key, (1,), (2,), False, None, 1)).copied_bytes is None
