"""The requests that a watch sends to a real cluster."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol.api_message import ApiMessage

READ_ONLY = {
    2: "ListOffsets",
    3: "Metadata",
    9: "OffsetFetch",
    10: "FindCoordinator",
    15: "DescribeGroups",
    16: "ListGroups",
    18: "ApiVersions",
    32: "DescribeConfigs",
    35: "DescribeLogDirs",
    60: "DescribeCluster",
    69: "ConsumerGroupDescribe",
    89: "StreamsGroupDescribe",
}
"""Requests that a watch may send, by API key; none of them changes anything."""


@contextmanager
def recorded_requests(client: str) -> Iterator[list[int]]:
    """Yield the API keys of the requests that kafka-python sends with a client id in the block."""
    sent: list[int] = []
    with_header = ApiMessage.with_header

    def record(message: Any, correlation_id: int = 0, client_id: str = "") -> None:
        if client_id == client:  # Producers and other watches may run in this process, too.
            sent.append(int(message.API_KEY))
        with_header(message, correlation_id=correlation_id, client_id=client_id)

    with mock.patch.object(ApiMessage, "with_header", record):
        yield sent
