"""What a look at a running cluster asks for: answers in the words of Kafka's protocol.

Between those who ask over the network and those who read the answers, so that the latter do without a network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from assignors.model.ids import TopicPartition

AdminResponse = Mapping[str, Any]
"""A part of a response: Kafka's names of fields in snake case, with their values."""


class AdminApi(Protocol):
    """A cluster that answers; nothing here changes anything on it.

    Raises:
        ObservationError: from every method: the cluster does not answer, or refuses to.
    """

    def version(self) -> str:
        """The release of the brokers, such as `4.3`, by what they support."""

    def brokers(self) -> Sequence[AdminResponse]:
        """DescribeCluster: every broker with `broker_id` and `rack`."""

    def groups(self) -> Sequence[AdminResponse]:
        """ListGroups: `group_id`, `protocol_type` and, from Kafka 3.8 on, `group_type`."""

    def classic_group(self, group: str) -> AdminResponse:
        """DescribeGroups: one group, with what its members told and were told in bytes."""

    def streams_group(self, group: str) -> AdminResponse:
        """StreamsGroupDescribe: one group."""

    def topics(self) -> Sequence[AdminResponse]:
        """Metadata of all topics."""

    def log_dirs(self, partitions: Mapping[str, Sequence[int]]) -> Sequence[AdminResponse]:
        """DescribeLogDirs of these partitions of topics: `broker` and its `log_dirs`."""

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """ListOffsets: the first offset that is there."""

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """ListOffsets: the offset of the next record."""

    def broker_configs(self, broker: int, keys: Sequence[str]) -> Mapping[str, str | None]:
        """DescribeConfigs of a broker."""

    def group_configs(self, group: str) -> Mapping[str, str | None]:
        """DescribeConfigs of a group."""

    def now_ms(self) -> int:
        """The time, in ms since 1970."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""
