"""Decoder of what the sticky assignors of clients add to the metadata of a member.

Source: `org.apache.kafka.clients.consumer.StickyAssignor.deserializeTopicPartitionAssignment` and
`CooperativeStickyAssignor.memberData` (`STICKY_ASSIGNOR_USER_DATA_V1` and `_V0`,
`COOPERATIVE_STICKY_ASSIGNOR_USER_DATA_V0`), kafka-clients 3.8 to 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.byte_reader import ByteReader
from scenarios.kafka.formats.lines import FormatError

_UNREADABLE: Final = -1
"""Generation of user data that Kafka cannot read, and ignores (`AbstractStickyAssignor.DEFAULT_GENERATION`)."""


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """The previous assignment as a member reports it to the sticky assignor.

    Attributes:
        partitions: Partitions that it had, in the order of the data, which the assignor depends on.
        generation: Generation in which it had them; None if the data has none.
    """

    partitions: tuple[TopicPartition, ...] = ()
    generation: int | None = None


def decode_sticky_user_data(data: bytes) -> StickyUserData:
    """Decode the user data of the eager sticky assignor; as in Kafka, data that cannot be read says nothing."""
    if not data:
        return StickyUserData()
    try:
        return _read(data, has_generation=True)
    except FormatError:
        pass
    try:
        return _read(data, has_generation=False)
    except FormatError:
        return StickyUserData((), _UNREADABLE)


def decode_cooperative_generation(data: bytes) -> int | None:
    """Decode the user data of the cooperative sticky assignor: a generation; None without data."""
    if not data:
        return None
    try:
        return ByteReader(data, "CooperativeStickyAssignorUserData").int32("generation")
    except FormatError:
        return _UNREADABLE


def _read(data: bytes, *, has_generation: bool) -> StickyUserData:
    reader = ByteReader(data, "StickyAssignorUserData")
    listed = reader.array("topics", lambda _: (reader.string("topic"), reader.array("partitions", reader.int32)))
    partitions = tuple(TopicPartition(topic, partition) for topic, numbers in listed for partition in numbers)
    return StickyUserData(partitions, reader.int32("generation") if has_generation else None)
