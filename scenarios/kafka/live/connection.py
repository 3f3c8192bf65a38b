"""A running cluster, asked by kafka-python: describes and lists, and nothing else.

Importing this module needs the extra `kafka`.
"""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from assignors.model.ids import TopicPartition
from scenarios.kafka.live import messages
from scenarios.kafka.live.admin_api import AdminResponse
from scenarios.kafka.live.client_properties import ClientSettings
from scenarios.kafka.observation.errors import ObservationError

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Of a function by which kafka-python reads its own files.
    import kafka
    from kafka import errors
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
    from kafka.protocol.admin import DescribeGroupsRequest
    from kafka.protocol.api_message import ApiMessage

    class StreamsGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]
        """Asks for streams groups."""

    class StreamsGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]
        """Tells of them."""


CONNECT_TIMEOUT_MS: Final = 15_000
_ANSWER = TypeVar("_ANSWER")


class LiveCluster:
    """A `Cluster` behind a connection that `connect` opened."""

    def __init__(self, admin: _Admin, settings: ClientSettings) -> None:
        self._admin = admin
        self._settings = settings

    def version(self) -> str:
        """The release of the brokers, by what they support."""
        return self._admin.release()

    def brokers(self) -> Sequence[AdminResponse]:
        """DescribeCluster."""
        described: Sequence[AdminResponse] = self._ask("brokers", self._admin.describe_cluster)["brokers"]
        return described

    def groups(self) -> Sequence[AdminResponse]:
        """ListGroups."""
        return self._ask("groups", self._admin.list_groups)

    def classic_group(self, group: str) -> AdminResponse:
        """DescribeGroups."""
        return self._ask(f"group '{group}'", lambda: self._admin.describe_classic(group))

    def streams_group(self, group: str) -> AdminResponse:
        """StreamsGroupDescribe."""
        return self._ask(f"group '{group}'", lambda: self._admin.describe_streams(group))

    def topics(self) -> Sequence[AdminResponse]:
        """Metadata."""
        return self._ask("topics", self._admin.describe_topics)

    def log_dirs(self, partitions: Mapping[str, Sequence[int]]) -> Sequence[AdminResponse]:
        """DescribeLogDirs."""
        asked = {topic: list(numbers) for topic, numbers in partitions.items()}
        return self._ask("sizes of partitions", lambda: self._admin.describe_log_dirs(asked))

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """ListOffsets."""
        return self._offsets(partitions, kafka.OffsetSpec.EARLIEST)

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """ListOffsets."""
        return self._offsets(partitions, kafka.OffsetSpec.LATEST)

    def broker_configs(self, broker: int, keys: Sequence[str]) -> Mapping[str, str | None]:
        """DescribeConfigs."""
        return self._configs(ConfigResource(ConfigResourceType.BROKER, str(broker), list(keys)))

    def group_configs(self, group: str) -> Mapping[str, str | None]:
        """DescribeConfigs."""
        return self._configs(ConfigResource(ConfigResourceType.GROUP, group))

    def now_ms(self) -> int:
        """The time of this machine."""
        return time.time_ns() // 1_000_000

    def wait(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def _offsets(self, partitions: Sequence[TopicPartition], spec: Any) -> Mapping[TopicPartition, int]:
        if not partitions:
            return {}
        asked = {kafka.TopicPartition(topic, number): spec for topic, number in partitions}
        found = self._ask("offsets", lambda: self._admin.list_partition_offsets(asked))
        return {TopicPartition(each.topic, each.partition): told.offset for each, told in found.items()}

    def _configs(self, resource: ConfigResource) -> Mapping[str, str | None]:
        kind = resource.resource_type.name.lower()
        what = f"configs of {kind} {resource.name}"
        found = self._ask(what, lambda: self._admin.describe_configs([resource], config_filter="all"))
        return {key: entry["value"] for key, entry in found.get(kind, {}).get(resource.name, {}).items()}

    def _ask(self, what: str, question: Callable[[], _ANSWER]) -> _ANSWER:
        """Ask, and say what was asked for where there is no answer."""
        try:
            return question()
        except errors.AuthorizationError as error:
            raise ObservationError(
                f"not allowed to see the {what}: {hidden(str(error), self._settings)} (to look takes the operations "
                "Describe and DescribeConfigs on the cluster, and Describe on the group and its topics)"
            ) from None
        except errors.KafkaError as error:
            raise ObservationError(f"no answer on the {what}: {hidden(str(error), self._settings)}") from None


class _Admin(KafkaAdminClient):  # type: ignore[misc]
    """kafka-python's client, with the two requests that it lacks: one in bytes, and one that it does not know."""

    def __init__(self, **configs: Any) -> None:
        try:
            super().__init__(**configs)
        except BaseException:
            self._give_up()
            raise

    def release(self) -> str:
        """The release of the brokers as kafka-python has inferred it."""
        return ".".join(map(str, self._manager.broker_version))

    def describe_classic(self, group: str) -> AdminResponse:
        """DescribeGroups; members' bytes untouched."""
        return self._describe(DescribeGroupsRequest(groups=[group]), group)

    def describe_streams(self, group: str) -> AdminResponse:
        """StreamsGroupDescribe."""
        return self._describe(StreamsGroupDescribeRequest(group_ids=[group]), group)

    def _give_up(self) -> None:
        """Close what a failed start leaves open: its thread would go on trying."""
        if hasattr(self, "_net"):
            self._client.close()
            self._net.stop()

    def _describe(self, request: ApiMessage, group: str) -> AdminResponse:
        coordinator = self._manager.run(self._find_coordinator_id, group)
        response = self._manager.run(self._manager.send, request, coordinator)
        described: AdminResponse = response.to_dict(json=False)["groups"][0]
        return described


def hidden(text: str, settings: ClientSettings) -> str:
    """A text with stars for the passwords in it."""
    for secret in settings.secrets():
        text = text.replace(secret, "***")
    return text


@contextlib.contextmanager
def connect(bootstrap: str, settings: ClientSettings) -> Iterator[LiveCluster]:
    """Connect for as long as the block runs.

    Raises:
        ObservationError: nobody answers, or the settings are refused; never with a password in it.
    """
    servers = [server.strip() for server in bootstrap.split(",") if server.strip()]
    if not servers:
        raise ObservationError("no cluster is named; give HOST:PORT of a broker")
    with _kept_quiet() as complaints:
        try:
            admin = _Admin(
                bootstrap_servers=servers, **{"bootstrap_timeout_ms": CONNECT_TIMEOUT_MS, **settings.arguments}
            )
        except (errors.KafkaError, OSError, ValueError, TypeError, AssertionError) as error:
            why = hidden(complaints.reason() or str(error), settings)
            raise ObservationError(
                f"cannot connect to {bootstrap} ({settings.arguments['security_protocol']}): {why}; check the address "
                "and the client's settings"
            ) from None
        try:
            yield LiveCluster(admin, settings)
        finally:
            admin.close()


class _Complaints(logging.Handler):
    """Remembers why kafka-python lost connections: what it raises at the end says only that time is up."""

    def __init__(self) -> None:
        super().__init__()
        self._reasons: list[str] = []

    def reason(self) -> str | None:
        """Why the first was lost, or one that was refused; what follows that is only a broker's patience ending."""
        refused = [reason for reason in self._reasons if "uthentication" in reason]
        return next(iter([*refused, *self._reasons]), None)

    def emit(self, record: logging.LogRecord) -> None:
        _, lost, why = record.getMessage().partition("Connection lost: ")
        if lost:
            self._reasons.append(why)


@contextlib.contextmanager
def _kept_quiet() -> Iterator[_Complaints]:
    """Keep kafka-python from logging what it sends, passwords among it, and from telling of every attempt."""
    logger = logging.getLogger("kafka")
    level, propagate, complaints = logger.level, logger.propagate, _Complaints()
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    logger.addHandler(complaints)
    try:
        yield complaints
    finally:
        logger.removeHandler(complaints)
        logger.setLevel(level)
        logger.propagate = propagate
