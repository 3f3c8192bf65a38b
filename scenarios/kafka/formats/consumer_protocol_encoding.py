"""Encoding of subscriptions and assignments of consumers that `kafka-dump-log.sh` prints decoded.

Source: `ConsumerProtocolSubscription.json`, `ConsumerProtocolAssignment.json`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

_VERSION: Final = 3


def encode_subscription(printed: Mapping[str, Any]) -> bytes:
    """Encode a subscription in version 3.

    Returns the bytes, as a member sends them. Raises KeyError, TypeError or ValueError if the subscription is
    incomplete or malformed.
    """
    topics = b"".join(map(_text, printed["topics"]))
    rack = printed.get("rackId")
    return b"".join(
        (
            _int16(_VERSION),
            _int32(len(printed["topics"])) + topics,
            _data(printed.get("userData")),
            _topic_partitions(printed.get("ownedPartitions") or ()),
            _int32(printed.get("generationId", -1)),
            _int16(-1) if rack is None else _text(rack),
        )
    )


def encode_assignment(printed: Mapping[str, Any]) -> bytes:
    """Encode an assignment in version 3.

    Returns the bytes, as the leader sends them. Raises KeyError, TypeError or ValueError if the assignment is
    incomplete or malformed.
    """
    return _int16(_VERSION) + _topic_partitions(printed["assignedPartitions"]) + _data(printed.get("userData"))


def _topic_partitions(printed: Sequence[Mapping[str, Any]]) -> bytes:
    entries = (
        _text(entry["topic"]) + _int32(len(entry["partitions"])) + b"".join(map(_int32, entry["partitions"]))
        for entry in printed
    )
    return _int32(len(printed)) + b"".join(entries)


def _data(printed: str | None) -> bytes:
    if printed is None:
        return _int32(-1)
    content = base64.b64decode(printed, validate=True)
    return _int32(len(content)) + content


def _text(text: str) -> bytes:
    content = text.encode()
    return _int16(len(content)) + content


def _int16(value: int) -> bytes:
    return value.to_bytes(2, signed=True)


def _int32(value: int) -> bytes:
    return value.to_bytes(4, signed=True)
