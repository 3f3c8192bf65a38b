"""Plain consumers on a real broker, compared with simulated runs of the same events: joins, a departure and a crash.

In some groups, members subscribe to different topics. All groups run at the same time on one broker. The simulated
members have the member ids of the real ones, so that ties are broken equally. Heartbeats have arbitrary phases in both,
so that downtimes agree only within the range of several seeds.
"""

from __future__ import annotations

import base64
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import pytest

import assignor_sim as sim
from assignor_sim.api.cluster_import import ImportedScenario
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tests.kafka_cluster.consumers import ConsumerEvent, PlannedConsumer, run_consumers
from tests.real_kafka.observed_groups import create_topics
from tests.scenarios.kafka.consumer_assignments import current_and_next

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

END_MS = 38_000
IMPORT_MS = 29_000
"""When groups are imported that are stable again after the crash."""
CRASH_MS = 20_000
LEAVE_MS = 16_000
STARTS_MS = {"a": 0, "b": 5_000, "c": 8_000, "d": 12_000}
TOPICS = {"orders": 12, "payments": 5}
SEEDS = range(1, 9)
SLACK_MS = 17_000
"""Allowed difference of the downtime, summed over 17 partitions, on a busy machine: 1 s for each."""

_CLIENTS = "org.apache.kafka.clients.consumer."
_CLASSIC = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000}
_BROKER = {
    "group.initial.rebalance.delay.ms": 1_000,
    "group.consumer.heartbeat.interval.ms": 1_000,
    "group.consumer.min.heartbeat.interval.ms": 1_000,
    "group.consumer.session.timeout.ms": 6_000,
    "group.consumer.min.session.timeout.ms": 6_000,
}


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group.

    Attributes:
        assignor: its assignor.
        configs: the configs of its consumers.
        rebalances: how many rebalances a simulated run has.
        subscriptions: the topics of consumers that do not subscribe to all topics of the group.
        spare_rebalances: how many rebalances it may have beyond the predicted ones. In a cooperative rebalance, members
            revoke at about the same time; one that rejoins after the follow-up has begun causes another.
    """

    assignor: str
    configs: Mapping[str, object]
    rebalances: int = 6
    subscriptions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    spare_rebalances: int = 0


_SUBSCRIPTIONS = {"a": ("orders",), "c": ("payments",)}
"""Consumers that do not subscribe to all topics, in groups whose members subscribe to different topics."""


def classic(assignor: str, class_name: str, **values: Any) -> Group:
    """Return a group of the classic protocol."""
    return Group(assignor, {**_CLASSIC, "partition.assignment.strategy": f"{_CLIENTS}{class_name}"}, **values)


GROUPS = {
    "eager": classic("range", "RangeAssignor"),
    "sticky": classic("sticky", "StickyAssignor"),
    "cooperative": classic("cooperative-sticky", "CooperativeStickyAssignor", rebalances=9, spare_rebalances=2),
    "coordinator": Group("uniform", {"group.protocol": "consumer"}),
    "mixed-eager": classic("range", "RangeAssignor", subscriptions=_SUBSCRIPTIONS),
    "mixed-sticky": classic("sticky", "StickyAssignor", subscriptions=_SUBSCRIPTIONS),
    "mixed-cooperative": classic(
        "cooperative-sticky",
        "CooperativeStickyAssignor",
        rebalances=10,
        spare_rebalances=2,
        subscriptions=_SUBSCRIPTIONS,
    ),
    "mixed-coordinator": Group("uniform", {"group.protocol": "consumer"}, subscriptions=_SUBSCRIPTIONS),
}


IMPORTED = ("mixed-eager", "mixed-cooperative", "mixed-coordinator")


@dataclass(frozen=True, slots=True)
class Observed:
    """What happened on a real broker.

    Attributes:
        events: what the consumers of all groups have printed.
        topic_ids: the ids of the topics.
        imported: scenarios of groups, imported while their consumers ran.
    """

    events: Sequence[ConsumerEvent]
    topic_ids: Mapping[str, str]
    imported: Mapping[str, ImportedScenario]


@pytest.fixture(scope="module")
def real() -> Iterator[Observed]:
    """Yield what happened to all groups."""
    with KafkaCluster(ClusterSpec(1, ("az1",), broker_configs=_BROKER)) as cluster:
        topic_ids = create_topics(cluster, TOPICS)
        planned = [
            PlannedConsumer(
                group,
                name,
                plan.subscriptions.get(name, tuple(TOPICS)),
                plan.configs,
                starts_ms,
                closes_ms=LEAVE_MS if name == "b" else None,
                crashes_ms=CRASH_MS if name == "c" else None,
            )
            for group, plan in GROUPS.items()
            for name, starts_ms in STARTS_MS.items()
        ]
        with ThreadPoolExecutor(1) as executor:
            started_ms: Future[int] = Future()
            running = executor.submit(run_consumers, cluster, planned, END_MS, started_ms.set_result)
            wait([started_ms, running], return_when=FIRST_COMPLETED)
            imported = {} if running.done() else _import_groups(cluster, started_ms.result())
            yield Observed(running.result(), topic_ids, imported)


def _import_groups(cluster: KafkaCluster, started_ms: int) -> dict[str, ImportedScenario]:
    """Import groups once they have settled after the crash."""
    time.sleep(max(0.0, (started_ms + IMPORT_MS) / 1000 - time.time()))
    return {name: sim.import_cluster(name, bootstrap=cluster.bootstrap_servers, seconds=0) for name in IMPORTED}


@pytest.mark.parametrize("name", GROUPS)
def test_predicted_rebalances_owners_and_downtimes(name: str, real: Observed) -> None:
    plan, own = GROUPS[name], [event for event in real.events if event.group == name]
    generations = [event.generation for event in own if event.what == "generation" and event.generation > 0]
    rebalances, (owners, downtime_ms) = max(generations) - min(generations) + 1, observed(own)
    runs = [sim.run(sim.loads(scenario(name, own, real.topic_ids)), seed=seed) for seed in SEEDS]
    predicted = [run.tables["runs"].to_pylist()[0] for run in runs]
    assert {row["rebalances"] for row in predicted} == {plan.rebalances}
    assert 0 <= rebalances - plan.rebalances <= plan.spare_rebalances
    for run in runs:
        assert last_owners(run) == owners, lateness(own)
    downtimes = [row["downtime_ms"] for row in predicted]
    assert min(downtimes) - SLACK_MS <= downtime_ms <= max(downtimes) + SLACK_MS


def lateness(events: Sequence[ConsumerEvent]) -> dict[str, int]:
    """Return by how many milliseconds each consumer's first event is later than its planned start."""
    first_ms = {name: min(event.at_ms for event in events if event.name == name) for name in STARTS_MS}
    return {name: first_ms[name] - planned_ms for name, planned_ms in STARTS_MS.items()}


