"""Producers and consumer groups of the cluster besides the application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

UNCOMPRESSED: Final = "none"
"""The codec of a producer that does not compress."""


class RackShare(NamedTuple):
    """The fraction of a producer's or group's traffic that has its clients in a rack; all fractions add up to 1."""

    rack: str
    share: float


@dataclass(frozen=True, slots=True)
class OtherProducer:
    """Processes that produce to topics of the cluster.

    Attributes:
        share_of: the fraction of each topic's bytes, as brokers store them, that it produces.
        racks: where its processes are.
        is_rack_aware: whether it prefers partitions whose leader is in its rack (KIP-1123).
        has_keys: whether keys determine the partitions of its records, so that it cannot be rack-aware.
        codec: its `compression.type`.
    """

    name: str
    share_of: Mapping[str, float]
    racks: tuple[RackShare, ...]
    is_rack_aware: bool = False
    has_keys: bool = True
    codec: str = UNCOMPRESSED


@dataclass(frozen=True, slots=True)
class OtherGroup:
    """A consumer group besides the application.

    Attributes:
        name: `group.id`.
        topics: the topics that it reads.
        racks: where its members are; each partition is read from a rack in proportion to the members there.
        announces_rack: whether its members have `client.rack`.
        read_share: the bytes that it reads, as a multiple of its topics' bytes.
        share_of: the same for single topics.
    """

    name: str
    topics: tuple[str, ...]
    racks: tuple[RackShare, ...]
    announces_rack: bool = True
    read_share: float = 1.0
    share_of: Mapping[str, float] = field(default_factory=dict)

    def reads_of(self, topic: str) -> float:
        """Return the bytes that it reads of one of its topics, as a multiple of the topic's bytes."""
        return self.share_of.get(topic, self.read_share)


@dataclass(frozen=True, slots=True)
class OtherTraffic:
    """The traffic of the cluster besides the application's.

    Attributes:
        producers: the producers of topics that the application does not write.
        groups: the other consumer groups.
        topic_codecs: `compression.type` of topics whose brokers recompress; absent ones store what producers send.
        compression_ratios: uncompressed bytes per compressed byte, by codec; 1 for none.
    """

    producers: tuple[OtherProducer, ...] = ()
    groups: tuple[OtherGroup, ...] = ()
    topic_codecs: Mapping[str, str] = field(default_factory=dict)
    compression_ratios: Mapping[str, float] = field(default_factory=dict)

    @property
    def racks(self) -> frozenset[str]:
        """The racks of the producers and of the groups' members."""
        places = [*(user.racks for user in self.producers), *(user.racks for user in self.groups)]
        return frozenset(place.rack for racks in places for place in racks)

    def ratio(self, codec: str) -> float | None:
        """Return uncompressed bytes per compressed byte, None if unknown."""
        return 1.0 if codec == UNCOMPRESSED else self.compression_ratios.get(codec)

    def sent_per_stored_byte(self, producer: OtherProducer, topic: str) -> float | None:
        """Return how many bytes a producer sends for each byte that the leader stores; None if a ratio is unknown.

        A leader stores batches as they arrive unless the topic has another `compression.type` than the producer.
        """
        stored_codec = self.topic_codecs.get(topic, producer.codec)
        if stored_codec == producer.codec:
            return 1.0
        stored, sent = self.ratio(stored_codec), self.ratio(producer.codec)
        return None if stored is None or sent is None else stored / sent
