"""The files of a plan: what Kafka's tools take, in batches, and what undoes it."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from assignors.ids import TopicPartition
from assignors.replicas.state import NOBODY, Broker, ClusterState
from scenarios.exporters.batches import Limits, batches
from scenarios.exporters.changes import Change, changes, led_by_others
from scenarios.exporters.election import election_text
from scenarios.exporters.files import plan_files
from scenarios.exporters.reassignment import reassignment_text
from scenarios.importers.reassignment import read_plan

BROKERS = [Broker(broker) for broker in (10, 11, 12, 13)]
HELD = {("b", 0): [10, 11], ("a", 10): [11, 12], ("a", 2): [12, 10], ("a", 1): [13, 10]}
SIZES = {key: 100 * (row + 1) for row, key in enumerate(HELD)}


def state(leaders: dict[tuple[str, int], int] | None = None, *, sizes: bool = True) -> ClusterState:
    return ClusterState.of(BROKERS, HELD, leaders=leaders, size_bytes=SIZES if sizes else None)


def planned(*rows: list[int], width: int = 3) -> Any:
    return np.array([row + [NOBODY] * (width - len(row)) for row in rows], dtype=np.int64)


SAME = ([0, 1], [1, 2], [2, 0], [3, 0])
PLAN = planned([1, 0], [1, 2], [3, 0, 1], [3, 0])
"""b-0 changes order, a-2 has a new leader and one replica more, the others stay."""


def read(content: bytes) -> Any:
    return json.loads(content)


def test_only_what_changes_is_written_by_topic_and_number() -> None:
    found = changes(state(), PLAN)
    assert found == (
        Change(TopicPartition("a", 2), (12, 10), (13, 10, 11), needs_election=True, copied_bytes=600),
        Change(TopicPartition("b", 0), (10, 11), (11, 10), needs_election=True, copied_bytes=0),
    )
    assert changes(state(), planned(*SAME)) == ()


def test_bytes_are_not_known_where_sizes_are_not() -> None:
    assert [change.copied_bytes for change in changes(state(sizes=False), PLAN)] == [None, None]


def test_numbers_sort_as_numbers() -> None:
    everything = planned([1, 0], [2, 1], [0, 2], [0, 3])
    assert [str(change.key) for change in changes(state(), everything)] == ["a-1", "a-2", "a-10", "b-0"]


def test_the_reassignment_is_what_kafka_takes_and_the_rollback_undoes_it() -> None:
    files = plan_files(changes(state(), PLAN))
    assert list(files) == ["reassignment.json", "election.json", "rollback.json"]
    assert read(files["reassignment.json"]) == {
        "version": 1,
        "partitions": [
            {"topic": "a", "partition": 2, "replicas": [13, 10, 11]},
            {"topic": "b", "partition": 0, "replicas": [11, 10]},
        ],
    }
    assert [move.replicas for move in read_plan(files["rollback.json"].decode())] == [(12, 10), (10, 11)]
    assert read(files["election.json"]) == {
        "partitions": [{"topic": "a", "partition": 2}, {"topic": "b", "partition": 0}]
    }


def test_whoever_leads_already_needs_no_election() -> None:
    found = changes(state({("b", 0): 11}), PLAN)
    assert [change.needs_election for change in found] == [True, False]


def test_partitions_that_stay_and_are_led_by_another_are_elected_too() -> None:
    standing = state({("a", 10): 12, ("a", 1): NOBODY, ("b", 0): 11})
    assert led_by_others(standing, PLAN) == (TopicPartition("a", 1), TopicPartition("a", 10))
    assert led_by_others(standing, PLAN, ("b",)) == ()
    files = plan_files(changes(standing, planned(*SAME)), led_by_others(standing, planned(*SAME)))
    assert list(files) == ["election.json"]
    assert [entry["partition"] for entry in read(files["election.json"])["partitions"]] == [1, 10, 0]


def test_a_plan_that_changes_nothing_is_no_file() -> None:
    assert plan_files(()) == {}
    assert plan_files((), (), Limits(partitions=1)) == {}


def test_every_batch_has_its_own_files_and_further_elections_are_in_the_last() -> None:
    files = plan_files(changes(state(), PLAN), (TopicPartition("c", 0),), Limits(partitions=1))
    assert list(files) == [
        f"batch-{number:03}/{name}.json" for number in (1, 2) for name in ("reassignment", "election", "rollback")
    ]
    assert read(files["batch-001/election.json"]) == {"partitions": [{"topic": "a", "partition": 2}]}
    assert [entry["topic"] for entry in read(files["batch-002/election.json"])["partitions"]] == ["b", "c"]


def test_a_limit_of_zero_bytes_lets_through_what_copies_nothing() -> None:
    cut = batches(changes(state(), PLAN), Limits(bytes=0))
    assert [[str(change.key) for change in batch] for batch in cut] == [["a-2"], ["b-0"]]


@pytest.mark.parametrize("seed", range(5))
def test_batches_have_every_change_once_in_order_and_keep_to_their_limits(seed: int) -> None:
    draw = random.Random(seed)
    every = [
        Change(TopicPartition("t", number), (1,), (2,), draw.random() < 0.5, draw.randint(0, 120))
        for number in range(draw.randint(1, 60))
    ]
    limits = Limits(draw.choice([None, 1, 7]), draw.choice([None, 100, 300]))
    cut = batches(every, limits)
    assert [change for batch in cut for change in batch] == every
    for batch in cut:
        copied = sum(change.copied_bytes or 0 for change in batch)
        assert limits.partitions is None or len(batch) <= limits.partitions
        assert limits.bytes is None or copied <= limits.bytes or len(batch) == 1
    assert limits.any or len(cut) == 1


def test_bytes_cannot_be_limited_where_sizes_are_not_known() -> None:
    with pytest.raises(ValueError, match="the size of a-2 is not known"):
        batches(changes(state(sizes=False), PLAN), Limits(bytes=1))


def test_kafkas_tools_take_no_file_without_partitions() -> None:
    with pytest.raises(ValueError, match="no partitions"):
        reassignment_text([])
    with pytest.raises(ValueError, match="no partitions"):
        election_text([])


def test_names_are_written_as_json_wants_them() -> None:
    key = TopicPartition('a"\\é', 0)
    assert read(reassignment_text([(key, (1,))]).encode())["partitions"][0]["topic"] == 'a"\\é'
    assert read(election_text([key]).encode())["partitions"][0]["topic"] == 'a"\\é'


def test_log_dirs_stay_where_replicas_stay_and_come_back_with_a_rollback() -> None:
    log_dirs = {("a", 2): {12: "/d1", 10: "/d2"}, ("b", 0): {11: "/d3"}}
    files = plan_files(changes(state(), PLAN, log_dirs))
    assert read(files["reassignment.json"])["partitions"] == [
        {"topic": "a", "partition": 2, "replicas": [13, 10, 11], "log_dirs": ["any", "/d2", "any"]},
        {"topic": "b", "partition": 0, "replicas": [11, 10], "log_dirs": ["/d3", "any"]},
    ]
    assert read(files["rollback.json"])["partitions"] == [
        {"topic": "a", "partition": 2, "replicas": [12, 10], "log_dirs": ["/d1", "/d2"]},
        {"topic": "b", "partition": 0, "replicas": [10, 11], "log_dirs": ["any", "/d3"]},
    ]
    assert [move.log_dirs for move in read_plan(files["rollback.json"].decode())] == [("/d1", "/d2"), ("any", "/d3")]


def test_without_a_log_dir_that_is_known_none_is_written() -> None:
    files = plan_files(changes(state(), PLAN, {("a", 2): {12: "/d1"}, ("a", 1): {13: "/d9"}}))
    assert "/d1" not in files["reassignment.json"].decode()
    assert "log_dirs" not in files["reassignment.json"].decode()
    assert [entry.get("log_dirs") for entry in read(files["rollback.json"])["partitions"]] == [["/d1", "any"], None]
