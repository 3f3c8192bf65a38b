"""Groups that a real broker converts to the consumer protocol, and the same groups simulated.

All groups run at the same time on one broker. In most of them, members of the classic protocol restart one after
another with `group.protocol=consumer`. The owners are compared before each event, and how long partitions had no owner
since the group was converted.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Final

import pytest

import assignor_sim as sim
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tests.kafka_cluster.consumers import ConsumerEvent, PlannedConsumer, run_consumers
from tests.real_kafka.observed_groups import assignors_at, create_topics

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

TOPICS = {"orders": 12, "payments": 5}
END_MS = 48_000
DESCRIBED_MS = 45_500
"""When the broker says which assignor each group has."""

SEEDS = range(1, 13)
SLACK_MS: Final = 5_000
"""By how much the downtime of all partitions together may be outside of the predicted ones. Seeds draw when members
send heartbeats, up to 500 ms for each of 17 partitions; real requests take some ms."""

SLOWER: Final = 1.25
"""By which factor real consumers may start and rejoin more slowly on a busy machine."""

_CLASSES: Final = {
    "range": "RangeAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
_SESSION = {"session.timeout.ms": 20_000, "heartbeat.interval.ms": 500}
_BROKER = {
    "group.initial.rebalance.delay.ms": 500,
    "group.min.session.timeout.ms": 1_000,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 500,
}
RANGE, COOPERATIVE, DEFAULT = ("range",), ("cooperative-sticky",), ("range", "cooperative-sticky")
UNIFORM = "uniform"


Change = tuple[int, str, str | None]
"""When a partition got an owner or lost it, the partition, and the owner."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A consumer of a group, from its start to its end.

    Attributes:
        lists: the assignors that it lists; empty under the consumer protocol.
        starts_ms: when it starts.
        closes_ms: when it closes; None for never.
        instance: its `group.instance.id`; None for a dynamic member.
        remote: its `group.remote.assignor`; None if it names none.
    """

    lists: tuple[str, ...]
    starts_ms: int
    closes_ms: int | None = None
    instance: str | None = None
    remote: str | None = None


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A group.

    Attributes:
        stays: its consumers.
        assignor: the assignor that it has at the end.
    """

    stays: Mapping[str, Stay]
    assignor: str = UNIFORM


def _rolled(lists: tuple[str, ...], remotes: Sequence[str | None] = (None, None, None)) -> dict[str, Stay]:
    """Return three members that restart one after another with the consumer protocol, and one that joins then."""
    a, b, c = remotes
    return {
        "a": Stay(lists, 0, 10_500),
        "b": Stay(lists, 3_000, 18_000),
        "c": Stay(lists, 6_750, 25_500),
        "a-new": Stay((), 14_250, remote=a),
        "b-new": Stay((), 21_750, remote=b),
        "c-new": Stay((), 29_250, remote=c),
        "d-new": Stay((), 36_750, remote=c),
    }


TIED = "remote-tie"

GROUPS: Mapping[str, GroupPlan] = {
    "eager": GroupPlan(_rolled(DEFAULT)),
    "cooperative": GroupPlan(_rolled(COOPERATIVE)),
    # The only vote for an assignor of the coordinator.
    "remote-vote": GroupPlan(_rolled(COOPERATIVE, ("range", None, None)), "broker-range"),
    # One vote against one when the second member joins, and when the last one of the classic protocol leaves.
    TIED: GroupPlan(_rolled(COOPERATIVE, ("range", "uniform", "uniform"))),
    # A static member takes over what its predecessor had, and the group gets no new target.
    "static": GroupPlan(
        {
            "a": Stay(RANGE, 0, 13_500, "a"),
            "b": Stay(RANGE, 3_000, 21_000, "b"),
            "c": Stay(RANGE, 6_750, 28_500, "c"),
            "a-new": Stay((), 17_250, instance="a"),
            "b-new": Stay((), 24_750, instance="b"),
            "c-new": Stay((), 32_250, instance="c"),
        }
    ),
    # A new member converts the group, static members rejoin, and restart later.
    "static-joined": GroupPlan(
        {
            "a": Stay(COOPERATIVE, 0, 21_000, "a"),
            "b": Stay(RANGE + COOPERATIVE, 3_000, 28_500, "b"),
            "c": Stay(COOPERATIVE, 6_750, 36_000, "c"),
            "d-new": Stay((), 14_250),
            "a-new": Stay((), 24_750, instance="a"),
            "b-new": Stay((), 32_250, instance="b"),
            "c-new": Stay((), 39_750, instance="c"),
        }
    ),
    # Members of both protocols join and leave the converted group.
    "both": GroupPlan(
        {
            "a": Stay(RANGE, 0),
            "b": Stay(COOPERATIVE + RANGE, 3_000, 25_500),
            "c-new": Stay((), 10_500),
            "d": Stay(RANGE, 18_000, 40_500),
            "e-new": Stay((), 33_000),
        }
    ),
    # The last member of the consumer protocol leaves, so the group is classic again.
    "back-eager": GroupPlan(
        {
            "a": Stay(RANGE, 0),
            "b": Stay(RANGE, 3_000),
            "c": Stay(RANGE, 6_750),
            "x-new": Stay((), 14_250, 25_500),
            "d": Stay(RANGE, 36_750),
        },
        "range",
    ),
    # A static member restarts with the consumer protocol, and back.
    "back-static": GroupPlan(
        {
            "a": Stay(RANGE, 0, 10_500, "a"),
            "b": Stay(RANGE, 3_000, instance="b"),
            "a-new": Stay((), 14_250, 21_000, "a"),
            "a-back": Stay(RANGE, 24_750, instance="a"),
            "d": Stay(RANGE, 32_250),
        },
        "range",
    ),
}


