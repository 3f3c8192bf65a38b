"""Topics and assignors of groups of plain consumers on a real broker."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from concurrent.futures import Future

from tests.kafka_cluster.cluster import KafkaCluster

_READY_TIMEOUT_S = 180


def create_topics(cluster: KafkaCluster, topics: Mapping[str, int]) -> dict[str, str]:
    """Create topics with these numbers of partitions, and return their ids."""
    for topic, partitions in topics.items():
        options = ("--topic", topic, "--partitions", str(partitions), "--replication-factor", "1")
        cluster.run_tool("TopicCommand", "--create", *options)
    described = cluster.run_tool("TopicCommand", "--describe")
    return dict(re.findall(r"Topic: (\S+)\s+TopicId: (\S+)", described))


def assignors_at(cluster: KafkaCluster, started_ms: Future[int], at_ms: int) -> dict[str, str]:
    """Return the assignor of each stable group at a time after the start of the consumers."""
    time.sleep(max(0.0, (started_ms.result(_READY_TIMEOUT_S) + at_ms) / 1000 - time.time()))
    printed = cluster.run_tool("ConsumerGroupCommand", "--describe", "--state", "--all-groups")
    return dict(re.findall(r"^(\S+) .*?\) +(\S+) +Stable", printed, re.MULTILINE))
