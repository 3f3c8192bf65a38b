"""Requests to a real broker, in a Java process with Kafka's own messages (`ProtocolClient.java`)."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from assignors.kafka_releases import CLIENTS
from tools.artifacts import streams_members
from tools.java import ClusterError, build_classpath, find_executable

KAFKA_VERSION: Final = CLIENTS["4.4"]
"""Release of `kafka-clients`, whose messages have instance ids of streams groups and names of assignors."""

MAIN_CLASS = "assignorsim.ProtocolClient"
OPTIONS = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
FIND_COORDINATOR, CREATE_TOPICS, ALTER_CONFIGS, HEARTBEAT, DESCRIBE = 10, 19, 44, 88, 89
GROUP_RESOURCE, SET_CONFIG = 32, 0
NO_ERROR = 0
COORDINATOR_TIMEOUT_S = 60

Json = dict[str, Any]


def classpath() -> str:
    """Return the class path of the program, which includes the interfaces of KIP-1357.

    Raises:
        ClusterError: Maven fails.
    """
    return build_classpath(streams_members(KAFKA_VERSION))


class ProtocolConnection:
    """A connection to a broker; a context manager whose Java process ends with it, and with this process."""

    def __init__(self, bootstrap_server: str) -> None:
        """Prepare a connection.

        Args:
            bootstrap_server: `host:port` of the only broker of a cluster.
        """
        host, _, port = bootstrap_server.partition(":")
        java = find_executable("java", "a JDK, version 17 or newer")
        self._command = [java, *OPTIONS, MAIN_CLASS, host, port]

    def __enter__(self) -> Self:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            self._command,
            env={**os.environ, "CLASSPATH": classpath()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):  # A request that the process has not read.
                    stream.close()
        self._errors.close()

    def send(self, api: int, request: Json, version: int = 1) -> Json:
        """Send a request, and return the response.

        Raises:
            ClusterError: the program exited, for example because the request is incomplete.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        try:
            self._process.stdin.write(json.dumps({"api": api, "version": version, "request": request}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            pass
        if not line:
            self._process.wait()
            self._errors.seek(0)
            raise ClusterError("the protocol client exited:\n" + "\n".join(self._errors.read().splitlines()[-20:]))
        response: Json = json.loads(line)
        return response

    def await_coordinator(self, group: str) -> None:
        """Wait until the broker coordinates groups, which creates the topic of their offsets.

        Raises:
            ClusterError: it does not within a minute.
        """
        deadline_s = time.monotonic() + COORDINATOR_TIMEOUT_S
        while time.monotonic() < deadline_s:
            answer = self.send(FIND_COORDINATOR, {"keyType": 0, "coordinatorKeys": [group]}, version=6)
            if all(entry["errorCode"] == NO_ERROR for entry in answer["coordinators"]):
                return
            time.sleep(0.25)
        raise ClusterError(f"no coordinator of group {group} within {COORDINATOR_TIMEOUT_S} s")

    def create_topics(self, partitions: Mapping[str, int]) -> None:
        """Create topics with one replica, by name and number of partitions.

        Raises:
            ClusterError: the broker refuses.
        """
        topics = [
            {"name": name, "numPartitions": number, "replicationFactor": 1, "assignments": [], "configs": []}
            for name, number in partitions.items()
        ]
        request = {"topics": topics, "timeoutMs": 30_000, "validateOnly": False}
        _check(self.send(CREATE_TOPICS, request, version=7)["topics"])

    def set_group_config(self, group: str, key: str, value: str) -> None:
        """Set a config of a group, as `kafka-configs.sh --entity-type groups`.

        Raises:
            ClusterError: the broker refuses.
        """
        configs = [{"name": key, "configOperation": SET_CONFIG, "value": value}]
        resource = {"resourceType": GROUP_RESOURCE, "resourceName": group, "configs": configs}
        _check(self.send(ALTER_CONFIGS, {"resources": [resource], "validateOnly": False})["responses"])


def _check(results: Iterable[Json]) -> None:
    refused = [result for result in results if result["errorCode"] != NO_ERROR]
    if refused:
        raise ClusterError(f"the broker refused: {refused}")
