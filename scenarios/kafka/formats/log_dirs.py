"""Output of `kafka-log-dirs.sh --describe`: two lines of text, then JSON with the size of every replica.

The tool prints the JSON in one line; `jq` prints it over several.

Source: `org.apache.kafka.tools.LogDirsCommand`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.lines import FormatError

_COMMAND = "kafka-log-dirs.sh --describe"
_JSON_START = re.compile(r"^[ \t]*\{", re.MULTILINE)


def parse_partition_sizes(text: str) -> Mapping[TopicPartition, int]:
    """Parse the size of each partition, that of its largest replica; replicas still being moved are excluded.

    Returns the size in bytes by partition. Raises FormatError if the text lacks the JSON, or it is malformed.
    """
    return {partition: max(sizes) for partition, sizes in parse_replica_sizes(text).items()}


def parse_replica_sizes(text: str) -> Mapping[TopicPartition, list[int]]:
    """Parse the size of each replica; replicas still being moved (`isFuture`) are excluded.

    Returns the sizes in bytes of its replicas by partition. Raises FormatError if the text lacks the JSON, or it is
    malformed.
    """
    match = _JSON_START.search(text)
    if match is None:
        raise FormatError(None, f"no line starts with a brace; expected the output of {_COMMAND}, including its JSON")
    number = text.count("\n", 0, match.end()) + 1
    try:
        content, _ = json.JSONDecoder().raw_decode(text, match.end() - 1)
    except json.JSONDecodeError as error:
        problem = f"invalid JSON: {error.msg} (character {error.colno})"
        raise FormatError(error.lineno, f"{problem}; expected the complete output of {_COMMAND}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(number, f"invalid JSON: {error}") from None
    sizes: dict[TopicPartition, list[int]] = {}
    try:
        for partition, size in _parse_replicas(content):
            sizes.setdefault(partition, []).append(size)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FormatError(number, f"not the JSON of {_COMMAND}: {problem}") from None
    return sizes


def log_dirs_json(replicas: Iterable[tuple[int, TopicPartition, int]], log_dir: str) -> str:
    """Return replica sizes in the JSON of `kafka-log-dirs.sh`, with one log directory per broker.

    `replicas`: broker id, partition and size in bytes of each replica.
    """
    replicas_of: dict[int, list[dict[str, object]]] = {}
    for broker, partition, size_bytes in replicas:
        entry = {"partition": str(partition), "size": size_bytes, "offsetLag": 0, "isFuture": False}
        replicas_of.setdefault(broker, []).append(entry)
    brokers = [
        {"broker": broker, "logDirs": [{"logDir": log_dir, "error": None, "partitions": replicas_of[broker]}]}
        for broker in sorted(replicas_of)
    ]
    return json.dumps({"version": 1, "brokers": brokers}) + "\n"


def _parse_replicas(content: Any) -> Iterator[tuple[TopicPartition, int]]:
    for broker in content["brokers"]:
        for log_dir in broker["logDirs"]:
            for replica in log_dir["partitions"]:
                if replica.get("isFuture"):
                    continue
                size_bytes = replica["size"]
                if type(size_bytes) is not int or not 0 <= size_bytes < 2**63:
                    raise ValueError(f"size {size_bytes!r} is not a number of bytes")
                yield TopicPartition.parse(replica["partition"]), size_bytes
