"""The release of a group's coordinator, from two servers that answer like brokers."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.connection import connect

_METADATA, _FIND_COORDINATOR, _API_VERSIONS = 3, 10, 18
_FLEXIBLE_FROM = {_METADATA: 9, _FIND_COORDINATOR: 3}
VERSIONS_4_3 = {0: 13, 1: 18, 2: 11, _METADATA: 13, _FIND_COORDINATOR: 6, _API_VERSIONS: 4, 35: 5, 60: 2}
VERSIONS_4_4 = {**VERSIONS_4_3, _API_VERSIONS: 5}


class Broker(socketserver.ThreadingTCPServer):
    """Answers ApiVersions, Metadata and FindCoordinator; broker 2 is the coordinator of all groups."""

    daemon_threads = True

    def __init__(self, latest_versions: Mapping[int, int]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.latest_versions = latest_versions
        self.ports: list[int] = []

    def answer(self, key: int) -> Any:
        # Only after `connection` has imported kafka-python without its warnings.
        from kafka.protocol.metadata import ApiVersionsResponse, FindCoordinatorResponse, MetadataResponse

        if key == _API_VERSIONS:
            entry = ApiVersionsResponse.ApiVersion
            entries = [
                entry(api_key=key, min_version=0, max_version=latest) for key, latest in self.latest_versions.items()
            ]
            return ApiVersionsResponse(error_code=0, api_keys=entries, throttle_time_ms=0)
        if key == _METADATA:
            node = MetadataResponse.MetadataResponseBroker
            nodes = [
                node(node_id=i, host="127.0.0.1", port=port, rack=None) for i, port in enumerate(self.ports, start=1)
            ]
            return MetadataResponse(throttle_time_ms=0, brokers=nodes, cluster_id="c", controller_id=1, topics=[])
        coordinator = FindCoordinatorResponse.Coordinator(
            key="kiosk", node_id=2, host="127.0.0.1", port=self.ports[1], error_code=0, error_message=""
        )
        return FindCoordinatorResponse(throttle_time_ms=0, coordinators=[coordinator])


class _Connection(socketserver.StreamRequestHandler):
    server: Broker

    def handle(self) -> None:
        while size := self.rfile.read(4):
            request = self.rfile.read(struct.unpack(">i", size)[0])
            key, version, correlation = struct.unpack(">hhi", request[:8])
            tags = b"\0" if version >= _FLEXIBLE_FROM.get(key, version + 1) else b""
            response = struct.pack(">i", correlation) + tags + self.server.answer(key).encode(version=version)
            self.wfile.write(struct.pack(">i", len(response)) + response)


@contextmanager
def running(*versions: Mapping[int, int]) -> Iterator[str]:
    with ExitStack() as stack:
        brokers = [stack.enter_context(Broker(latest)) for latest in versions]
        for broker in brokers:
            broker.ports = [other.server_address[1] for other in brokers]
            threading.Thread(target=broker.serve_forever, args=(0.01,), daemon=True).start()
            stack.callback(broker.shutdown)
        yield f"127.0.0.1:{brokers[0].ports[0]}"


@pytest.mark.parametrize(
    ("coordinator", "release"),
    [(VERSIONS_4_3, "4.3"), (VERSIONS_4_4, "4.4 or later"), ({**VERSIONS_4_3, 35: 4}, "4.2")],
)
def test_release_is_that_of_the_coordinator(coordinator: Mapping[int, int], release: str) -> None:
    """The bootstrap broker may run another release, as during an upgrade of the brokers."""
    with running(VERSIONS_4_3, coordinator) as bootstrap, connect(bootstrap, client_settings({}), 10_000) as cluster:
        assert cluster.coordinator_release("kiosk") == release
