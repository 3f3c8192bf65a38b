"""Capture of a past night of plain consumers: groups of both protocols, through joins, a departure, a crash, a return.

`python -m tests.kafka_cluster consumers DIR` writes the segments of `__consumer_offsets` that have the groups, and the
output of the tools that describe the cluster: test data of `scenarios.kafka.incident`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scenarios.kafka.formats.coordinator_records import partition_of_group
from tests.kafka_cluster.cluster import KafkaCluster
from tests.kafka_cluster.consumers import ConsumerEvent, PlannedConsumer, run_consumers
from tests.kafka_cluster.past_night import SEGMENT, packed

TOPICS: Mapping[str, int] = {"orders": 12, "payments": 5}
SESSION_MS = 6_000
STARTS_MS: Mapping[str, int] = {"a": 0, "b": 4_000, "c": 8_000, "d": 12_000}
LEAVE_MS, CRASH_MS, RETURN_MS = 16_000, 20_000, 23_000
"""When b closes, c is killed, and c starts again: before its session has ended."""
COPY_MS, END_MS = 34_000, 36_000
BROKER_CONFIGS: Mapping[str, object] = {
    "group.initial.rebalance.delay.ms": 200,
    "group.consumer.heartbeat.interval.ms": 1_000,
    "group.consumer.min.heartbeat.interval.ms": 1_000,
    "group.consumer.session.timeout.ms": SESSION_MS,
    "group.consumer.min.session.timeout.ms": SESSION_MS,
}
_CLIENTS = "org.apache.kafka.clients.consumer."
_CLASSIC = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 1_000}
_COORDINATED = {"group.protocol": "consumer"}
_SUBSCRIPTIONS: Mapping[str, Sequence[str]] = {"a": ("orders",), "c": ("payments",)}


@dataclass(frozen=True, slots=True)
class NightGroup:
    """A group of the night.

    Attributes:
        assignor: Name of its assignor.
        configs: Configs of its consumers.
        subscriptions: Topics of consumers that do not subscribe to all.
        is_static: Whether its consumers have a `group.instance.id`.
    """

    assignor: str
    configs: Mapping[str, object]
    subscriptions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_static: bool = False

    @property
    def protocol(self) -> str:
        """The group protocol."""
        return "consumer" if self.configs.keys() & _COORDINATED.keys() else "classic"


def _classic(class_name: str) -> dict[str, object]:
    return {**_CLASSIC, "partition.assignment.strategy": f"{_CLIENTS}{class_name}"}


GROUPS: Mapping[str, NightGroup] = {
    "eager": NightGroup("range", _classic("RangeAssignor")),
    "sticky": NightGroup("sticky", _classic("StickyAssignor")),
    "cooperative": NightGroup("cooperative-sticky", _classic("CooperativeStickyAssignor")),
    "mixed-cooperative": NightGroup("cooperative-sticky", _classic("CooperativeStickyAssignor"), _SUBSCRIPTIONS),
    "static": NightGroup("roundrobin", _classic("RoundRobinAssignor"), is_static=True),
    "coordinator": NightGroup("uniform", _COORDINATED),
    "mixed-coordinator": NightGroup("uniform", _COORDINATED, _SUBSCRIPTIONS),
    "coordinator-range": NightGroup("range", {**_COORDINATED, "group.remote.assignor": "range"}),
}


def planned_consumers() -> list[PlannedConsumer]:
    """Return the consumers of all groups; `c-again` is c after its restart, with the same `client.id`."""
    return [
        PlannedConsumer(
            group,
            name,
            tuple(plan.subscriptions.get(client, TOPICS)),
            {
                **plan.configs,
                "client.id": f"{group}-{client}",
                **({"group.instance.id": f"{group}-{client}"} if plan.is_static else {}),
            },
            starts_ms,
            closes_ms=LEAVE_MS if name == "b" else None,
            crashes_ms=CRASH_MS if name == "c" else None,
        )
        for group, plan in GROUPS.items()
        for name, starts_ms in {**STARTS_MS, "c-again": RETURN_MS}.items()
        for client in (name.removesuffix("-again"),)
    ]


def capture_consumer_night(cluster: KafkaCluster, out_dir: Path) -> list[ConsumerEvent]:
    """Run the consumers through the night, and write their records and the description of the cluster to a folder.

    Returns:
        What the consumers printed.

    Raises:
        ClusterError: A JVM or a tool fails.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    for topic, partitions in TOPICS.items():
        options = ("--topic", topic, "--partitions", str(partitions), "--replication-factor", "1")
        cluster.run_tool("TopicCommand", "--create", *options)
    (out_dir / "topics.txt").write_text(cluster.run_tool("TopicCommand", "--describe"))
    with ThreadPoolExecutor(1) as executor:
        started_ms: Future[int] = Future()
        running = executor.submit(run_consumers, cluster, planned_consumers(), END_MS, started_ms.set_result)
        futures: list[Future[Any]] = [started_ms, running]
        wait(futures, return_when=FIRST_COMPLETED)
        if not running.done():
            time.sleep(max(0.0, (started_ms.result() + COPY_MS) / 1_000 - time.time()))
            _copy_segments(cluster, out_dir)
        return running.result()


def _copy_segments(cluster: KafkaCluster, out_dir: Path) -> None:
    for number in sorted(set(map(partition_of_group, GROUPS))):
        partition = f"__consumer_offsets-{number}"
        segment = min(cluster.data_dir.glob(f"broker-*/{partition}/{SEGMENT}"))
        (out_dir / f"{partition}.log.gz").write_bytes(packed(segment.read_bytes()))
