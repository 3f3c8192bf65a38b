"""Placement as by Kafka's AdminUtils. Source of the tables: Kafka's AdminRackAwareTest."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.replicas.admin_utils import PlacementError, alternate_racks, assign_replicas_to_brokers


def _racks(racks: str) -> dict[int, str | None]:
    """Return brokers from 0, by the last letter of their rack; a dot is no rack."""
    return {i: None if rack == "." else f"rack{rack}" for i, rack in enumerate(racks)}


@pytest.mark.parametrize(
    ("racks", "ids"),
    [("133221", [0, 3, 1, 5, 4, 2]), ("13322", [0, 3, 1, 4, 2]), ("111222333", [0, 3, 6, 1, 4, 7, 2, 5, 8])],
)
def test_brokers_are_listed_by_alternating_racks(racks: str, ids: list[int]) -> None:
    assert alternate_racks(_racks(racks)) == ids


def test_followers_shift_after_every_round_with_racks() -> None:
    assert assign_replicas_to_brokers(_racks("133221"), 7, 3, start=0, shift=0) == (
        (0, 3, 1),
        (3, 1, 5),
        (1, 5, 4),
        (5, 4, 2),
        (4, 2, 0),
        (2, 0, 3),
        (0, 4, 2),
    )


def test_followers_shift_after_every_round_without_racks() -> None:
    assert assign_replicas_to_brokers(_racks("....."), 10, 3, start=0, shift=0) == (
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    )


@pytest.mark.parametrize(
    ("racks", "partitions", "replicas", "start"),
    [
        pytest.param("122331", 6, 3, 2, id="as many replicas as racks"),
        pytest.param("122331", 6, 2, 5, id="fewer replicas than racks"),
        pytest.param("122331122313", 96, 3, 7, id="many partitions"),
        pytest.param("123", 3, 2, 1, id="one broker a rack"),
    ],
)
def test_equal_racks_give_every_broker_the_same_share(racks: str, partitions: int, replicas: int, start: int) -> None:
    placed = assign_replicas_to_brokers(_racks(racks), partitions, replicas, start, shift=start)
    share = partitions // len(racks)
    assert Counter(ids[0] for ids in placed) == dict.fromkeys(range(len(racks)), share)
    assert Counter(id_ for ids in placed for id_ in ids) == dict.fromkeys(range(len(racks)), share * replicas)


def test_every_rack_has_a_replica_if_there_are_more_replicas_than_racks() -> None:
    rack = _racks("122332")
    for ids in assign_replicas_to_brokers(rack, 6, 5, start=3, shift=1):
        assert {rack[id_] for id_ in ids} == {"rack1", "rack2", "rack3"}


@st.composite
def _clusters(draw: st.DrawFn) -> tuple[str, int, int, int, int]:
    racks = draw(st.text(alphabet="1234", min_size=1, max_size=9) | st.text(alphabet=".", min_size=1, max_size=9))
    numbers = st.integers(0, 20)
    return racks, draw(st.integers(1, 40)), draw(st.integers(1, len(racks))), draw(numbers), draw(numbers)


@given(_clusters())
def test_replicas_are_on_different_brokers_and_in_as_many_racks_as_possible(
    cluster: tuple[str, int, int, int, int],
) -> None:
    racks, partitions, replicas, start, shift = cluster
    rack = _racks(racks)
    placed = assign_replicas_to_brokers(rack, partitions, replicas, start, shift)
    assert len(placed) == partitions
    leaders = Counter(ids[0] for ids in placed)
    assert max(leaders.values()) - min(leaders[id_] for id_ in rack) <= 1
    for ids in placed:
        assert len(set(ids)) == len(ids) == replicas
        assert len({rack[id_] for id_ in ids}) == min(replicas, len(set(rack.values())))


@pytest.mark.parametrize(
    ("racks", "partitions", "replicas", "message"),
    [
        ("123", 3, 4, "replication factor 4 exceeds the number of brokers, 3"),
        ("123", 0, 1, "a topic requires at least one partition"),
        ("123", 1, 0, "a topic requires at least one partition"),
        ("12.", 3, 2, "not all brokers have a rack (without one: 2)"),
    ],
)
def test_topics_that_kafka_rejects_are_rejected(racks: str, partitions: int, replicas: int, message: str) -> None:
    with pytest.raises(PlacementError, match=re.escape(message)):
        assign_replicas_to_brokers(_racks(racks), partitions, replicas, 0, 0)


def test_single_rack_is_no_constraint_and_every_broker_leads_once() -> None:
    placed = assign_replicas_to_brokers(_racks("111111"), 6, 3, start=4, shift=2)
    assert sorted(ids[0] for ids in placed) == list(range(6))


def test_order_of_brokers_does_not_matter() -> None:
    racks = _racks("133221")
    backwards = dict(reversed(racks.items()))
    assert assign_replicas_to_brokers(backwards, 20, 3, start=1, shift=4) == assign_replicas_to_brokers(
        racks, 20, 3, start=1, shift=4
    )
