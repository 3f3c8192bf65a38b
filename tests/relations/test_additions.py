"""Additions to a world, and other descriptions of it, that change no figure."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from assignors.model.configs import RackAwareStrategy
from simulator.assignment.explanation import ExplanationRequest
from simulator.flows.traffic import TrafficKind
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.world.changes import Disk, Disturbance
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    Crash,
    Join,
    Leave,
    RackOutage,
    Reassignment,
    ReplicaMove,
    TrafficChange,
)
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import Broker, Topic, World
from tests.relations.figures import EVENT_NUMBERS, TEXTS, check_same, figures, figures_of, run
from tests.relations.relation import relation
from tests.relations.test_sums import traffic_bytes
from tests.relations.worlds import (
    BROKER_EVENTS,
    DURATION_MS,
    KAFKA_ASSIGNORS,
    OTHER_EVENTS,
    UNLIMITED,
    WorldLimits,
    assignors,
    moments,
    worlds,
)
from tests.simulator.world_builders import client

pytestmark = pytest.mark.answers


@st.composite
def inert_events(draw: st.DrawFn, world: World) -> Disturbance:
    """Draw an event that affects nothing of the application.

    When a broker returns, first replicas become leaders again everywhere. That is inert only where they always lead.
    """
    at_ms = draw(moments)
    events: list[Disturbance] = [
        BrokerLoss(at_ms, (99,), None),
        Leave(at_ms, ("unused",)),
        Crash(at_ms, ("unused",), None, disk=Disk.KEPT),
        ReplicaMove(at_ms, "unused-topic", draw(st.integers(0, 1)), (99, 98)),
        TrafficChange(at_ms, *_traffic_at(world, at_ms)),
    ]
    if first_replicas_lead(world):
        events += [BrokerLoss(at_ms, (99,), 1_500), BrokerBounce(at_ms, (98, 99), 60_000, 1_000)]
    return draw(st.sampled_from(events))


def first_replicas_lead(world: World) -> bool:
    """Return whether the first replica of each partition leads at the start and nothing is reassigned."""
    topics = world.cluster.topics.values()
    is_reassigned = any(isinstance(event, Reassignment) for event in world.disturbances)
    return not is_reassigned and all(topic.leaders == tuple(row[0] for row in topic.replicas) for topic in topics)


def _traffic_at(world: World, at_ms: int) -> tuple[float, int | None]:
    """Return the traffic factor and the hour at a time."""
    changes = [event for event in world.disturbances if isinstance(event, TrafficChange) and event.at_ms <= at_ms]
    last = max(enumerate(changes), key=lambda pair: (pair[1].at_ms, pair[0]), default=None)
    return (1.0, None) if last is None else (last[1].factor, last[1].hour)


def with_unused_parts(world: World) -> World:
    """Add brokers without replicas of the application, a topic that it does not use, and a client that never starts."""
    # The outage of a rack whose brokers are all down is listed only if there is an unused broker, which it ends.
    has_outage = any(isinstance(event, RackOutage) for event in world.disturbances)
    racks = ("unused", "unused") if has_outage else ("az1", "az2")
    brokers = (*world.cluster.brokers, *map(Broker, (98, 99), racks))
    unused_topic = Topic("unused-topic", ((98, 99), (99,)), (98, 99), (50_000, 9_000), (7_000_000, 0))
    topics = {"unused-topic": unused_topic, **world.cluster.topics}
    return dataclasses.replace(
        world,
        cluster=dataclasses.replace(world.cluster, brokers=brokers, topics=topics),
        clients=(*world.clients, client("unused", "az3", starts=False)),
    )


@relation(38)
@given(worlds(), assignors(), st.data())
def test_inert_events_change_no_figure(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """Events that affect nothing of the application change no figure."""
    groups = dataclasses.replace(world.application.group_configs, rejoins_when_brokers_bounce=False)
    world = dataclasses.replace(world, application=dataclasses.replace(world.application, group_configs=groups))
    world = with_unused_parts(world)
    inert = data.draw(st.lists(inert_events(world), min_size=1, max_size=3))
    other = dataclasses.replace(world, disturbances=(*world.disturbances, *inert))
    check_same(figures(other, assignor), figures(world, assignor), but=EVENT_NUMBERS, exact=False)


@relation(40)
@given(worlds(), assignors())
def test_unused_brokers_topics_and_clients_change_no_figure(world: World, assignor: TaskAssignor) -> None:
    """Brokers, topics and clients that the application does not use change no figure."""
    expected = figures(world, assignor)
    other = figures(with_unused_parts(world), assignor)
    other["clients"] = [row for row in other["clients"] if row["client"] != "unused"]
    racks = {row["rack"] for row in expected["losses"]}
    other["losses"] = [row for row in other["losses"] if row["rack"] in racks]
    check_same(other, expected, but=TEXTS)


@relation(40)
@given(worlds(), assignors(), st.randoms(use_true_random=False))
def test_order_of_lists_does_not_matter(world: World, assignor: TaskAssignor, chance: Any) -> None:
    """The order in which brokers, topics and subtopologies are listed changes no figure."""
    brokers, topics = list(world.cluster.brokers), list(world.cluster.topics.items())
    parts = list(world.application.subtopologies)
    for listed in (brokers, topics, parts):
        chance.shuffle(listed)
    cluster = dataclasses.replace(world.cluster, brokers=tuple(brokers), topics=dict(topics))
    application = dataclasses.replace(world.application, subtopologies=tuple(parts))
    other = dataclasses.replace(world, cluster=cluster, application=application)
    check_same(figures(other, assignor), figures(world, assignor), but=TEXTS, exact=False, in_order=False)


@relation(40)
@given(worlds(), assignors(), st.booleans())
def test_explanations_change_no_figure(world: World, assignor: TaskAssignor, break_evens: bool) -> None:
    """A run that records explanations has the same figures as one that does not."""
    explained = figures_of(
        simulate(world, assignor, options=RunOptions(explain=ExplanationRequest(None, break_evens=break_evens)))
    )
    check_same(explained, figures(world, assignor), but=("reasons", "cycles"))


@relation(38)
@given(worlds(), assignors(), st.integers(1, DURATION_MS - 1))
def test_shorter_run_equals_beginning_of_longer_run(world: World, assignor: TaskAssignor, until_ms: int) -> None:
    """A shorter run equals the beginning of a longer one, up to its last rebalance."""
    whole = figures(world, assignor)
    short = figures(dataclasses.replace(world, duration_ms=until_ms), assignor)
    done = [row["round"] for row in short["rounds"][:-1]]
    for name in ("rounds", "assignments", "moves", "traffic"):
        for tables in (whole, short):
            tables[name] = [row for row in tables[name] if row["round"] in done]
    for name in ("task_states", "events"):
        for tables in (whole, short):
            tables[name] = [row for row in tables[name] if row["at_ms"] < until_ms]
    for tables in (whole, short):  # Those that had ended by then.
        tables["overloads"] = [row for row in tables["overloads"] if (row["until_ms"] or math.inf) <= until_ms]
    for outages in (whole["unavailable_partitions"], short["unavailable_partitions"]):
        outages[:] = [
            {**row, "until_ms": min(row["until_ms"], until_ms)} for row in outages if row["from_ms"] < until_ms
        ]
    dependent_on_the_end = (
        "runs",
        "tasks",
        "clients",
        "thread_loads",
        "losses",
        "proofs",
        "convergence",
        "rounds.displaced_tasks",
    )
    check_same(short, whole, but=dependent_on_the_end)


def split_event(world: World, event: Disturbance) -> list[Disturbance]:
    """Write an event as several simpler ones."""
    match event:
        case Join(at_ms=at_ms, clients=clients, every_ms=every_ms):
            return [Join(at_ms + i * every_ms, (name,)) for i, name in enumerate(clients)]
        case Leave(at_ms=at_ms, clients=clients, every_ms=every_ms):
            return [dataclasses.replace(event, at_ms=at_ms + i * every_ms, clients=(n,)) for i, n in enumerate(clients)]
        case BrokerBounce(at_ms=at_ms, brokers=brokers):
            interval_ms = event.down_ms + event.pause_ms
            return [
                dataclasses.replace(event, at_ms=at_ms + i * interval_ms, brokers=(broker,))
                for i, broker in enumerate(brokers)
            ]
        case RackOutage(at_ms=at_ms, rack=rack, down_ms=down_ms, disk=Disk.KEPT):
            brokers = tuple(broker.id for broker in world.cluster.brokers if broker.rack == rack)
            clients = tuple(client.name for client in world.clients if client.rack == rack)
            lost: list[Disturbance] = [BrokerLoss(at_ms, brokers, down_ms)] if brokers else []
            return [*lost, Crash(at_ms, clients, down_ms, disk=Disk.KEPT)] if clients else lost
    return [event]


@relation(40)
@given(worlds(), assignors())
def test_event_equals_its_parts(world: World, assignor: TaskAssignor) -> None:
    """A staggered join or leave, a broker bounce and a rack outage equal the single events of which they consist."""
    # Convergence is measured for each event, so it differs.
    parts = tuple(part for event in world.disturbances for part in split_event(world, event))
    other = dataclasses.replace(world, disturbances=parts)
    check_same(figures(other, assignor), figures(world, assignor), but=(*TEXTS, "convergence", *CONVERGENCE_COLUMNS))


WITHOUT_CONFIG_CHANGES = WorldLimits(events=(Join, Leave, Crash, BrokerLoss, BrokerBounce, RackOutage, TrafficChange))
"""Worlds in which configs and replica lists stay as they are."""

CONVERGENCE_COLUMNS = tuple(
    f"runs.{column}" for column in ("rebalances_to_converge", "time_to_converge_ms", "slowest_event")
)
PARTITION_COLUMNS = tuple(
    f"{table}.{column}"
    for table in ("runs", "rounds")
    for column in (
        "cross_rack_source_partitions",
        "cross_rack_source_partitions_bound",
        "total_cost",
        "total_cost_bound",
        "moves_rack",
        "moves_balance",
    )
)
"""The columns that count partitions, or weigh them."""


def without_rack_awareness(world: World) -> World:
    """Disable Kafka's rack-aware assignment for the whole run."""
    configs = dataclasses.replace(
        world.application.assignment_configs, rack_aware_assignment_strategy=RackAwareStrategy.NONE
    )
    return dataclasses.replace(world, application=dataclasses.replace(world.application, assignment_configs=configs))


