"""What `kafka-log-dirs.sh --describe` prints: two lines of text, and one of JSON with the size of every replica.

Source: `org.apache.kafka.tools.LogDirsCommand`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.lines import FormatError

_COMMAND = "kafka-log-dirs.sh --describe"


def parse_partition_sizes(text: str) -> Mapping[TopicPartition, int]:
    """Read the size of every partition in bytes: that of its largest replica, copies still being made left out.

    Raises:
        FormatError: there is no such JSON in the text.
    """
    return {partition: max(sizes) for partition, sizes in parse_replica_sizes(text).items()}


def parse_replica_sizes(text: str) -> Mapping[TopicPartition, list[int]]:
    """Read the size of every replica of each partition in bytes, copies still being made left out.

    Raises:
        FormatError: there is no such JSON in the text.
    """
    number, line = _json_line(text)
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(number, f"not JSON: {error}") from None
    sizes: dict[TopicPartition, list[int]] = {}
    try:
        for partition, size in _replicas(content):
            sizes.setdefault(partition, []).append(size)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FormatError(number, f"not the JSON that {_COMMAND} prints: {what}") from None
    return sizes


def _json_line(text: str) -> tuple[int, str]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("{"):
            return number, line
    raise FormatError(None, f"no line begins with a brace; this should be what {_COMMAND} prints, JSON included")


def _replicas(content: Any) -> Iterator[tuple[TopicPartition, int]]:
    for broker in content["brokers"]:
        for log_dir in broker["logDirs"]:
            for replica in log_dir["partitions"]:
                if replica.get("isFuture"):
                    continue
                size = replica["size"]
                if type(size) is not int or not 0 <= size < 2**63:
                    raise ValueError(f"size {size!r} is not a number of bytes")
                yield TopicPartition.parse(replica["partition"]), size
