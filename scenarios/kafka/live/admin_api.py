"""The requests that an observation sends to a cluster, as a protocol class, and the connection that sends them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from assignors.model.ids import TopicPartition
from scenarios.kafka.live.client_properties import ClientSettings
from scenarios.kafka.observation.observation import ObservationError

AdminResponse = Mapping[str, Any]
"""Part of a response: values by Kafka's field names in snake case."""


class AdminApi(Protocol):
    """Read-only access to a cluster.

    Every method raises ObservationError if the cluster does not respond or denies the request.
    """

    def coordinator_release(self, group: str) -> str | None:
        """ApiVersions: return the release of a group's coordinator, such as `4.3`; None if it is unknown."""

    def brokers(self) -> Sequence[AdminResponse]:
        """DescribeCluster: return each broker with `broker_id` and `rack`."""

    def groups(self) -> Sequence[AdminResponse]:
        """ListGroups: return `group_id`, `protocol_type` and, from Kafka 3.8, `group_type` of each group."""

    def classic_group(self, group: str) -> AdminResponse:
        """DescribeGroups: return a group, with the metadata and assignment of its members as bytes."""

    def streams_group(self, group: str) -> AdminResponse:
        """StreamsGroupDescribe: return a group."""

    def consumer_group(self, group: str) -> AdminResponse:
        """ConsumerGroupDescribe: return a group of the consumer protocol."""

    def topics(self) -> Sequence[AdminResponse]:
        """Metadata: return all topics."""

    def log_dirs(self, partitions: Mapping[str, Sequence[int]]) -> Sequence[AdminResponse]:
        """DescribeLogDirs: return the `log_dirs` of each `broker` for partitions, given by topic."""

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """ListOffsets: return the first offset of each partition."""

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """ListOffsets: return the log end offset of each partition."""

    def committed_offsets(self, group: str) -> Mapping[TopicPartition, int]:
        """OffsetFetch: return the committed offset of each partition that has one."""

    def broker_configs(self, broker: int, keys: Sequence[str]) -> Mapping[str, str | None]:
        """DescribeConfigs: return configs of a broker."""

    def group_configs(self, group: str) -> Mapping[str, str | None]:
        """DescribeConfigs: return the configs of a group."""

    def topic_configs(self, topics: Sequence[str], keys: Sequence[str]) -> Mapping[str, Mapping[str, str | None]]:
        """DescribeConfigs: return configs of topics; no configs of a topic whose configs are not visible."""

    def moving_partitions(self) -> Sequence[TopicPartition]:
        """ListPartitionReassignments: return the partitions that are being reassigned."""

    def now_ms(self) -> int:
        """Return the current time in ms since 1970."""

    def wait(self, seconds: float) -> None:
        """Wait for a number of seconds."""


@contextlib.contextmanager
def open_cluster(bootstrap: str, settings: ClientSettings) -> Iterator[AdminApi]:
    """Connect to a cluster for the duration of the block.

    `bootstrap`: `host:port` of some brokers, separated by commas. Yields the connected cluster. Raises ObservationError
    if kafka-python is missing, no broker responds, or the settings are rejected.
    """
    try:
        from scenarios.kafka.live import connection
    except ModuleNotFoundError as error:
        raise ObservationError(
            f"kafka-python is required to observe a running cluster ({error.name} is missing): "
            "pip install assignor-sim[kafka]"
        ) from None
    with connection.connect(bootstrap, settings) as cluster:
        yield cluster
