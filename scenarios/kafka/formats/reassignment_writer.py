"""What `kafka-reassign-partitions.sh --reassignment-json-file` takes: JSON of version 1, a line a partition.

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`parseExecuteAssignmentArgs`), which refuses a file
without partitions, a partition or a broker that stands twice, and brokers that are not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from assignors.model.ids import TopicPartition


def reassignment_json(
    partitions: Iterable[tuple[TopicPartition, tuple[int, ...]]],
    log_dirs: Mapping[TopicPartition, tuple[str, ...]] | None = None,
) -> str:
    """Write which brokers partitions shall have, the preferred leader first.

    Args:
        partitions: broker ids by partition.
        log_dirs: the log directory of each replica, for partitions in which any is known.

    Raises:
        ValueError: there are no partitions, which the tool would refuse.
    """
    lines = [json.dumps(_entry(key, replicas, (log_dirs or {}).get(key, ()))) for key, replicas in partitions]
    if not lines:
        raise ValueError("a reassignment of no partitions")
    return '{"version": 1, "partitions": [\n  ' + ",\n  ".join(lines) + "\n]}\n"


def _entry(key: TopicPartition, replicas: tuple[int, ...], log_dirs: tuple[str, ...]) -> dict[str, object]:
    entry = {"topic": key.topic, "partition": key.partition, "replicas": list(replicas)}
    return {**entry, "log_dirs": list(log_dirs)} if log_dirs else entry
