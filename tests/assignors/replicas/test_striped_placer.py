"""Placement in stripes as by Kafka.

Source of the tables: Kafka's StripedReplicaPlacerTest; for named racks, the output of StripedReplicaPlacer.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.java.java_random import JavaRandom
from assignors.replicas.admin_utils import PlacementError
from assignors.replicas.kafka_generate import place_striped


class MockRandom(JavaRandom):
    """The random numbers of Kafka's own tests: a 64-bit linear congruential generator that starts at 17."""

    def __init__(self) -> None:
        super().__init__(0)
        self._drawn = 17

    def next(self, bits: int) -> int:
        self._drawn = (self._drawn * 2862933555777941757 + 3037000493) % 2**64
        return self._drawn >> (64 - bits)


def _racks(racks: dict[str, str]) -> dict[int, str | None]:
    """Return brokers, such as "10 11", by the name of their rack."""
    return {int(broker): rack for rack, brokers in racks.items() for broker in brokers.split()}


def test_partitions_are_striped_over_brokers_and_reshuffled_after_a_round() -> None:
    placed = place_striped({0: None, 3: None, 2: None, 1: None}, 5, 3, MockRandom())
    assert placed == ((2, 3, 0), (3, 0, 1), (0, 1, 2), (1, 2, 3), (1, 0, 2))


def test_pairs_of_brokers_are_about_equally_frequent() -> None:
    counts = Counter(place_striped(dict.fromkeys(range(4)), 200, 2, MockRandom()))
    expected = {(0, 1): 14, (0, 2): 22, (0, 3): 14, (1, 0): 17, (1, 2): 17, (1, 3): 16}
    assert counts == {**expected, (2, 0): 13, (2, 1): 17, (2, 3): 20, (3, 0): 20, (3, 1): 19, (3, 2): 11}


def test_single_broker_holds_every_partition() -> None:
    assert place_striped({0: None}, 3, 1, MockRandom()) == ((0,), (0,), (0,))


@pytest.mark.parametrize(
    ("racks", "partitions", "replicas", "placed"),
    [
        pytest.param(
            _racks({"1": "10 11", "2": "20 21", "3": "30 31"}),
            4,
            4,
            ((21, 30, 11, 20), (31, 10, 20, 30), (11, 21, 30, 10), (20, 31, 10, 21)),
            id="more replicas than racks",
        ),
        pytest.param(
            _racks({"1": "10 11 12", "2": "20", "3": "30"}),
            6,
            2,
            ((20, 30), (30, 12), (10, 20), (20, 30), (30, 11), (30, 20)),
            id="fewer replicas than racks",
        ),
        pytest.param(
            _racks({"a": "0 1 2 3", "b": "4 5"}),
            5,
            4,
            ((2, 5, 3, 4), (4, 3, 5, 0), (0, 5, 1, 4), (4, 1, 5, 2), (2, 5, 3, 4)),
            id="a small rack",
        ),
    ],
)
def test_racks_alternate(
    racks: dict[int, str | None], partitions: int, replicas: int, placed: tuple[tuple[int, ...], ...]
) -> None:
    assert place_striped(racks, partitions, replicas, MockRandom()) == placed


@st.composite
def _clusters(draw: st.DrawFn) -> tuple[str, int, int, int]:
    racks = draw(st.text(alphabet="1234", min_size=1, max_size=9) | st.text(alphabet=".", min_size=1, max_size=9))
    return racks, draw(st.integers(1, 40)), draw(st.integers(1, len(racks))), draw(st.integers(0, 2**48))


@given(_clusters())
def test_replicas_are_on_different_brokers_and_in_as_many_racks_as_possible(cluster: tuple[str, int, int, int]) -> None:
    names, partitions, replicas, seed = cluster
    racks = dict(enumerate(names))
    placed = place_striped(racks, partitions, replicas, JavaRandom(seed))
    assert len(placed) == partitions
    for ids in placed:
        assert len(set(ids)) == len(ids) == replicas
        assert len({racks[broker] for broker in ids}) == min(replicas, len(set(names)))


def test_order_of_brokers_does_not_matter() -> None:
    racks = _racks({"1": "10 11", "2": "20 21", "3": "30 31"})
    backwards = dict(reversed(racks.items()))
    assert place_striped(backwards, 20, 3, MockRandom()) == place_striped(racks, 20, 3, MockRandom())


@pytest.mark.parametrize(("partitions", "replicas"), [(1, 3), (1, 0), (0, 1)])
def test_topics_that_kafka_rejects_are_rejected(partitions: int, replicas: int) -> None:
    with pytest.raises(PlacementError):
        place_striped(_racks({"1": "10 11"}), partitions, replicas, MockRandom())