@dataclass(frozen=True, slots=True)
class Observed:
    """What happened on a real broker.

    Attributes:
        events: what the consumers of all groups have printed.
        topic_ids: the ids of the topics.
        assignors: the assignor of each group at the end.
    """

    events: Sequence[ConsumerEvent]
    topic_ids: Mapping[str, str]
    assignors: Mapping[str, str]


@pytest.fixture(scope="module")
def real() -> Iterator[Observed]:
    """Yield what happened to all groups."""
    with KafkaCluster(ClusterSpec(1, ("az1",), broker_configs=_BROKER)) as cluster:
        topic_ids = create_topics(cluster, TOPICS)
        planned = [
            PlannedConsumer(group, name, tuple(TOPICS), _configs(stay), stay.starts_ms, stay.closes_ms)
            for group, plan in GROUPS.items()
            for name, stay in plan.stays.items()
        ]
        with ThreadPoolExecutor(1) as executor:
            started: Future[int] = Future()
            assignors = executor.submit(assignors_at, cluster, started, DESCRIBED_MS)
            events = run_consumers(cluster, planned, END_MS, started.set_result)
            yield Observed(events, topic_ids, assignors.result())


def _configs(stay: Stay) -> dict[str, object]:
    static = {} if stay.instance is None else {"group.instance.id": stay.instance}
    if not stay.lists:
        remote = {} if stay.remote is None else {"group.remote.assignor": stay.remote}
        return {"group.protocol": "consumer", **remote, **static}
    classes = ",".join(f"org.apache.kafka.clients.consumer.{_CLASSES[name]}" for name in stay.lists)
    return {**_SESSION, "partition.assignment.strategy": classes, **static}


@pytest.mark.parametrize("name", [name for name in GROUPS if name != TIED])
def test_predicted_owners_and_downtime(name: str, real: Observed) -> None:
    own = [event for event in real.events if event.group == name]
    times_ms = [*moments(name), DESCRIBED_MS]
    expected = {at_ms: owners_at(at_ms, real_changes(own)) for at_ms in times_ms}
    downtimes_ms = []
    for seed in SEEDS:
        changes = list(predicted_changes(sim.run(sim.loads(scenario(name, own, real.topic_ids)), seed=seed)))
        assert {at_ms: owners_at(at_ms, changes) for at_ms in times_ms} == expected, seed
        downtimes_ms.append(downtime_ms(name, changes))
    real_ms = downtime_ms(name, real_changes(own))
    assert min(downtimes_ms) - SLACK_MS <= real_ms <= SLOWER * max(downtimes_ms) + SLACK_MS


def test_tie_is_decided_by_the_member_whose_heartbeat_triggers_the_target(real: Observed) -> None:
    """When the last member of the classic protocol leaves, either of the two others may send the next heartbeat."""
    own = [event for event in real.events if event.group == TIED]
    times_ms = [*moments(TIED), DESCRIBED_MS]
    expected = {at_ms: owners_at(at_ms, real_changes(own)) for at_ms in times_ms}
    text, joins_ms = scenario(TIED, own, real.topic_ids), GROUPS[TIED].stays["b-new"].starts_ms
    assert f"at: {joins_ms}, join" in text
    predicted = []
    # Within an interval, the heartbeats of b-new precede those of a-new, or follow them.
    for earlier_ms, seed in product(range(0, 500, 100), SEEDS):
        changed = text.replace(f"at: {joins_ms}, join", f"at: {joins_ms - earlier_ms}, join")
        changes = list(predicted_changes(sim.run(sim.loads(changed), seed=seed)))
        predicted.append({at_ms: owners_at(at_ms, changes) for at_ms in times_ms})
    assert expected in predicted


@pytest.mark.parametrize("name", GROUPS)
def test_assignor_at_the_end(name: str, real: Observed) -> None:
    plan, own = GROUPS[name], [event for event in real.events if event.group == name]
    kafka = plan.assignor.removeprefix("broker-")
    assert real.assignors[name] == kafka
    run = sim.run(sim.loads(scenario(name, own, real.topic_ids)))
    reasons = [row["reason"] for row in run.tables["rounds"].to_pylist()]
    changes = [reason.rpartition(" ")[2] for reason in reasons if "the assignor is now" in reason]
    assert changes[-1:] == ([] if has_no_new_target(plan) else [plan.assignor])


