"""Read-only access to a running cluster through kafka-python.

Importing this module requires the extra `kafka`.
"""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.broker_list import infer_release
from scenarios.kafka.live import messages
from scenarios.kafka.live.admin_api import AdminResponse
from scenarios.kafka.live.client_properties import ClientSettings, TokenSource
from scenarios.kafka.observation.observation import ObservationError

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its own files with a deprecated function.
    import kafka
    from kafka import errors
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
    from kafka.protocol.admin import DescribeGroupsRequest
    from kafka.protocol.api_message import ApiMessage
    from kafka.protocol.metadata import ApiVersionsRequest

    class StreamsGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]
        """Request for the description of streams groups."""

    class StreamsGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]
        """Response with the description of streams groups."""

    class ConsumerGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]
        """Request for the description of groups of the consumer protocol."""

    class ConsumerGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]
        """Response with the description of groups of the consumer protocol."""


CONNECT_TIMEOUT_MS: Final = 15_000
"""Default time to connect to a broker."""

_Response = TypeVar("_Response")
_CLUSTER: Final = "Describe on the cluster"
_GROUP: Final = "Describe on the group"
_TOPIC: Final = "Describe on the topics"


class LiveCluster:
    """An `AdminApi` over a connection that `connect` opened."""

    def __init__(self, admin: _AdminClient, settings: ClientSettings) -> None:
        self._admin = admin
        self._settings = settings

    def coordinator_release(self, group: str) -> str | None:
        """ApiVersions."""
        return infer_release(
            self._request(
                f"API versions of the coordinator of '{group}'", lambda: self._admin.latest_versions(group), _GROUP
            )
        )

    def brokers(self) -> Sequence[AdminResponse]:
        """Return the brokers (DescribeCluster)."""
        brokers: Sequence[AdminResponse] = self._request("brokers", self._admin.describe_cluster, _CLUSTER)["brokers"]
        return brokers

    def groups(self) -> Sequence[AdminResponse]:
        """Return all groups (ListGroups)."""
        return self._request("groups", self._admin.list_groups, _GROUP)

    def classic_group(self, group: str) -> AdminResponse:
        """Return a classic group (DescribeGroups)."""
        return self._describe_group(DescribeGroupsRequest(groups=[group]), group)

    def streams_group(self, group: str) -> AdminResponse:
        """Return a streams group (StreamsGroupDescribe)."""
        return self._describe_group(StreamsGroupDescribeRequest(group_ids=[group]), group)

    def consumer_group(self, group: str) -> AdminResponse:
        """Return a group of the consumer protocol (ConsumerGroupDescribe)."""
        return self._describe_group(ConsumerGroupDescribeRequest(group_ids=[group]), group)

    def topics(self) -> Sequence[AdminResponse]:
        """Return all topics (Metadata)."""
        return self._request("topics", self._admin.describe_topics, _TOPIC)

    def log_dirs(self, partitions: Mapping[str, Sequence[int]]) -> Sequence[AdminResponse]:
        """Return the log directories of partitions, by broker (DescribeLogDirs)."""
        by_topic = {topic: list(numbers) for topic, numbers in partitions.items()}
        return self._request("partition sizes", lambda: self._admin.describe_log_dirs(by_topic), _CLUSTER)

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the first offset of each partition (ListOffsets)."""
        return self._list_offsets(partitions, kafka.OffsetSpec.EARLIEST)

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the log end offset of each partition (ListOffsets)."""
        return self._list_offsets(partitions, kafka.OffsetSpec.LATEST)

    def committed_offsets(self, group: str) -> Mapping[TopicPartition, int]:
        """Return the committed offset of each partition that has one (OffsetFetch)."""
        offsets = self._request(
            f"committed offsets of '{group}'", lambda: self._admin.list_group_offsets({group: None}), _GROUP
        ).get(group, {})
        return {TopicPartition(key.topic, key.partition): int(found.offset) for key, found in offsets.items()}

    def broker_configs(self, broker: int, keys: Sequence[str]) -> Mapping[str, str | None]:
        """Return configs of a broker (DescribeConfigs)."""
        return self._describe_configs(ConfigResource(ConfigResourceType.BROKER, str(broker), list(keys)))

    def group_configs(self, group: str) -> Mapping[str, str | None]:
        """Return the configs of a group (DescribeConfigs)."""
        return self._describe_configs(ConfigResource(ConfigResourceType.GROUP, group))

    def topic_configs(self, topics: Sequence[str], keys: Sequence[str]) -> Mapping[str, Mapping[str, str | None]]:
        """Return configs of topics (DescribeConfigs)."""
        if not topics:
            return {}
        resources = [ConfigResource(ConfigResourceType.TOPIC, topic, list(keys)) for topic in topics]
        configs = self._request(
            "configs of topics",
            lambda: self._admin.describe_configs(resources, config_filter="all"),
            "DescribeConfigs on topics",
        ).get("topic", {})
        return {topic: {key: entry["value"] for key, entry in configs.get(topic, {}).items()} for topic in topics}

    def moving_partitions(self) -> Sequence[TopicPartition]:
        """Return the partitions that are being reassigned (ListPartitionReassignments)."""
        moving = self._request("ongoing reassignments", self._admin.list_partition_reassignments, _CLUSTER)
        return [TopicPartition(key.topic, key.partition) for key in moving]

    def now_ms(self) -> int:
        """Return the time of this machine in ms since 1970."""
        return time.time_ns() // 1_000_000

    def wait(self, seconds: float) -> None:
        """Sleep for a number of seconds."""
        time.sleep(seconds)

    def _list_offsets(self, partitions: Sequence[TopicPartition], spec: Any) -> Mapping[TopicPartition, int]:
        if not partitions:
            return {}
        specs = {kafka.TopicPartition(topic, number): spec for topic, number in partitions}
        offsets = self._request("offsets", lambda: self._admin.list_partition_offsets(specs), _TOPIC)
        return {TopicPartition(key.topic, key.partition): result.offset for key, result in offsets.items()}

    def _describe_group(self, request: ApiMessage, group: str) -> AdminResponse:
        return self._request(f"group '{group}'", lambda: self._admin.describe_group(request, group), _GROUP)

    def _describe_configs(self, resource: ConfigResource) -> Mapping[str, str | None]:
        kind = resource.resource_type.name.lower()
        configs = self._request(
            f"configs of {kind} {resource.name}",
            lambda: self._admin.describe_configs([resource], config_filter="all"),
            f"DescribeConfigs on the {'cluster' if kind == 'broker' else kind}",
        )
        return {key: entry["value"] for key, entry in configs.get(kind, {}).get(resource.name, {}).items()}

    def _request(self, subject: str, send: Callable[[], _Response], operation: str) -> _Response:
        """Return the response to a request; errors name its subject and the operation of ACLs that it requires.

        Raises ObservationError if the request is not authorized or fails.
        """
        try:
            return send()
        except errors.AuthorizationError as error:
            raise ObservationError(
                f"not authorized to describe {subject}: {type(error).__name__} (required: the operation {operation})"
            ) from None
        except errors.KafkaError as error:
            raise ObservationError(f"no response on {subject}: {mask_secrets(str(error), self._settings)}") from None


