"""The tested applications.

The click-counting application in one variant for each way in which Kafka assigns tasks, and applications that keep a
table, with realistic amounts of state, for crashes, shutdowns and newcomers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assignors.model.configs import AssignmentConfigs
from tests.kafka_cluster.applications import CLOSE_CONFIG, RACK_TAG, TABLE_CONFIG, Host, TableTopic

STICKY = "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor"
LEGACY_STICKY = "org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor"
STRATEGY = "rack.aware.assignment.strategy"
STANDBYS = "num.standby.replicas"

SESSION = "session.timeout.ms"
SESSION_TIMEOUT_MS = 6_000
CLOSING_SESSION_MS = 15_000
STATIC_SESSION_MS = 30_000
"""Longer than a host needs to restart."""
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
    "group.streams.task.offset.interval.ms": STREAMS_HEARTBEAT_MS,
    "group.streams.min.task.offset.interval.ms": STREAMS_HEARTBEAT_MS,
}
"""The same timeouts of the streams protocol, for releases that support it.

Members report the copies on their disks with every heartbeat: an import between a move and the next report does not
know the copy that the move has left behind, which decides where the task goes after a crash of all hosts.
"""

COMMON: Mapping[str, object] = {
    "num.stream.threads": 2,
    "replication.factor": 2,
    SESSION: SESSION_TIMEOUT_MS,
    "heartbeat.interval.ms": 1_000,
    "commit.interval.ms": 1_000,
    "statestore.cache.max.bytes": 0,
    "auto.offset.reset": "earliest",
    "probing.rebalance.interval.ms": PROBING_INTERVAL_MS,
    "internal.leave.group.on.close": "true",
}
"""Kafka Streams configs of all applications; they leave their group when they close, unless stated otherwise."""

CLICK_TASKS = 26

STATE_OF_13_MB = TableTopic("table-13mb", partitions=8, records=200_000, value_bytes=500)
"""200,000 records: 13 MB a task, less than RocksDB's memtable of 16 MiB, and more than `acceptable.recovery.lag`."""
STATE_OF_150_MB = TableTopic("table-150mb", partitions=2, records=200_000, value_bytes=1_450)
WITHIN_ACCEPTABLE_LAG = TableTopic("table-within-lag", partitions=8, records=64_000, value_bytes=500)
"""Fewer records a task than `acceptable.recovery.lag`: for steps in which no warm-up should decide."""


class CloseMode(StrEnum):
    """How an application closes.

    Attributes:
        LEAVE: `CloseOptions` with `LEAVE_GROUP`, and `internal.leave.group.on.close`, which old releases require.
        DEFAULT: `KafkaStreams.close(Duration)`.
    """

    LEAVE = "leave"
    DEFAULT = "default"


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
        table: The table it keeps; None for the click-counting application.
        closing: How it closes.
        is_static: Whether its members have a `group.instance.id`.
    """

    id: str
    title: str
    assignor: str = "high_availability"
    configs: Mapping[str, object] = field(default_factory=dict)
    configs_after_blackout: Mapping[str, object] = field(default_factory=dict)
    since: tuple[int, int] = (3, 8)
    depends_on_timing: bool = False
    table: TableTopic | None = None
    closing: CloseMode = CloseMode.LEAVE
    is_static: bool = False

    def runs_on(self, kafka_version: str) -> bool:
        """Return whether a release supports it."""
        major, minor = kafka_version.split(".")[:2]
        release = int(major), int(minor)
        return self.since <= release

    def all_configs(self, *, is_after_blackout: bool = False) -> dict[str, object]:
        """Return its Kafka Streams configs."""
        changed = self.configs_after_blackout if is_after_blackout else {}
        closing: dict[str, object] = (
            {} if self.closing is CloseMode.LEAVE else {"internal.leave.group.on.close": "false"}
        )
        # One replica of large changelogs, as of their topic, to save disk.
        replicas: dict[str, object] = {} if self.table is None else {"replication.factor": self.table.replicas}
        return {**COMMON, **closing, **replicas, **self.configs, **changed}

    def configs_on(self, host: Host, *, is_after_blackout: bool = False) -> dict[str, object]:
        """Return its Kafka Streams configs on a host, and the configs of `Host.java`."""
        return {
            **self.all_configs(is_after_blackout=is_after_blackout),
            **({"group.instance.id": host.name} if self.is_static else {}),
            **({} if self.table is None else {TABLE_CONFIG: self.table.topic}),
            CLOSE_CONFIG: self.closing.value,
        }

    @property
    def num_tasks(self) -> int:
        """Number of tasks."""
        return CLICK_TASKS if self.table is None else self.table.partitions

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


EXACTLY_ONCE: Mapping[str, object] = {"processing.guarantee": "exactly_once_v2"}

ASSIGNORS = (
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
"""The click-counting application with every assignor, on the same hosts."""

CRASHING = (
    TestedApplication("killed-eos", "13 MB a task, exactly-once", configs=EXACTLY_ONCE, table=STATE_OF_13_MB),
    TestedApplication("killed-alos", "13 MB a task, at-least-once", table=STATE_OF_13_MB),
)
CRASHING_WITH_STANDBY = (
    TestedApplication(
        "standby-eos",
        "13 MB a task, exactly-once, 1 standby",
        configs={**EXACTLY_ONCE, STANDBYS: 1},
        table=STATE_OF_13_MB,
    ),
    TestedApplication(
        "standby-alos", "13 MB a task, at-least-once, 1 standby", configs={STANDBYS: 1}, table=STATE_OF_13_MB
    ),
)
LARGE = (TestedApplication("large", "150 MB a task", table=STATE_OF_150_MB),)
CLOSING = (
    TestedApplication(
        "close-leave", "closed with LEAVE_GROUP", configs={SESSION: CLOSING_SESSION_MS}, table=WITHIN_ACCEPTABLE_LAG
    ),
    TestedApplication(
        "close-default",
        "closed by default",
        configs={SESSION: CLOSING_SESSION_MS},
        table=WITHIN_ACCEPTABLE_LAG,
        closing=CloseMode.DEFAULT,
    ),
    TestedApplication(
        "static-leave",
        "static members, closed with LEAVE_GROUP",
        configs={SESSION: STATIC_SESSION_MS},
        table=WITHIN_ACCEPTABLE_LAG,
        is_static=True,
    ),
    TestedApplication(
        "static-default",
        "static members, closed by default",
        configs={SESSION: STATIC_SESSION_MS},
        table=WITHIN_ACCEPTABLE_LAG,
        closing=CloseMode.DEFAULT,
        is_static=True,
    ),
)
THREADED = (
    TestedApplication("threads-classic", "3 threads, random process ids", configs={"num.stream.threads": 3}),
    TestedApplication(
        "threads-streams",
        "streams group (KIP-1071), 3 threads, random process ids",
        "streams_group_sticky",
        {"group.protocol": "streams", "num.stream.threads": 3},
        since=(4, 2),
    ),
)