def last_owners(run: sim.RunResult) -> dict[str, str]:
    """Return the owner of each partition after the last rebalance."""
    rows = run.tables["assignments"].to_pylist()
    last = max(row["round"] for row in rows)
    return {row["task"]: row["client"] for row in rows if row["round"] == last}


@pytest.mark.parametrize("name", IMPORTED)
def test_imported_group_has_the_state_of_the_real_one(name: str, real: Observed) -> None:
    imported, own = real.imported[name], [event for event in real.events if event.group == name]
    name_of = {event.member_id: event.name for event in own}
    owners, _ = observed(own)
    assert imported.observation.consumers is not None
    members = {name_of[member.member_id]: member for member in imported.observation.consumers.members}
    assert {str(partition): name for name, member in members.items() for partition in member.partitions} == owners
    topics = {name: set(member.topics) for name, member in members.items()}
    assert topics == {"a": {"orders"}, "d": {"orders", "payments"}}
    current, following = current_and_next(imported.scenario)
    assert current == following
    assert sim.run(imported.scenario).tables["runs"].to_pylist()[0]["rebalances"] == 0


def observed(events: Sequence[ConsumerEvent]) -> tuple[dict[str, str], int]:
    """Return the owner of each partition at the end, and how long partitions had none, summed over partitions.

    A partition that the first assignment does not contain has none from then on: no member subscribes to its topic.
    """
    owners: dict[str, str] = {}
    partitions = [f"{topic}-{number}" for topic, count in TOPICS.items() for number in range(count)]
    first_ms = min(event.at_ms for event in events if event.what == "assigned" and event.partitions)
    free_since_ms = dict.fromkeys(partitions, first_ms)
    downtime_ms: defaultdict[str, int] = defaultdict(int)
    crashed = False
    for event in sorted(events, key=lambda event: event.at_ms):
        if event.at_ms > CRASH_MS and not crashed:
            crashed = True
            free_since_ms.update({partition: CRASH_MS for partition, owner in owners.items() if owner == "c"})
        for partition in event.partitions:
            if event.what == "assigned":
                downtime_ms[partition] += event.at_ms - free_since_ms.pop(partition, event.at_ms)
                owners[partition] = event.name
            elif event.what in ("revoked", "lost") and owners.get(partition) == event.name:
                free_since_ms[partition] = event.at_ms
    return owners, sum(downtime_ms.values())


def scenario(name: str, events: Sequence[ConsumerEvent], topic_ids: Mapping[str, str]) -> str:
    """Return the scenario of a group, with the member ids of the real consumers."""
    plan = GROUPS[name]
    protocol = plan.configs.get("group.protocol", "classic")
    configs = {key: value for key, value in plan.configs.items() if key in _CLASSIC} | {"group.protocol": protocol}
    ids = {client: _process_id(client, events, protocol == "consumer") for client in STARTS_MS}
    clients = "".join(
        f"      - {{name: {client}, process_id: {ids[client]}, starts: {str(client == 'a').lower()}"
        f"{_topics_of(plan.subscriptions.get(client))}}}\n"
        for client in STARTS_MS
    )
    joins = "".join(
        f"  - {{at: {at_ms}, join: {{clients: {client}}}}}\n" for client, at_ms in STARTS_MS.items() if client != "a"
    )
    topics = "".join(
        f"    - {{name: {topic}, partitions: {count}, id: {topic_ids[topic]}}}\n" for topic, count in TOPICS.items()
    )
    return f"""
cluster:
  kafka: "4.3"
  brokers: {{count: 1, racks: [az1]}}
  configs: {_mapping(_BROKER)}
  topics:
{topics}consumers:
  - group: {name}
    topics: [{", ".join(TOPICS)}]
    configs: {_mapping(configs)}
    assignors: [{plan.assignor}]
    clients:
{clients}events:
{joins}  - {{at: {LEAVE_MS}, leave: {{clients: b}}}}
  - {{at: {CRASH_MS}, crash: {{clients: c}}}}
duration: {END_MS}
"""


def _topics_of(subscription: Sequence[str] | None) -> str:
    return "" if subscription is None else f", topics: [{', '.join(subscription)}]"


def _mapping(values: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in values.items()) + "}"


def _process_id(client: str, events: Sequence[ConsumerEvent], is_base64: bool) -> str:
    """Return the random part of the member id of a consumer."""
    member = next(event.member_id for event in reversed(events) if event.name == client and event.member_id)
    return str(uuid.UUID(bytes=base64.urlsafe_b64decode(f"{member}=="))) if is_base64 else member[-36:]
