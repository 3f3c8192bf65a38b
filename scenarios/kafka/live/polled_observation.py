"""The complete observation of a group from one poll, so that a watch knows tasks, replicas and configs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from assignors.model.ids import TopicPartition
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse
from scenarios.kafka.live.group_polling import PolledGroup, TransientError
from scenarios.kafka.live.observe import observe, observe_consumers
from scenarios.kafka.observation.group_snapshot import GroupKind
from scenarios.kafka.observation.observation import Observation, ObservationError
from scenarios.kafka.observation.stated_racks import StatedRacks

_Response = TypeVar("_Response")


class PolledObserver:
    """Observes a group that was just polled; responses that seldom change are requested once.

    An observation requests the metadata of topics and brokers. The first one also requests the groups, the configs of
    brokers and topics, the sizes of partitions and the first offsets.
    """

    def __init__(
        self, cluster: AdminApi, *, topology: str | None, configs: Mapping[str, str], racks: StatedRacks
    ) -> None:
        """Create an observer.

        `topology`: output of the application's `Topology.describe()`, if available; `configs`: known configs of the
        application or the consumers; `racks`: racks of clients that do not report `client.rack`.
        """
        self._cluster = cluster
        self._topology = topology
        self._configs = configs
        self._racks = racks
        self._kept: dict[str, Any] = {}

    def observe(self, polled: PolledGroup) -> Observation:
        """Return the state of the application, or of the consumer group.

        Raises TransientError if the polled group is not stable, or a member must rejoin at once; and ObservationError
        if the cluster denies a request, a changelog has several possible owners, or a topology is given for a consumer
        group.
        """
        once = cast("AdminApi", _PolledCluster(self._cluster, polled, self._kept))
        group = polled.snapshot.group
        if polled.snapshot.kind is GroupKind.CONSUMERS:
            if self._topology is not None:
                raise ObservationError(f"group '{group}' is a consumer group, and has no topology")
            return observe_consumers(once, group, seconds=0, configs=self._configs, racks=self._racks)
        return observe(
            once,
            group,
            seconds=0,
            topology=self._topology,
            configs=self._configs,
            all_topics=False,
            racks=self._racks,
        )


class _PolledCluster:
    """An `AdminApi` that repeats the polled description of the group, and keeps the responses that seldom change."""

    def __init__(self, cluster: AdminApi, polled: PolledGroup, kept: dict[str, Any]) -> None:
        self._cluster = cluster
        self._polled = polled
        self._kept = kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def classic_group(self, _: str) -> AdminResponse:
        return self._polled.response

    def streams_group(self, _: str) -> AdminResponse:
        return self._polled.response

    def consumer_group(self, _: str) -> AdminResponse:
        return self._polled.response

    def groups(self) -> Sequence[AdminResponse]:
        return self._keep("groups", self._cluster.groups)

    def log_dirs(self, partitions: Mapping[str, Sequence[int]]) -> Sequence[AdminResponse]:
        return self._keep(f"log_dirs {sorted(partitions)}", lambda: self._cluster.log_dirs(partitions))

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._keep(f"start_offsets {sorted(partitions)}", lambda: self._cluster.start_offsets(partitions))

    def broker_configs(self, broker: int, keys: Sequence[str]) -> Mapping[str, str | None]:
        return self._keep(f"broker_configs {broker}", lambda: self._cluster.broker_configs(broker, keys))

    def topic_configs(self, topics: Sequence[str], keys: Sequence[str]) -> Mapping[str, Mapping[str, str | None]]:
        return self._keep(f"topic_configs {sorted(topics)}", lambda: self._cluster.topic_configs(topics, keys))

    def coordinator_release(self, group: str) -> str | None:
        return self._keep("coordinator_release", lambda: self._cluster.coordinator_release(group))

    def wait(self, _: float) -> None:
        raise TransientError("the group is not stable")

    def _keep(self, key: str, request: Callable[[], _Response]) -> _Response:
        if key not in self._kept:
            self._kept[key] = request()
        return cast("_Response", self._kept[key])
