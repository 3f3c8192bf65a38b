"""What sticky assignors of clients add to the metadata of members."""

from __future__ import annotations

import struct

import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.binary_messages import (
    StickyUserData,
    decode_cooperative_generation,
    decode_sticky_user_data,
)

TOPICS = struct.pack(">i", 2) + b"\0\6orders" + struct.pack(">iii", 2, 5, 1) + b"\0\3pay" + struct.pack(">ii", 1, 0)
PARTITIONS = (TopicPartition("orders", 5), TopicPartition("orders", 1), TopicPartition("pay", 0))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", StickyUserData()),
        (TOPICS + struct.pack(">i", 7), StickyUserData(PARTITIONS, 7)),
        (TOPICS, StickyUserData(PARTITIONS, None)),
        (TOPICS[:-3], StickyUserData((), -1)),
        (b"other data", StickyUserData((), -1)),
    ],
    ids=["new member", "version 1", "version 0", "truncated", "of another assignor"],
)
def test_previous_assignment_is_read_as_in_kafka(data: bytes, expected: StickyUserData) -> None:
    assert decode_sticky_user_data(data) == expected


@pytest.mark.parametrize(("data", "expected"), [(b"", None), (struct.pack(">i", 3), 3), (b"\0", -1)])
def test_generation_of_the_cooperative_assignor(data: bytes, expected: int | None) -> None:
    assert decode_cooperative_generation(data) == expected