class _AdminClient(KafkaAdminClient):  # type: ignore[misc]
    """kafka-python's client, extended by DescribeGroups with undecoded bytes and by messages that it lacks."""

    def __init__(self, **configs: Any) -> None:
        try:
            super().__init__(**configs)
        except BaseException:
            self._close_failed()
            raise

    def latest_versions(self, group: str) -> Mapping[int, int]:
        """Return the latest version of each request that a group's coordinator supports, by API key.

        kafka-python stores only what both the coordinator and the bootstrap broker support, and knows no release after
        4.3.
        """
        coordinator = self._manager.run(self._find_coordinator_id, group)
        request = ApiVersionsRequest(
            client_software_name=self._manager.config["client_software_name"],
            client_software_version=self._manager.config["client_software_version"],
        )
        response = self._manager.run(self._manager.send, request, coordinator)
        return {int(entry.api_key): int(entry.max_version) for entry in response.api_keys}

    def _close_failed(self) -> None:
        """Close the client after a failed start; otherwise its thread would continue to retry.

        kafka-python offers no public method for this. The constructor may fail before it starts the thread.
        """
        if "_net" in vars(self):
            self._client.close()
            self._net.stop()

    def describe_group(self, request: ApiMessage, group: str) -> AdminResponse:
        """Return a group; of a classic one with members' metadata and assignments as bytes."""
        coordinator = self._manager.run(self._find_coordinator_id, group)
        response = self._manager.run(self._manager.send, request, coordinator)
        described: AdminResponse = response.to_dict(json=False)["groups"][0]
        return described


