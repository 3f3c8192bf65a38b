"""A watch of real consumer groups on one broker, of both protocols and with members that subscribe differently.

Consumers join, one closes and one crashes, while records keep arriving.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from assignor_sim.watching.group_watcher import GroupWatcher, WatchRequest
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.connection import connect
from scenarios.watch.watch_events import EventKind, EventLevel, WatchEvent
from scenarios.watch.watch_metrics import METRICS
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tests.kafka_cluster.consumers import PlannedConsumer, run_consumers
from tests.real_kafka.producing import producing
from tests.real_kafka.recorded_requests import READ_ONLY, recorded_requests

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SESSION_MS = 6_000
COMMIT_MS = 500
INTERVAL_S = 0.5
FIRST_POLL_MS, LEAVE_MS, CRASH_MS, END_MS = 2_500, 12_500, 16_000, 27_000
STARTS_MS = {"a": 0, "b": 4_500, "c": 8_500}
PARTITIONS = {"orders": 9, "payments": 4}
SUBSCRIPTIONS = {"b": ("orders",)}
DESCRIBES = {"ledger": 15, "billing": 15, "audit": 69}
_CLASSIC = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 1_000}
_CLIENTS = "org.apache.kafka.clients.consumer."
GROUPS: Mapping[str, Mapping[str, object]] = {
    "ledger": {**_CLASSIC, "partition.assignment.strategy": f"{_CLIENTS}StickyAssignor"},
    "billing": {**_CLASSIC, "partition.assignment.strategy": f"{_CLIENTS}CooperativeStickyAssignor"},
    "audit": {"group.protocol": "consumer"},
}
_BROKER = {
    "group.initial.rebalance.delay.ms": 300,
    "group.consumer.heartbeat.interval.ms": 1_000,
    "group.consumer.min.heartbeat.interval.ms": 1_000,
    "group.consumer.session.timeout.ms": SESSION_MS,
    "group.consumer.min.session.timeout.ms": SESSION_MS,
    "offsets.topic.num.partitions": 1,
}


@dataclass(frozen=True, slots=True)
class WatchedGroup:
    """What a watch saw.

    Attributes:
        events: all events.
        crashed_ms: when a consumer crashed, since 1970.
        values: the names of all metrics that had a value.
        last_poll: API keys of the requests of the last poll.
        requests: API keys of all requests.
    """

    events: Sequence[WatchEvent]
    crashed_ms: int
    values: frozenset[str]
    last_poll: Sequence[int]
    requests: Sequence[int]

    def of_kind(self, kind: EventKind) -> list[WatchEvent]:
        return [event for event in self.events if event.kind is kind]


@pytest.fixture(scope="module")
def watched() -> Iterator[Mapping[str, WatchedGroup]]:
    with KafkaCluster(ClusterSpec(1, ("az1",), broker_configs=_BROKER)) as cluster:
        for topic, partitions in PARTITIONS.items():
            options = ("--topic", topic, "--partitions", str(partitions), "--replication-factor", "1")
            cluster.run_tool("TopicCommand", "--create", *options)
        planned = [
            PlannedConsumer(
                group,
                name,
                SUBSCRIPTIONS.get(name, tuple(PARTITIONS)),
                {**configs, "auto.commit.interval.ms": COMMIT_MS},
                starts_ms,
                closes_ms=LEAVE_MS if name == "b" else None,
                crashes_ms=CRASH_MS if name == "c" else None,
            )
            for group, configs in GROUPS.items()
            for name, starts_ms in STARTS_MS.items()
        ]
        with producing(cluster, PARTITIONS, 0.2), ThreadPoolExecutor(1 + len(GROUPS)) as executor:
            started_ms: Future[int] = Future()
            running = executor.submit(run_consumers, cluster, planned, END_MS, started_ms.set_result)
            base_ms = started_ms.result(timeout=90)
            watches = {group: executor.submit(_watch, cluster, group, base_ms) for group in GROUPS}
            results = {group: watch.result() for group, watch in watches.items()}
            running.result()
            yield results


def _watch(cluster: KafkaCluster, group: str, base_ms: int) -> WatchedGroup:
    """Poll a group from the first assignment until shortly before its consumers end."""
    configs = {key: str(value) for key, value in GROUPS[group].items() if key in _CLASSIC}
    watcher = GroupWatcher(WatchRequest(group, configs={**configs, "auto.commit.interval.ms": str(COMMIT_MS)}))
    client = f"watch-{group}"
    events: list[WatchEvent] = []
    requests: list[int] = []
    values: set[str] = set()
    time.sleep(max(0.0, (base_ms + FIRST_POLL_MS) / 1000 - time.time()))
    with (
        recorded_requests(client) as sent,
        connect(cluster.bootstrap_servers, client_settings({"client.id": client})) as connected,
    ):
        while time.time() * 1000 < base_ms + END_MS - 1_000:
            sent.clear()
            events += watcher.poll(connected)
            requests += sent
            values |= {metric.name for metric in METRICS if dict(metric.values(watcher.status))}
            time.sleep(INTERVAL_S)
        return WatchedGroup(events, base_ms + CRASH_MS, frozenset(values), list(sent), requests)


@pytest.mark.parametrize("group", GROUPS)
def test_no_alarm_while_every_assignment_is_as_predicted(watched: Mapping[str, WatchedGroup], group: str) -> None:
    """The first target of a coordinator is not compared, and a poll may miss targets."""
    own = watched[group]
    assert [event.line() for event in own.events if event.level is EventLevel.ALARM] == []
    verdicts = [event.details["verdict"] for event in own.of_kind(EventKind.PREDICTION)]
    assert verdicts.count("unknown") <= (2 if group == "audit" else 0)
    assert verdicts.count("matched") >= 3


@pytest.mark.parametrize("group", GROUPS)
def test_members_that_join_and_leave_are_reported(watched: Mapping[str, WatchedGroup], group: str) -> None:
    members = watched[group].of_kind(EventKind.MEMBERS)
    joined = [name for event in members for name in event.details["joined"]]
    left = [name for event in members for name in event.details["left"]]
    assert sorted(joined) == sorted(left)
    assert len(set(joined)) == 2
    assert all(name.startswith(f"consumer-{group}-1-") for name in joined)
    assert members[-1].details["members"] == 1


@pytest.mark.parametrize("group", GROUPS)
def test_crash_shows_partitions_down_until_the_session_has_timed_out(
    watched: Mapping[str, WatchedGroup], group: str
) -> None:
    own = watched[group]
    left = own.of_kind(EventKind.MEMBERS)[-1]
    down = [event for event in own.of_kind(EventKind.TASK_DOWN) if own.crashed_ms < event.at_ms <= left.at_ms]
    tasks = [task for event in down for task in event.details.get("tasks", ())]
    assert tasks
    assert all(task["task"].rpartition("-")[0] in PARTITIONS for task in tasks)
    assert all(SESSION_MS - 2_000 <= task["predicted_ms"] <= 4 * SESSION_MS for task in tasks)


@pytest.mark.parametrize("group", GROUPS)
def test_metrics_are_those_of_consumers(watched: Mapping[str, WatchedGroup], group: str) -> None:
    values = watched[group].values
    assert {"members", "tasks", "predictions_total", "source_lag_records", "stalled_tasks"} <= values
    assert values.isdisjoint(metric.name for metric in METRICS if metric.streams_only)


@pytest.mark.parametrize("group", GROUPS)
def test_watch_sends_requests_that_read_only(watched: Mapping[str, WatchedGroup], group: str) -> None:
    own = watched[group]
    assert set(own.requests) <= set(READ_ONLY)
    assert [own.last_poll.count(key) for key in (DESCRIBES[group], 9, 2)] == [1, 1, 1]
