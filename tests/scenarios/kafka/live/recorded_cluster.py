"""Recorded responses of a real cluster: `Recorder` writes files, `Recorded` replays them.

A file has one response per line: the request, and the response's fields as kafka-python names them, bytes in base64.
`python -m tests.scenarios.kafka.live.recorded_cluster BOOTSTRAP GROUP NAME` writes `recorded/NAME`.
"""

from __future__ import annotations

import base64
import json
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assignors.model.ids import TopicPartition
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse

FOLDER = Path(__file__).parent / "recorded"
_BYTES = "base64"
_NOT_READ = ("authorized_operations", "leader_epoch", "offline_replicas", "topic_configs")


def _packed(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return {_BYTES: base64.b64encode(bytes(value)).decode()}
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _packed(item) for key, item in value.items() if key not in _NOT_READ}
    return [_packed(item) for item in value] if isinstance(value, list | tuple) else value


def _unpacked(entry: dict[str, Any]) -> Any:
    return base64.b64decode(entry[_BYTES]) if set(entry) == {_BYTES} else entry


class Recorder:
    """A cluster that records its responses."""

    def __init__(self, cluster: AdminApi) -> None:
        self._cluster = cluster
        self._lines: list[str] = []

    def save(self, path: Path) -> None:
        path.write_text("".join(self._lines))

    def coordinator_release(self, group: str) -> str | None:
        release: str | None = self._record("coordinator_release", self._cluster.coordinator_release(group))
        return release

    def brokers(self) -> Sequence[AdminResponse]:
        return self._record("brokers", self._cluster.brokers())

    def groups(self) -> Sequence[AdminResponse]:
        return self._record("groups", self._cluster.groups())

    def classic_group(self, group: str) -> AdminResponse:
        return self._record("classic_group", self._cluster.classic_group(group))

    def streams_group(self, group: str) -> AdminResponse:
        return self._record("streams_group", self._cluster.streams_group(group))

    def consumer_group(self, group: str) -> AdminResponse:
        return self._record("consumer_group", self._cluster.consumer_group(group))

    def topics(self) -> Sequence[AdminResponse]:
        return self._record("topics", self._cluster.topics())

    def log_dirs(self, partitions: Mapping[str, Sequence[int]]) -> Sequence[AdminResponse]:
        return self._record("log_dirs", self._cluster.log_dirs(partitions))

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._record_offsets("start_offsets", self._cluster.start_offsets(partitions))

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._record_offsets("end_offsets", self._cluster.end_offsets(partitions))

    def committed_offsets(self, group: str) -> Mapping[TopicPartition, int]:
        return self._record_offsets("committed_offsets", self._cluster.committed_offsets(group))

    def broker_configs(self, broker: int, keys: Sequence[str]) -> Mapping[str, str | None]:
        return self._record("broker_configs", self._cluster.broker_configs(broker, keys))

    def group_configs(self, group: str) -> Mapping[str, str | None]:
        return self._record("group_configs", self._cluster.group_configs(group))

    def topic_configs(self, topics: Sequence[str], keys: Sequence[str]) -> Mapping[str, Mapping[str, str | None]]:
        return self._record("topic_configs", self._cluster.topic_configs(topics, keys))

    def moving_partitions(self) -> Sequence[TopicPartition]:
        moving = self._cluster.moving_partitions()
        self._record("moving_partitions", [list(partition) for partition in moving])
        return moving

    def now_ms(self) -> int:
        return int(self._record("now_ms", self._cluster.now_ms()))

    def wait(self, seconds: float) -> None:
        self._cluster.wait(seconds)

    def _record(self, request: str, response: Any) -> Any:
        self._lines.append(json.dumps([request, _packed(response)], separators=(",", ":")) + "\n")
        return response

    def _record_offsets(self, request: str, response: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self._record(request, [[key.topic, key.partition, offset] for key, offset in sorted(response.items())])
        return response


class Recorded:
    """A cluster that replays recorded responses; the last response of each request is repeated."""

    def __init__(self, name: str, **replaced: list[Any]) -> None:
        """Replay a file; `replaced` are responses that replace recorded ones, by request."""
        self._responses: dict[str, list[Any]] = {}
        for line in (FOLDER / name).read_text().splitlines():
            request, response = json.loads(line, object_hook=_unpacked)
            self._responses.setdefault(request, []).append(response)
        self._responses.update(replaced)
        self.waited_s = 0.0

    def responses(self, request: str) -> list[Any]:
        return self._responses[request]

    def coordinator_release(self, group: str) -> str | None:
        release: str | None = self._next("coordinator_release")
        return release

    def brokers(self) -> Sequence[AdminResponse]:
        return self._next("brokers")

    def groups(self) -> Sequence[AdminResponse]:
        return self._next("groups")

    def classic_group(self, group: str) -> AdminResponse:
        return self._next("classic_group")

    def streams_group(self, group: str) -> AdminResponse:
        return self._next("streams_group")

    def consumer_group(self, group: str) -> AdminResponse:
        return self._next("consumer_group")

    def topics(self) -> Sequence[AdminResponse]:
        return self._next("topics")

    def log_dirs(self, partitions: Mapping[str, Sequence[int]]) -> Sequence[AdminResponse]:
        return self._next("log_dirs")

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._offsets("start_offsets", partitions)

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._offsets("end_offsets", partitions)

    def committed_offsets(self, group: str) -> Mapping[TopicPartition, int]:
        committed = self._next("committed_offsets")
        return {TopicPartition(topic, partition): offset for topic, partition, offset in committed}

    def broker_configs(self, broker: int, keys: Sequence[str]) -> Mapping[str, str | None]:
        configs = self._next("broker_configs")
        return {key: configs[key] for key in keys if key in configs}

    def group_configs(self, group: str) -> Mapping[str, str | None]:
        return self._next("group_configs")

    def topic_configs(self, topics: Sequence[str], keys: Sequence[str]) -> Mapping[str, Mapping[str, str | None]]:
        configs = self._next("topic_configs")
        return {topic: {key: configs[topic][key] for key in keys if key in configs[topic]} for topic in topics}

    def moving_partitions(self) -> Sequence[TopicPartition]:
        return [TopicPartition(topic, partition) for topic, partition in self._next("moving_partitions")]

    def now_ms(self) -> int:
        return int(self._next("now_ms"))

    def wait(self, seconds: float) -> None:
        self.waited_s += seconds

    def _next(self, request: str) -> Any:
        responses = self._responses[request]
        return responses.pop(0) if len(responses) > 1 else responses[0]

    def _offsets(self, request: str, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        offsets = {TopicPartition(topic, partition): offset for topic, partition, offset in self._next(request)}
        return {partition: offsets[partition] for partition in partitions}


def record(bootstrap: str, group: str, name: str) -> None:
    """Observe a running cluster and write its responses to `recorded/NAME`."""
    from scenarios.kafka.live.client_properties import client_settings
    from scenarios.kafka.live.connection import connect
    from scenarios.kafka.live.observe import is_consumer_group, observe, observe_consumers

    with connect(bootstrap, client_settings({})) as cluster:
        recorder = Recorder(cluster)
        if is_consumer_group(cluster, group):
            is_consumer_group(recorder, group)
            observe_consumers(recorder, group, seconds=1, configs={})
        else:
            observe(recorder, group, seconds=5, topology=None, configs={}, all_topics=True)
    recorder.save(FOLDER / name)


if __name__ == "__main__":
    record(*sys.argv[1:])