def _prepare_tokens(settings: ClientSettings) -> None:
    """Get the first token, so that a mistake has its own message, and let kafka-python accept the source of tokens."""
    from kafka.net.sasl.oauth import AbstractTokenProvider

    for source in settings.arguments.values():
        if isinstance(source, TokenSource):
            AbstractTokenProvider.register(type(source))
            source.token()


def mask_secrets(text: str, settings: ClientSettings) -> str:
    """Return a text with passwords replaced by stars."""
    for secret in settings.secrets():
        text = text.replace(secret, "***")
    return text


@contextlib.contextmanager
def connect(bootstrap: str, settings: ClientSettings, timeout_ms: int = CONNECT_TIMEOUT_MS) -> Iterator[LiveCluster]:
    """Connect to a cluster for the duration of the block.

    `bootstrap`: `host:port` of some brokers, separated by commas; `timeout_ms`: the maximum time to connect. Yields the
    connected cluster. Raises ObservationError if no broker responds, or the settings are rejected. The message never
    contains a password.
    """
    servers = [server.strip() for server in bootstrap.split(",") if server.strip()]
    if not servers:
        raise ObservationError("no cluster given; pass HOST:PORT of a broker")
    _prepare_tokens(settings)
    with _capture_connection_errors() as connection_errors:
        try:
            admin = _AdminClient(
                bootstrap_servers=servers, **{"bootstrap_timeout_ms": timeout_ms, **settings.arguments}
            )
        except (errors.KafkaError, OSError, ValueError, TypeError, AssertionError) as error:
            reason = mask_secrets(connection_errors.first_reason() or str(error), settings)
            raise ObservationError(
                f"cannot connect to {bootstrap} ({settings.arguments['security_protocol']}): {reason}; check the "
                "address and the client properties"
            ) from None
        try:
            yield LiveCluster(admin, settings)
        finally:
            admin.close()


class _ConnectionErrors(logging.Handler):
    """Collects why kafka-python lost connections; the exception it raises at the end only reports a timeout."""

    def __init__(self) -> None:
        super().__init__()
        self._reasons: list[str] = []

    def first_reason(self) -> str | None:
        """Return the first authentication failure, or else the first reason; later ones are consequences."""
        authentication = [reason for reason in self._reasons if "uthentication" in reason]
        return next(iter([*authentication, *self._reasons]), None)

    def emit(self, record: logging.LogRecord) -> None:
        _, is_lost, reason = record.getMessage().partition("Connection lost: ")
        if is_lost:
            self._reasons.append(reason)


@contextlib.contextmanager
def _capture_connection_errors() -> Iterator[_ConnectionErrors]:
    """Keep kafka-python from logging requests, which contain passwords, and every connection attempt."""
    logger = logging.getLogger("kafka")
    level, propagate, handler = logger.level, logger.propagate, _ConnectionErrors()
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
