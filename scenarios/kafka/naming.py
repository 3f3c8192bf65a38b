"""Naming rules of Kafka and Kafka Streams: topics, tasks, processes and stream threads.

Source: `org.apache.kafka.streams.processor.internals.ProcessorStateManager.storeChangelogTopic`,
`InternalTopologyBuilder.decorateTopic` (application id as prefix), `RepartitionedInternal`; `KStreamImpl` and
`KTableImpl.doJoinOnForeignKey` (topics between subtopologies); `KafkaStreams` and `StreamThread` (client ids);
`org.apache.kafka.common.internals.Topic` (legal characters).
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from assignors.model.ids import TopicId

TOPIC_PATTERN: Final = r"[\w.-]+"
"""Regular expression of a topic name."""

TASK_PATTERN: Final = r"(?:[\w.-]+__)?\d{1,9}_\d{1,9}"
"""Regular expression of a task id, such as `0_3`, or `name__0_3` of a named topology."""

UUID_PATTERN: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
"""Regular expression of a process id as Kafka prints it, in lower case."""

_CHANGELOG: Final = "-changelog"
_REPARTITION: Final = "-repartition"
_BETWEEN_SUBTOPOLOGIES: Final = re.compile(
    r".+-repartition"
    r"|.*-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-[^-]+-topic"
    r"|.*-subscription-(registration|response)-topic"
)
_THREAD_SUFFIX: Final = re.compile(r"-StreamThread-\d+(-consumer.*)?$")
_TRAILING_UUID: Final = re.compile(rf"{UUID_PATTERN}$", re.IGNORECASE)
_DEFAULT_THREAD: Final = re.compile(rf"(.+)-{UUID_PATTERN}-StreamThread-")


def changelog_topic(application_id: str, store: str) -> str:
    """Return the name of a store's changelog topic."""
    return f"{application_id}-{store}{_CHANGELOG}"


def repartition_topic(application_id: str, name: str) -> str:
    """Return the full name of a repartition topic."""
    return f"{application_id}-{name}{_REPARTITION}"


def is_changelog_topic(application_id: str, topic: str) -> bool:
    """Return whether a topic has the name of a changelog of this application."""
    return topic.startswith(f"{application_id}-") and topic.endswith(_CHANGELOG)


def is_internal_topic(application_id: str, topic: str) -> bool:
    """Return whether a topic has the name of a changelog or repartition topic of this application."""
    return topic.startswith(f"{application_id}-") and topic.endswith((_CHANGELOG, _REPARTITION))


def is_repartition_topic(topic: str) -> bool:
    """Return whether a topic connects subtopologies: a repartition topic, or one of a foreign-key join.

    The name may lack the application id, as in the output of `Topology.describe()`.
    """
    return _BETWEEN_SUBTOPOLOGIES.fullmatch(topic) is not None


def is_purged_topic(topic: str, application_id: str) -> bool:
    """Return whether Kafka Streams purges the records of a topic once it has read them, as in repartition topics."""
    return topic.startswith(f"{application_id}-") and is_repartition_topic(topic)


def store_of_changelog(application_id: str, topic: str) -> str:
    """Return the store of a changelog topic, or the topic itself if it is not named `…-changelog`."""
    if not topic.endswith(_CHANGELOG):
        return topic
    return topic.removeprefix(f"{application_id}-").removesuffix(_CHANGELOG)


def repartition_of_changelog(topic: str) -> str:
    """Return the repartition topic that has the name of a changelog's store."""
    return f"{topic.removesuffix(_CHANGELOG)}{_REPARTITION}"


def repartition_name(application_id: str, topic: str) -> str | None:
    """Return the name of a repartition topic without application id and suffix; None if it is named differently."""
    prefix = f"{application_id}-"
    if not topic.startswith(prefix) or not topic.endswith(_REPARTITION) or len(topic) <= len(prefix + _REPARTITION):
        return None
    return topic[len(prefix) : -len(_REPARTITION)]


def full_topic_name(topic: str, application_id: str, topics: Container[str]) -> str:
    """Return the name in the cluster of a topic that `Topology.describe()` prints.

    `Topology.describe()` prints internal topics without the application id. `topic`: name in the output of
    `Topology.describe()`. Returns `topic` with the application id as prefix, if the cluster has a topic of that name,
    and `topic` is either not in the cluster or has the name of a repartition topic; otherwise `topic`.
    """
    internal = f"{application_id}-{topic}"
    return internal if internal in topics and (is_repartition_topic(topic) or topic not in topics) else topic


def process_client_id(thread_client_id: str) -> str:
    """Return the client id that all threads of a process share, from the client id of one thread or its consumer."""
    return _THREAD_SUFFIX.sub("", thread_client_id)


def trailing_uuid(client_id: str) -> str | None:
    """Return the UUID at the end of a client id; by default that is the process id. None if there is no UUID."""
    match = _TRAILING_UUID.search(client_id)
    return None if match is None else match[0]


def is_base64_uuid(text: str) -> bool:
    """Return whether a text is a UUID as `org.apache.kafka.common.Uuid` prints it, as a member id of KIP-848 is."""
    try:
        TopicId.parse(text)
    except ValueError:
        return False
    return True


def application_of_thread(thread: str) -> str | None:
    """Return the application id in a thread's name; None if the application has a `client.id`, which replaces it."""
    match = _DEFAULT_THREAD.match(thread)
    return None if match is None else match[1]