def has_no_new_target(plan: GroupPlan) -> bool:
    """Return whether static members alone change the protocol, and no member joins or leaves while they have it."""
    return all(stay.instance is not None for stay in plan.stays.values() if not stay.lists)


def moments(name: str) -> list[int]:
    """Return when owners are compared: before each event, once the group has settled after the one before."""
    stays = GROUPS[name].stays.values()
    times_ms = sorted({time_ms for stay in stays for time_ms in (stay.starts_ms, stay.closes_ms) if time_ms})
    return [time_ms - 100 for time_ms in times_ms]


def real_changes(events: Sequence[ConsumerEvent]) -> Iterator[Change]:
    """Yield the changes of owners; that of a static member is its instance."""
    owners: dict[str, str] = {}
    for event in sorted(events, key=lambda event: event.at_ms):
        owner = GROUPS[event.group].stays[event.name].instance or event.name
        for partition in event.partitions:
            if event.what == "assigned":
                owners[partition] = owner
                yield event.at_ms, partition, owner
            elif event.what in ("revoked", "lost") and owners.get(partition) == owner:
                del owners[partition]
                yield event.at_ms, partition, None


def predicted_changes(run: sim.RunResult) -> Iterator[Change]:
    """Yield the changes of owners in a run."""
    for row in run.tables["task_states"].to_pylist():
        yield row["at_ms"], row["task"], row["client"] if row["state"] in ("assigned", "running") else None


def owners_at(at_ms: int, changes: Iterable[Change]) -> dict[str, str]:
    """Return the owner of each partition that has one at a time."""
    owners = {partition: owner for changed_ms, partition, owner in changes if changed_ms <= at_ms}
    return {partition: owner for partition, owner in owners.items() if owner is not None}


def downtime_ms(name: str, changes: Iterable[Change]) -> int:
    """Return how long partitions had no owner since the first member of the consumer protocol began, summed."""
    since_ms = min(stay.starts_ms for stay in GROUPS[name].stays.values() if not stay.lists)
    free_since_ms: dict[str, int] = {}
    total_ms = 0
    for changed_ms, partition, owner in changes:
        if owner is None:
            free_since_ms.setdefault(partition, changed_ms)
        elif partition in free_since_ms:
            total_ms += max(0, changed_ms - max(since_ms, free_since_ms.pop(partition)))
    return total_ms


def scenario(name: str, events: Sequence[ConsumerEvent], topic_ids: Mapping[str, str]) -> str:
    """Return the scenario of a group, with the member ids of the real consumers."""
    stays, clients, played = GROUPS[name].stays, [], []
    for client, stay in stays.items():
        before = [
            n for n, other in stays.items() if other.instance == stay.instance and other.starts_ms < stay.starts_ms
        ]
        if stay.instance is not None and before:
            closes_ms = stays[before[-1]].closes_ms or 0
            bounce = f"clients: {before[0]}, down: {stay.starts_ms - closes_ms}, pause: 0, configs: {_restart(stay)}"
            played.append(f"  - {{at: {closes_ms}, rolling_bounce: {{{bounce}}}}}\n")
            continue
        member = next(event.member_id for event in reversed(events) if event.name == client and event.member_id)
        static = "" if stay.instance is None else f", instance_id: {stay.instance}"
        own = f"{{name: {client}, process_id: {_process_id(member)}, configs: {_restart(stay)}"
        clients.append(f"      - {own}, starts: {str(stay.starts_ms == 0).lower()}{static}}}\n")
        if stay.starts_ms:
            played.append(f"  - {{at: {stay.starts_ms}, join: {{clients: {client}}}}}\n")
        if stay.closes_ms and stay.instance is None:
            played.append(f"  - {{at: {stay.closes_ms}, leave: {{clients: {client}}}}}\n")
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
    configs: {_mapping(_SESSION)}
    clients:
{"".join(clients)}events:
{"".join(played)}duration: {END_MS}
"""


def _restart(stay: Stay) -> str:
    if stay.lists:
        return f"{{group.protocol: classic, partition.assignment.strategy: [{', '.join(stay.lists)}]}}"
    remote = {} if stay.remote is None else {"group.remote.assignor": stay.remote}
    return _mapping({"group.protocol": "consumer", **remote})


def _process_id(member: str) -> str:
    """Return the random part of a member id: all of it in a group of the consumer protocol."""
    is_base64 = re.fullmatch(r"[\w-]{22}", member) is not None
    return str(uuid.UUID(bytes=base64.urlsafe_b64decode(f"{member}=="))) if is_base64 else member[-36:]


def _mapping(values: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in values.items()) + "}"
