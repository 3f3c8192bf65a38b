"""The applications that are watched, all of them click counting: one for each way in which Kafka may assign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.kafka_cluster.applications import RACK_TAG

STICKY = "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor"
LEGACY_STICKY = "org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor"
STRATEGY = "rack.aware.assignment.strategy"
STANDBYS = "num.standby.replicas"

SESSION_TIMEOUT_MS = 6_000
INITIAL_DELAY_MS = 8_000
"""Long enough for all hosts to come in one lot, however busy the machine is."""
STREAMS_HEARTBEAT_MS = 1_000
PROBING_INTERVAL_MS = 60_000
"""The minimum that Kafka accepts."""

BROKER_CONFIGS: Mapping[str, object] = {
    "group.initial.rebalance.delay.ms": INITIAL_DELAY_MS,
    "group.min.session.timeout.ms": 1_000,
}
"""Short times, so that a crash is missed soon."""

STREAMS_BROKER_CONFIGS: Mapping[str, object] = {
    "group.streams.heartbeat.interval.ms": STREAMS_HEARTBEAT_MS,
    "group.streams.min.heartbeat.interval.ms": STREAMS_HEARTBEAT_MS,
    "group.streams.session.timeout.ms": SESSION_TIMEOUT_MS,
    "group.streams.min.session.timeout.ms": SESSION_TIMEOUT_MS,
    "group.streams.initial.rebalance.delay.ms": INITIAL_DELAY_MS,
}
"""The same of the streams protocol, for releases that have it."""

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
"""What all applications are run with."""


@dataclass(frozen=True, slots=True)
class TestedApplication:
    """An application, and who assigns for it.

    Attributes:
        id: its `application.id`.
        title: what tables call it.
        assignor: who predicts, by a name that `assignors.registry.load` understands.
        configs: Kafka Streams configs beyond the common ones.
        later: what of these changes when all hosts come back after a blackout, if anything.
        since: the first release that can run it.
        hangs_on_timing: whether its assignor asks who had a copy of a task, however far behind. Which copies a member
            tells of hangs on what it has opened, and on disk written down, when it happens to join.
    """

    id: str
    title: str
    assignor: str = "high_availability"
    configs: Mapping[str, object] = field(default_factory=dict)
    later: Mapping[str, object] = field(default_factory=dict)
    since: tuple[int, int] = (3, 8)
    depends_on_timing: bool = False

    def runs_on(self, kafka_version: str) -> bool:
        """Whether a release can run it."""
        major, minor = kafka_version.split(".")[:2]
        release = int(major), int(minor)
        return self.since <= release

    @property
    def uses_streams_groups(self) -> bool:
        """Whether the group coordinator assigns."""
        return self.configs.get("group.protocol") == "streams"


TESTED_APPLICATIONS = (
    TestedApplication("ha", "high availability, 1 standby", configs={STANDBYS: 1}, later={STANDBYS: 2}),
    TestedApplication("ha-bare", "high availability, no standby", later={STANDBYS: 1}),
    TestedApplication(
        "ha-traffic",
        "high availability, 1 standby, min_traffic",
        configs={STANDBYS: 1, STRATEGY: "min_traffic"},
        later={STRATEGY: "balance_subtopology"},
    ),
    TestedApplication(
        "ha-balance",
        "high availability, 1 standby, balance_subtopology",
        configs={STANDBYS: 1, STRATEGY: "balance_subtopology"},
        later={STRATEGY: "none"},
    ),
    TestedApplication(
        "ha-tags",
        "high availability, 1 standby in another zone",
        configs={STANDBYS: 1, "rack.aware.assignment.tags": RACK_TAG},
        later={STANDBYS: 2},
    ),
    TestedApplication(
        "ha-warmup",
        "high availability, nobody is caught up without a copy",
        configs={"acceptable.recovery.lag": 0, "max.warmup.replicas": 4},
    ),
    # Without standbys: it hands those out in the order of a set of objects without hash code, another in each process.
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
        "an assignor of one's own (KIP-924), 1 standby",
        "tests.real_kafka.stay_put:StayPut",
        {STANDBYS: 1, "task.assignor.class": "assignorsim.StayPut", "num.stream.threads": 1},
        depends_on_timing=True,
    ),
    TestedApplication(
        "streams",
        "streams group (KIP-1071)",
        "streams_group_sticky",
        # Which of several threads of a process had a task is more than a scenario tells.
        {"group.protocol": "streams", "num.stream.threads": 1},
        since=(4, 2),
    ),
)
