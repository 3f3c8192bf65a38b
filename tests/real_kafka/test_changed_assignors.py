"""Groups whose members list different assignors, on a real broker and simulated: rolling changes, votes and ties.

All groups run at the same time on one broker. In `rolling` and `static`, members restart with other lists; in the other
groups, members with different lists join. The owners are compared before each event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import pytest

import assignor_sim as sim
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tests.kafka_cluster.consumers import ConsumerEvent, PlannedConsumer, run_consumers
from tests.real_kafka.observed_groups import assignors_at, create_topics

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

TOPICS = {"orders": 12, "payments": 5}
END_MS = 42_000
DESCRIBED_MS = 40_500
"""When the broker says which assignor each group has."""

_CLASSES: Final = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
_SESSION = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500}
_BROKER = {"group.initial.rebalance.delay.ms": 500, "group.min.session.timeout.ms": 1_000}
RANGE, BOTH, COOPERATIVE = ("range",), ("cooperative-sticky", "range"), ("cooperative-sticky",)


@dataclass(frozen=True, slots=True)
class Life:
    """A consumer of a group.

    Attributes:
        lists: the assignors that it lists.
        starts_ms: when it starts.
        closes_ms: when it closes; None for never.
        instance: its `group.instance.id`; None for a dynamic member.
    """

    lists: tuple[str, ...]
    starts_ms: int
    closes_ms: int | None = None
    instance: str | None = None


GROUPS: Mapping[str, Mapping[str, Life]] = {
    # Two rolling restarts from an eager assignor to the cooperative one, as Kafka's documentation describes.
    "rolling": {
        "a": Life(RANGE, 0, 7_000),
        "b": Life(RANGE, 2_000, 12_000),
        "c": Life(RANGE, 4_500, 17_000),
        "a-both": Life(BOTH, 9_500, 22_000),
        "b-both": Life(BOTH, 14_500, 27_000),
        "c-both": Life(BOTH, 19_500, 32_000),
        "a-cooperative": Life(COOPERATIVE, 24_500),
        "b-cooperative": Life(COOPERATIVE, 29_500),
        "c-cooperative": Life(COOPERATIVE, 34_500),
        "d-cooperative": Life(COOPERATIVE, 37_500),
    },
    # The restart of `a` changes nothing, since `b` lists only range; that of `b` changes the assignor.
    "static": {
        "a": Life(RANGE, 0, 10_000, "a"),
        "b": Life(RANGE, 2_000, 20_000, "b"),
        "a-both": Life(BOTH, 12_500, instance="a"),
        "b-both": Life(BOTH, 22_500, instance="b"),
    },
    # Members vote for the first assignor of their lists: 1 to 0, a tie, 1 to 2.
    "votes": {
        "a": Life(("range", "cooperative-sticky"), 0),
        "b": Life(BOTH, 10_000),
        "c": Life(BOTH, 20_000),
    },
    "tie": {
        "a": Life(("roundrobin", "sticky"), 0),
        "b": Life(("sticky", "roundrobin"), 10_000),
    },
    "three": {
        "a": Life(("range", "sticky", "roundrobin"), 0),
        "b": Life(("sticky", "roundrobin", "range"), 10_000),
        "c": Life(("roundrobin", "range", "sticky"), 20_000),
    },
    # Members remember what the sticky assignor has assigned, but nothing that another one has.
    "sticky-later": {
        "a": Life(("range", "sticky"), 0, 30_000),
        "b": Life(("sticky", "range"), 10_000),
        "c": Life(("sticky", "range"), 20_000),
    },
}


@dataclass(frozen=True, slots=True)
class Observed:
    """What happened on a real broker.

    Attributes:
        events: what the consumers of all groups have printed.
        assignors: the assignor of each group at the end.
    """

    events: Sequence[ConsumerEvent]
    assignors: Mapping[str, str]


@pytest.fixture(scope="module")
def real() -> Iterator[Observed]:
    """Yield what happened to all groups."""
    with KafkaCluster(ClusterSpec(1, ("az1",), broker_configs=_BROKER)) as cluster:
        create_topics(cluster, TOPICS)
        planned = [
            PlannedConsumer(group, name, tuple(TOPICS), _configs(life), life.starts_ms, life.closes_ms)
            for group, lives in GROUPS.items()
            for name, life in lives.items()
        ]
        with ThreadPoolExecutor(1) as executor:
            started: Future[int] = Future()
            described = executor.submit(assignors_at, cluster, started, DESCRIBED_MS)
            events = run_consumers(cluster, planned, END_MS, started.set_result)
            yield Observed(events, described.result())


def _configs(life: Life) -> dict[str, object]:
    classes = ",".join(f"org.apache.kafka.clients.consumer.{_CLASSES[name]}" for name in life.lists)
    static = {} if life.instance is None else {"group.instance.id": life.instance}
    return {**_SESSION, "partition.assignment.strategy": classes, **static}


@pytest.mark.parametrize("name", GROUPS)
def test_predicted_assignor_and_owners(name: str, real: Observed) -> None:
    own = [event for event in real.events if event.group == name]
    run = sim.run(sim.loads(scenario(name, own)))
    rounds = run.tables["rounds"].to_pylist()
    changes = [row["reason"] for row in rounds if "the assignor is now" in row["reason"]]
    selected = changes[-1].rpartition(" ")[2] if changes else GROUPS[name]["a"].lists[0]
    assert selected == real.assignors[name]
    times_ms = [*moments(name), DESCRIBED_MS]
    assert {at_ms: predicted_owners(run, at_ms) for at_ms in times_ms} == {
        at_ms: real_owners(own, at_ms) for at_ms in times_ms
    }


def moments(name: str) -> list[int]:
    """Return when owners are compared: before each event, once the group has settled after the one before."""
    lives = GROUPS[name].values()
    times_ms = sorted({time_ms for life in lives for time_ms in (life.starts_ms, life.closes_ms) if time_ms})
    return [time_ms - 100 for time_ms in times_ms]


def real_owners(events: Sequence[ConsumerEvent], at_ms: int) -> dict[str, str]:
    """Return the owner of each partition at a time; that of a static member is its instance."""
    owners: dict[str, str] = {}
    for event in sorted(events, key=lambda event: event.at_ms):
        life = GROUPS[event.group][event.name]
        if event.at_ms > at_ms:
            break
        if life.instance is not None and life.closes_ms is not None and event.at_ms >= life.closes_ms:
            continue  # What a static member revokes as it closes stays assigned to its instance.
        for partition in event.partitions:
            if event.what == "assigned":
                owners[partition] = life.instance or event.name
            elif event.what in ("revoked", "lost") and owners.get(partition) == event.name:
                del owners[partition]
    return owners


def predicted_owners(run: sim.RunResult, at_ms: int) -> dict[str, str]:
    """Return the owner of each partition after the last rebalance until a time."""
    ended = [row["round"] for row in run.tables["rounds"].to_pylist() if row["at_ms"] <= at_ms]
    rows = run.tables["assignments"].to_pylist()
    return {row["task"]: row["client"] for row in rows if row["round"] == max(ended)}


def scenario(name: str, events: Sequence[ConsumerEvent]) -> str:
    """Return the scenario of a group, with the member ids of the real consumers."""
    lives, clients, played = GROUPS[name], [], []
    for client, life in lives.items():
        lists = f"{{partition.assignment.strategy: [{', '.join(life.lists)}]}}"
        before = next((n for n, other in lives.items() if other.instance == life.instance and other.closes_ms), None)
        if life.instance is not None and before not in (None, client):
            down_ms = life.starts_ms - (lives[before].closes_ms or 0)
            bounce = f"clients: {before}, down: {down_ms}, pause: 0, configs: {lists}"
            played.append(f"  - {{at: {lives[before].closes_ms}, rolling_bounce: {{{bounce}}}}}\n")
            continue
        member = next(event.member_id for event in reversed(events) if event.name == client and event.member_id)
        static = "" if life.instance is None else f", instance_id: {life.instance}"
        starts = str(life.starts_ms == 0).lower()
        clients.append(
            f"      - {{name: {client}, process_id: {member[-36:]}, starts: {starts}, configs: {lists}{static}}}\n"
        )
        if life.starts_ms:
            played.append(f"  - {{at: {life.starts_ms}, join: {{clients: {client}}}}}\n")
        if life.closes_ms and life.instance is None:
            played.append(f"  - {{at: {life.closes_ms}, leave: {{clients: {client}}}}}\n")
    topics = "".join(f"    - {{name: {topic}, partitions: {count}}}\n" for topic, count in TOPICS.items())
    return f"""
cluster:
  kafka: "4.3"
  brokers: {{count: 1, racks: [az1]}}
  configs: {_mapping(_BROKER)}
  topics:
{topics}consumers:
  - group: {name}
    topics: [{", ".join(TOPICS)}]
    configs: {_mapping(_SESSION)}
    clients:
{"".join(clients)}events:
{"".join(played)}duration: {END_MS}
"""


def _mapping(values: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in values.items()) + "}"
