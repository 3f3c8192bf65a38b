"""What `kafka-reassign-partitions.sh --reassignment-json-file` takes: JSON of version 1, a line a partition.

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`parseExecuteAssignmentArgs`), which refuses a file
without partitions, a partition or a broker that stands twice, and brokers that are not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from assignors.ids import TopicPartition


def reassignment_text(partitions: Iterable[tuple[TopicPartition, tuple[int, ...]]]) -> str:
    """Write which brokers partitions shall have, the preferred leader first.

    Raises:
        ValueError: there are no partitions, which the tool would refuse.
    """
    lines = [
        json.dumps({"topic": key.topic, "partition": key.partition, "replicas": list(replicas)})
        for key, replicas in partitions
    ]
    if not lines:
        raise ValueError("a reassignment of no partitions")
    return '{"version": 1, "partitions": [\n  ' + ",\n  ".join(lines) + "\n]}\n"
