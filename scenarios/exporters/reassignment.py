"""What `kafka-reassign-partitions.sh --reassignment-json-file` takes: JSON of version 1, a line a partition.

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`parseExecuteAssignmentArgs`), which refuses a file
without partitions, a partition or a broker that stands twice, and brokers that are not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from assignors.ids import TopicPartition


def reassignment_text(
    partitions: Iterable[tuple[TopicPartition, tuple[int, ...]]],
    log_dirs: Mapping[TopicPartition, tuple[str, ...]] | None = None,
) -> str:
    """Write which brokers partitions shall have, the preferred leader first.

    Args:
        partitions: the broker ids of each.
        log_dirs: the log directory of each replica, for partitions in which any is known.

    Raises:
        ValueError: there are no partitions, which the tool would refuse.
    """
    lines = [
        json.dumps(
            {"topic": key.topic, "partition": key.partition, "replicas": list(replicas), **_log_dirs(key, log_dirs)}
        )
        for key, replicas in partitions
    ]
    if not lines:
        raise ValueError("a reassignment of no partitions")
    return '{"version": 1, "partitions": [\n  ' + ",\n  ".join(lines) + "\n]}\n"


def _log_dirs(key: TopicPartition, log_dirs: Mapping[TopicPartition, tuple[str, ...]] | None) -> dict[str, list[str]]:
    known = (log_dirs or {}).get(key)
    return {"log_dirs": list(known)} if known else {}