def half_topic(topic: Topic, name: str) -> Topic:
    """Return half of a topic, with the same replicas."""
    return dataclasses.replace(
        topic,
        name=name,
        bytes_per_s=tuple(rate // 2 for rate in topic.bytes_per_s),
        hourly_bytes_per_s=tuple(tuple(rate // 2 for rate in hour) for hour in topic.hourly_bytes_per_s),
    )


def doubled_topic(topic: Topic) -> Topic:
    """Return a topic with twice the rates, which can be halved."""
    return dataclasses.replace(
        topic,
        bytes_per_s=tuple(rate * 2 for rate in topic.bytes_per_s),
        hourly_bytes_per_s=tuple(tuple(rate * 2 for rate in hour) for hour in topic.hourly_bytes_per_s),
    )


@relation(48)
@given(worlds(WITHOUT_CONFIG_CHANGES), assignors(KAFKA_ASSIGNORS))
def test_two_halves_of_a_topic_equal_the_whole(world: World, assignor: TaskAssignor) -> None:
    """Source and output topics that are split into two of half the rate, with equal replicas, carry the same bytes."""
    world = without_rack_awareness(world)
    logs = {store.changelog for part in world.application.subtopologies for store in part.stores}
    chosen = [name for name in world.cluster.topics if name not in logs]
    topics = {name: doubled_topic(topic) if name in chosen else topic for name, topic in world.cluster.topics.items()}
    whole = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, topics=topics))
    halves = {name: half_topic(topic, name) if name in chosen else topic for name, topic in topics.items()}
    halves |= {f"{name}-too": half_topic(topics[name], f"{name}-too") for name in chosen}

    def names_of_halves(names: tuple[str, ...]) -> tuple[str, ...]:
        return (*names, *(f"{name}-too" for name in names if name in chosen))

    parts = tuple(
        dataclasses.replace(
            part, source_topics=names_of_halves(part.source_topics), written_topics=names_of_halves(part.written_topics)
        )
        for part in world.application.subtopologies
    )
    other = dataclasses.replace(
        whole,
        cluster=dataclasses.replace(whole.cluster, topics=halves),
        application=dataclasses.replace(whole.application, subtopologies=parts),
    )
    actual = figures(other, assignor)
    outages = [row for row in actual["unavailable_partitions"] if row["topic"].removesuffix("-too") == row["topic"]]
    halves_have_equal_outages = len(actual["unavailable_partitions"]) - len(outages) == sum(
        o["topic"] in chosen for o in outages
    )
    assert halves_have_equal_outages
    actual["unavailable_partitions"] = outages
    but = (*PARTITION_COLUMNS, "runs.unavailable_partitions", "moves.reason")
    check_same(actual, figures(whole, assignor), but=but, exact=False)


SAME_LEADER = WorldLimits(events=(Join, *BROKER_EVENTS[:-1], *OTHER_EVENTS), protocols=(GroupProtocol.CLASSIC,))
"""In a streams group, of the members whose heartbeats come first, the one that joined first gets its target at once."""


@relation(40)
@given(worlds(SAME_LEADER), assignors(KAFKA_ASSIGNORS), st.data())
def test_order_of_clients_does_not_matter(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """The order of clients after the first that starts, the leader, changes no figure of a classic group."""
    # Threads join one after another, in the order of the clients, so several of them are in other phases afterwards.
    last_fixed = next((row for row, client in enumerate(world.clients) if client.starts), 0)
    fixed, rest = world.clients[: last_fixed + 1], world.clients[last_fixed + 1 :]
    other = dataclasses.replace(world, clients=(*fixed, *data.draw(st.permutations(rest))))
    check_same(figures(other, assignor), figures(world, assignor), but=TEXTS, exact=False, in_order=False)


@relation(40)
@given(worlds(), assignors())
def test_unreached_limit_equals_no_limit(world: World, assignor: TaskAssignor) -> None:
    """A broker bandwidth that is never reached has the same figures as no limit."""
    unlimited = tuple(dataclasses.replace(broker, restore_bytes_per_s=None) for broker in world.cluster.brokers)
    with_high_limit = tuple(
        dataclasses.replace(broker, restore_bytes_per_s=UNLIMITED) for broker in world.cluster.brokers
    )
    runs = [
        figures(dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, brokers=brokers)), assignor)
        for brokers in (with_high_limit, unlimited)
    ]
    check_same(*runs, exact=False)


