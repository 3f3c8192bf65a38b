"""Which topics Kafka Streams makes for itself, by their names.

Source: `org.apache.kafka.streams.kstream.internals.KStreamImpl` and `KTableImpl.doJoinOnForeignKey` on the names of
topics between subtopologies; `InternalTopologyBuilder.decorateTopic` on the application's id before them.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

_REPARTITION: Final = re.compile(
    r"-repartition$"
    r"|-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-[^-]+-topic$"
    r"|-subscription-(registration|response)-topic$"
)
"""Repartition topics, and those of foreign-key joins, which Kafka counts among them."""


def is_purged_topic(topic: str, application_id: str) -> bool:
    """Whether Kafka Streams deletes records of a topic once it has read them, as it does between subtopologies."""
    return topic.startswith(f"{application_id}-") and _REPARTITION.search(topic) is not None


def full_topic_name(topic: str, application_id: str, topics: Container[str]) -> str:
    """What a topic that `Topology.describe()` names is called in a cluster with these topics.

    Internal topics stand in the text without the application's id.
    """
    internal = f"{application_id}-{topic}"
    return internal if internal in topics and (_REPARTITION.search(topic) or topic not in topics) else topic
