"""The tested applications: the click-counting application in one variant for each way in which Kafka assigns tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assignors.model.configs import AssignmentConfigs
from tools.kafka_cluster.applications import RACK_TAG

STICKY = "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor"
LEGACY_STICKY = "org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor"
STRATEGY = "rack.aware.assignment.strategy"
STANDBYS = "num.standby.replicas"

SESSION_TIMEOUT_MS = 6_000
INITIAL_DELAY_MS = 8_000
"""Long enough for all hosts to join in one rebalance, even on a busy machine."""
STREAMS_HEARTBEAT_MS = 1_000
PROBING_INTERVAL_MS = 60_000
"""The minimum that Kafka accepts."""

BROKER_CONFIGS: Mapping[str, object] = {
    "group.initial.rebalance.delay.ms": INITIAL_DELAY_MS,
    "group.min.session.timeout.ms": 1_000,
}
"""Short timeouts, so that the group detects a crash quickly."""

STREAMS_BROKER_CONFIGS: Mapping[str, object] = {
    "group.streams.heartbeat.interval.ms": STREAMS_HEARTBEAT_MS,
    "group.streams.min.heartbeat.interval.ms": STREAMS_HEARTBEAT_MS,
    "group.streams.session.timeout.ms": SESSION_TIMEOUT_MS,
    "group.streams.min.session.timeout.ms": SESSION_TIMEOUT_MS,
    "group.streams.initial.rebalance.delay.ms": INITIAL_DELAY_MS,
}
"""The same timeouts of the streams protocol, for releases that support it."""

COMMON: Mapping[str, object] = {
    "num.stream.threads": 2,
    "replication.factor": 2,
    "session.timeout.ms": SESSION_TIMEOUT_MS,
    "heartbeat.interval.ms": 1_000,
    "commit.interval.ms": 1_000,
    "statestore.cache.max.bytes": 0,
    "auto.offset.reset": "earliest",
    "probing.rebalance.interval.ms": PROBING_INTERVAL_MS,
    "internal.leave.group.on.close": "true",
}
"""Kafka Streams configs of all applications."""


@dataclass(frozen=True, slots=True)
class TestedApplication:
    """An application and its assignor.

    Attributes:
        id: `application.id`.
        title: Name in tables.
        assignor: Name of the simulated assignor, as `assignors.registry.load` accepts it.
        configs: Kafka Streams configs in addition to the common ones.
        configs_after_blackout: Configs that change when all hosts return after the blackout.
        since: First release that supports it.
        depends_on_timing: Whether its assignor uses previous owners regardless of lag. Which tasks a member reports
            depends on what it has opened and written to disk when it joins.
    """

    id: str
    title: str
    assignor: str = "high_availability"
    configs: Mapping[str, object] = field(default_factory=dict)
    configs_after_blackout: Mapping[str, object] = field(default_factory=dict)
    since: tuple[int, int] = (3, 8)
    depends_on_timing: bool = False

    def runs_on(self, kafka_version: str) -> bool:
        """Return whether a release supports it."""
        major, minor = kafka_version.split(".")[:2]
        release = int(major), int(minor)
        return self.since <= release

    @property
    def acceptable_recovery_lag(self) -> int:
        """Lag in records up to which a copy counts as caught up."""
        lag = self.configs.get("acceptable.recovery.lag", AssignmentConfigs().acceptable_recovery_lag)
        assert isinstance(lag, int)
        return lag

    @property
    def uses_streams_groups(self) -> bool:
        """Whether the group coordinator assigns tasks (streams protocol)."""
        return self.configs.get("group.protocol") == "streams"


TESTED_APPLICATIONS = (
    TestedApplication(
        "ha", "high availability, 1 standby", configs={STANDBYS: 1}, configs_after_blackout={STANDBYS: 2}
    ),
    TestedApplication("ha-bare", "high availability, no standby", configs_after_blackout={STANDBYS: 1}),
    TestedApplication(
        "ha-traffic",
        "high availability, 1 standby, min_traffic",
        configs={STANDBYS: 1, STRATEGY: "min_traffic"},
        configs_after_blackout={STRATEGY: "balance_subtopology"},
    ),
    TestedApplication(
        "ha-balance",
        "high availability, 1 standby, balance_subtopology",
        configs={STANDBYS: 1, STRATEGY: "balance_subtopology"},
        configs_after_blackout={STRATEGY: "none"},
    ),
    TestedApplication(
        "ha-tags",
        "high availability, 1 standby in another zone",
        configs={STANDBYS: 1, "rack.aware.assignment.tags": RACK_TAG},
        configs_after_blackout={STANDBYS: 2},
    ),
    TestedApplication(
        "ha-warmup",
        "high availability, acceptable lag 0",
        configs={"acceptable.recovery.lag": 0, "max.warmup.replicas": 4},
    ),
    TestedApplication(
        "killed-eos",
        "high availability, exactly-once, acceptable lag 50",
        configs={"acceptable.recovery.lag": 50, "max.warmup.replicas": 8, "processing.guarantee": "exactly_once_v2"},
    ),
    TestedApplication(
        "killed-alos",
        "high availability, at-least-once, acceptable lag 50",
        configs={"acceptable.recovery.lag": 50, "max.warmup.replicas": 8},
    ),
    # Without standbys: it assigns them in the iteration order of a set that differs between JVMs.
    TestedApplication(
        "sticky",
        "sticky (KIP-924)",
        "sticky_task_assignor",
        {"task.assignor.class": STICKY, "num.stream.threads": 1},
        depends_on_timing=True,
    ),
    TestedApplication(
        "sticky-legacy",
        "sticky, 1 standby",
        "legacy_sticky",
        {STANDBYS: 1, "internal.task.assignor.class": LEGACY_STICKY, "num.stream.threads": 1},
        depends_on_timing=True,
    ),
    TestedApplication(
        "stay-put",
        "custom assignor (KIP-924), 1 standby",
        "tests.real_kafka.stay_put:StayPut",
        {STANDBYS: 1, "task.assignor.class": "assignorsim.StayPut", "num.stream.threads": 1},
        depends_on_timing=True,
    ),
    TestedApplication(
        "streams",
        "streams group (KIP-1071)",
        "streams_group_sticky",
        # A scenario does not state which of several threads of a process had a task.
        {"group.protocol": "streams", "num.stream.threads": 1},
        since=(4, 2),
    ),
)