@relation(40)
@given(worlds(WorldLimits(events=(Join, Leave, Crash, TrafficChange), nearest=False)), assignors(KAFKA_ASSIGNORS))
def test_single_rack_has_no_cross_rack_traffic(world: World, assignor: TaskAssignor) -> None:
    """With all brokers and clients in one rack, the same bytes are transferred, and none across racks."""
    world = without_rack_awareness(world)
    brokers = tuple(dataclasses.replace(broker, rack="az1") for broker in world.cluster.brokers)
    clients = tuple(dataclasses.replace(client, rack="az1") for client in world.clients)
    other = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, brokers=brokers), clients=clients)
    single_rack, several_racks = run(other, assignor), run(world, assignor)
    assert traffic_bytes(single_rack) == pytest.approx(traffic_bytes(several_racks), rel=1e-9, abs=1)
    for kind in TrafficKind:
        assert traffic_bytes(single_rack, kind) == pytest.approx(traffic_bytes(several_racks, kind), rel=1e-9, abs=1)
    [row] = figures_of(single_rack)["runs"]
    assert row["cross_rack_bytes"] == 0
    assert row["cross_rack_bytes_per_s"] in (0, None)
    is_unpriced = world.price is None or row["cross_rack_bytes_per_s"] is None
    assert row["cross_rack_usd_per_day"] == (None if is_unpriced else 0)


@relation(40)
@given(worlds(WorldLimits(events=(Join, Leave, Crash, TrafficChange), nearest=True, hides_racks=False)), assignors())
def test_reads_stay_in_racks_with_replicas(world: World, assignor: TaskAssignor) -> None:
    """With nearest-replica reads and a replica of each partition in each client's rack, no read crosses racks."""
    topics = {
        name: dataclasses.replace(
            topic,
            replicas=tuple(((p) % 3, (p + 1) % 3, (p + 2) % 3) for p in range(topic.num_partitions)),
            leaders=tuple(p % 3 for p in range(topic.num_partitions)),
        )
        for name, topic in world.cluster.topics.items()
    }
    clients = tuple(dataclasses.replace(client, announces_rack=True) for client in world.clients)
    other = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, topics=topics), clients=clients)
    for row in figures(other, assignor)["traffic"]:
        if row["kind"].endswith("_read"):
            assert row["from_rack"] == row["to_rack"], row
