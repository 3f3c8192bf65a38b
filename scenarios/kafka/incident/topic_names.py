"""Names of the topics whose ids the records of a group of the consumer protocol (KIP-848) have.

Assignments have ids of topics, and subscriptions have names. Only brokers of Kafka 4.0 also record which id belongs to
which name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scenarios.kafka.formats.coordinator_records import CoordinatorRecord
from scenarios.kafka.formats.coordinator_schemas import (
    CONSUMER_CURRENT,
    CONSUMER_MEMBER,
    CONSUMER_PARTITIONS,
    CONSUMER_PATTERN,
    CONSUMER_TARGET_MEMBER,
)
from scenarios.kafka.formats.message_schemas import Message
from scenarios.kafka.observation.errors import ObservationError

_MAX_NAMED = 5


def topic_names(group: str, records: Sequence[CoordinatorRecord], described: Mapping[str, str]) -> dict[str, str]:
    """Return the name of each topic that the records assign, by its id.

    A topic that is neither described nor recorded with its name is one to which all its owners subscribe; it is known
    if there is only one such name.

    Args:
        group: The group.
        records: Its records.
        described: Names of the topics of the cluster by id, if they are known.

    Raises:
        ObservationError: Several names are possible.
    """
    names = dict(described)
    for record in records:
        if record.type == CONSUMER_PARTITIONS and record.value is not None:
            names.update({entry["topicId"]: entry["topicName"] for entry in record.value["topics"]})
    candidates = _candidates(records)
    while unnamed := [topic_id for topic_id in candidates if topic_id not in names]:
        taken = set(names.values())
        possible = {topic_id: candidates[topic_id] - taken for topic_id in unnamed}
        certain = {topic_id: left for topic_id, left in possible.items() if len(left) == 1}
        if not certain:
            listed = ", ".join(sorted(set().union(*possible.values()))[:_MAX_NAMED]) or "none that the records name"
            raise ObservationError(
                f"group '{group}' reads several topics ({listed}), and its records have their ids only: add the output "
                "of kafka-topics.sh --describe to the folder"
            )
        topic_id, [name] = next(iter(certain.items()))
        names[topic_id] = name
    return {topic_id: names[topic_id] for topic_id in candidates}


def _candidates(records: Sequence[CoordinatorRecord]) -> dict[str, set[str]]:
    """Return the topics to which all owners of each topic subscribed, by its id."""
    subscribed: dict[str, set[str]] = {}
    owners: dict[str, set[str]] = {}
    resolved = [record for record in records if record.type == CONSUMER_PATTERN and record.value is not None]
    patterns: dict[str, set[str]] = {}
    for record in resolved:
        patterns.setdefault(record.pattern or "", set()).update((record.value or {})["topics"])
    for record in records:
        value, member = record.value, record.member_id or ""
        if value is None:
            continue
        if record.type == CONSUMER_MEMBER:
            matching = patterns.get(value["subscribedTopicRegex"] or "", set())
            subscribed.setdefault(member, set()).update(value["subscribedTopicNames"], matching)
        for topic_id in _topic_ids(record.type, value):
            owners.setdefault(topic_id, set()).add(member)
    every: set[str] = set().union(*subscribed.values())
    return {
        topic_id: set.intersection(*(subscribed.get(member, every) for member in members))
        for topic_id, members in owners.items()
    }


def _topic_ids(type_: int, value: Message) -> Iterator[str]:
    fields = {
        CONSUMER_TARGET_MEMBER: ("topicPartitions",),
        CONSUMER_CURRENT: ("assignedPartitions", "partitionsPendingRevocation"),
    }
    for name in fields.get(type_, ()):
        yield from (entry["topicId"] for entry in value[name])
