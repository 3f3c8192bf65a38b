"""What may be added to a world, or said of it in other words, without changing a figure."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from assignors.model.configs import RackAwareStrategy
from simulator.assignment.explanation import ExplanationRequest
from simulator.flows.traffic import TrafficKind
from simulator.run import simulate
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    Crash,
    Disturbance,
    Join,
    Leave,
    RackOutage,
    Reassignment,
    ReplicaMove,
    TrafficChange,
)
from simulator.world.world import Broker, Topic, World
from tests.relations.figures import EVENT_NUMBERS, TEXTS, check_same, figures, figures_of, run
from tests.relations.relation import relation
from tests.relations.test_sums import carried
from tests.relations.worlds import (
    BROKER_EVENTS,
    DURATION_MS,
    KAFKAS,
    OTHER_EVENTS,
    UNLIMITED,
    WorldLimits,
    assignors,
    moments,
    worlds,
)
from tests.simulator.world_builders import client


@st.composite
def inert_events(draw: st.DrawFn, world: World) -> Disturbance:
    """Draw something that happens to nothing that the application has.

    First replicas lead again everywhere when any broker is back. So that is inert only where they lead all along.
    """
    at_ms = draw(moments)
    events: list[Disturbance] = [
        BrokerLoss(at_ms, (99,), None),
        Leave(at_ms, ("stranger",)),
        Crash(at_ms, ("stranger",), None),
        ReplicaMove(at_ms, "elsewhere", draw(st.integers(0, 1)), (99, 98)),
        TrafficChange(at_ms, *_traffic_at(world, at_ms)),
    ]
    if first_replicas_lead(world):
        events += [BrokerLoss(at_ms, (99,), 1_500), BrokerBounce(at_ms, (98, 99), 60_000, 1_000)]
    return draw(st.sampled_from(events))


def first_replicas_lead(world: World) -> bool:
    """Return whether the first replica of each partition leads at the start and nothing is reassigned."""
    topics = world.cluster.topics.values()
    is_reassigned = any(isinstance(each, Reassignment) for each in world.disturbances)
    return not is_reassigned and all(topic.leaders == tuple(row[0] for row in topic.replicas) for topic in topics)


def _traffic_at(world: World, at_ms: int) -> tuple[float, int | None]:
    """Return the factor and the hour that hold at a moment."""
    said = [each for each in world.disturbances if isinstance(each, TrafficChange) and each.at_ms <= at_ms]
    last = max(enumerate(said), key=lambda pair: (pair[1].at_ms, pair[0]), default=None)
    return (1.0, None) if last is None else (last[1].factor, last[1].hour)


def with_strangers(world: World) -> World:
    """Add brokers without replicas of the application, a topic that it does not use, and a client that never starts."""
    brokers = (*world.cluster.brokers, Broker(98, "az1"), Broker(99, "az2"))
    elsewhere = Topic("elsewhere", ((98, 99), (99,)), (98, 99), (50_000, 9_000), (7_000_000, 0))
    topics = {"elsewhere": elsewhere, **world.cluster.topics}
    return dataclasses.replace(
        world,
        cluster=dataclasses.replace(world.cluster, brokers=brokers, topics=topics),
        clients=(*world.clients, client("stranger", "az3", starts=False)),
    )


@relation(60)
@given(worlds(), assignors(), st.data())
def test_inert_events_change_nothing(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """Events that touch nothing that the application has change no figure."""
    groups = dataclasses.replace(world.application.group_configs, rejoins_when_brokers_bounce=False)
    world = dataclasses.replace(world, application=dataclasses.replace(world.application, group_configs=groups))
    world = with_strangers(world)
    inert = data.draw(st.lists(inert_events(world), min_size=1, max_size=3))
    other = dataclasses.replace(world, disturbances=(*world.disturbances, *inert))
    check_same(figures(other, assignor), figures(world, assignor), but=EVENT_NUMBERS, exact=False)


@relation(40)
@given(worlds(), assignors())
def test_other_applications_do_not_interfere(world: World, assignor: TaskAssignor) -> None:
    """Brokers, topics and clients of which the application uses nothing change no figure."""
    expected = figures(world, assignor)
    other = figures(with_strangers(world), assignor)
    other["clients"] = [row for row in other["clients"] if row["client"] != "stranger"]
    racks = {row["rack"] for row in expected["losses"]}
    other["losses"] = [row for row in other["losses"] if row["rack"] in racks]
    check_same(other, expected, but=TEXTS)


@relation(40)
@given(worlds(), assignors(), st.randoms(use_true_random=False))
def test_the_order_of_lists_does_not_matter(world: World, assignor: TaskAssignor, chance: Any) -> None:
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
def test_asking_for_reasons_changes_nothing(world: World, assignor: TaskAssignor, break_evens: bool) -> None:
    """A run that is asked why tasks moved has the figures of one that is not."""
    asked = figures_of(simulate(world, assignor, explain=ExplanationRequest(None, break_evens=break_evens)))
    check_same(asked, figures(world, assignor), but=("reasons", "cycles"))


@relation(60)
@given(worlds(), assignors(), st.integers(1, DURATION_MS - 1))
def test_the_end_does_not_reach_back(world: World, assignor: TaskAssignor, until_ms: int) -> None:
    """A run that ends earlier is the beginning of the longer one, up to the last rebalance in it."""
    whole = figures(world, assignor)
    short = figures(dataclasses.replace(world, duration_ms=until_ms), assignor)
    done = [row["round"] for row in short["rounds"][:-1]]
    for name in ("rounds", "assignments", "moves", "traffic"):
        for tables in (whole, short):
            tables[name] = [row for row in tables[name] if row["round"] in done]
    for name in ("task_states", "events"):
        for tables in (whole, short):
            tables[name] = [row for row in tables[name] if row["at_ms"] < until_ms]
    for outages in (whole["unavailable_partitions"], short["unavailable_partitions"]):
        outages[:] = [
            {**row, "until_ms": min(row["until_ms"], until_ms)} for row in outages if row["from_ms"] < until_ms
        ]
    of_the_end = (
        "runs",
        "tasks",
        "clients",
        "losses",
        "proofs",
        "convergence",
        "rounds.displaced_tasks",
    )
    check_same(short, whole, but=of_the_end)


def in_parts(world: World, event: Disturbance) -> list[Disturbance]:
    """Write an event as several simpler ones."""
    match event:
        case Join(at_ms=at_ms, clients=clients, every_ms=every_ms):
            return [Join(at_ms + i * every_ms, (name,)) for i, name in enumerate(clients)]
        case Leave(at_ms=at_ms, clients=clients, every_ms=every_ms):
            return [dataclasses.replace(event, at_ms=at_ms + i * every_ms, clients=(n,)) for i, n in enumerate(clients)]
        case BrokerBounce(at_ms=at_ms, brokers=brokers, down_ms=down_ms, pause_ms=pause_ms):
            return [BrokerLoss(at_ms + i * (down_ms + pause_ms), (each,), down_ms) for i, each in enumerate(brokers)]
        case RackOutage(at_ms=at_ms, rack=rack, down_ms=down_ms):
            brokers = tuple(each.id for each in world.cluster.brokers if each.rack == rack)
            clients = tuple(each.name for each in world.clients if each.rack == rack)
            lost: list[Disturbance] = [BrokerLoss(at_ms, brokers, down_ms)] if brokers else []
            return [*lost, Crash(at_ms, clients, down_ms)] if clients else lost
    return [event]


@relation(40)
@given(worlds(), assignors())
def test_an_event_equals_its_parts(world: World, assignor: TaskAssignor) -> None:
    """A staggered join or leave, a broker bounce and a rack outage equal the single events that they consist of."""
    # Convergence is measured for each event, so it differs.
    parts = tuple(part for event in world.disturbances for part in in_parts(world, event))
    other = dataclasses.replace(world, disturbances=parts)
    check_same(figures(other, assignor), figures(world, assignor), but=(*TEXTS, "convergence", *OF_CONVERGENCE))


UNAWARE = WorldLimits(events=(Join, Leave, Crash, BrokerLoss, BrokerBounce, RackOutage, TrafficChange))
"""Worlds in which configs and replica lists stay as they are."""

OF_CONVERGENCE = tuple(
    f"runs.{column}" for column in ("rebalances_to_converge", "time_to_converge_ms", "slowest_event")
)
OF_PARTITIONS = tuple(
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
    """Turn Kafka's rack-aware assignment off, for all of the run."""
    configs = dataclasses.replace(
        world.application.assignment_configs, rack_aware_assignment_strategy=RackAwareStrategy.NONE
    )
    return dataclasses.replace(world, application=dataclasses.replace(world.application, assignment_configs=configs))


def half(topic: Topic, name: str) -> Topic:
    """Return half of a topic, placed like the whole."""
    return dataclasses.replace(
        topic,
        name=name,
        bytes_per_s=tuple(each // 2 for each in topic.bytes_per_s),
        hourly_bytes_per_s=tuple(tuple(each // 2 for each in hour) for hour in topic.hourly_bytes_per_s),
    )


def doubled(topic: Topic) -> Topic:
    """Return a topic with twice the rates, which have halves."""
    return dataclasses.replace(
        topic,
        bytes_per_s=tuple(each * 2 for each in topic.bytes_per_s),
        hourly_bytes_per_s=tuple(tuple(each * 2 for each in hour) for hour in topic.hourly_bytes_per_s),
    )


@relation(60)
@given(worlds(UNAWARE), assignors(KAFKAS))
def test_two_halves_of_a_topic_equal_the_whole(world: World, assignor: TaskAssignor) -> None:
    """Sources and results split into two topics of half the rate, placed alike, carry the same bytes."""
    world = without_rack_awareness(world)
    logs = {store.changelog for part in world.application.subtopologies for store in part.stores}
    chosen = [name for name in world.cluster.topics if name not in logs]
    topics = {name: doubled(each) if name in chosen else each for name, each in world.cluster.topics.items()}
    whole = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, topics=topics))
    halves = {name: half(each, name) if name in chosen else each for name, each in topics.items()}
    halves |= {f"{name}-too": half(topics[name], f"{name}-too") for name in chosen}

    def both(names: tuple[str, ...]) -> tuple[str, ...]:
        return (*names, *(f"{name}-too" for name in names if name in chosen))

    parts = tuple(
        dataclasses.replace(part, source_topics=both(part.source_topics), written_topics=both(part.written_topics))
        for part in world.application.subtopologies
    )
    other = dataclasses.replace(
        whole,
        cluster=dataclasses.replace(whole.cluster, topics=halves),
        application=dataclasses.replace(whole.application, subtopologies=parts),
    )
    theirs = figures(other, assignor)
    outages = [row for row in theirs["unavailable_partitions"] if row["topic"].removesuffix("-too") == row["topic"]]
    halves_are_alike = len(theirs["unavailable_partitions"]) - len(outages) == sum(
        o["topic"] in chosen for o in outages
    )
    assert halves_are_alike
    theirs["unavailable_partitions"] = outages
    but = (*OF_PARTITIONS, "runs.unavailable_partitions", "moves.reason")
    check_same(theirs, figures(whole, assignor), but=but, exact=False)


SAME_LEADER = WorldLimits(events=(Join, *BROKER_EVENTS[:-1], *OTHER_EVENTS))


@relation(40)
@given(worlds(SAME_LEADER), assignors(KAFKAS), st.data())
def test_the_order_of_clients_does_not_matter(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """The order in which clients are listed changes no figure as long as the leader stays and all have its configs."""
    shuffled = tuple(data.draw(st.permutations(world.clients)))
    other = dataclasses.replace(world, clients=shuffled)
    check_same(figures(other, assignor), figures(world, assignor), but=TEXTS, exact=False, in_order=False)


@relation(40)
@given(worlds(), assignors())
def test_a_limit_that_is_never_reached_is_none(world: World, assignor: TaskAssignor) -> None:
    """Brokers that can send more than anybody reads restore clients as brokers without limit do."""
    free = tuple(dataclasses.replace(each, restore_bytes_per_s=None) for each in world.cluster.brokers)
    wide = tuple(dataclasses.replace(each, restore_bytes_per_s=UNLIMITED) for each in world.cluster.brokers)
    runs = [
        figures(dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, brokers=brokers)), assignor)
        for brokers in (wide, free)
    ]
    check_same(*runs, exact=False)


@relation(40)
@given(worlds(WorldLimits(events=(Join, Leave, Crash, TrafficChange), nearest=False)), assignors(KAFKAS))
def test_nothing_crosses_racks_where_there_is_one(world: World, assignor: TaskAssignor) -> None:
    """With all brokers and clients in one rack the same bytes are carried, and none between racks."""
    world = without_rack_awareness(world)
    brokers = tuple(dataclasses.replace(each, rack="az1") for each in world.cluster.brokers)
    clients = tuple(dataclasses.replace(each, rack="az1") for each in world.clients)
    other = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, brokers=brokers), clients=clients)
    together, apart = run(other, assignor), run(world, assignor)
    assert carried(together) == pytest.approx(carried(apart), rel=1e-9, abs=1)
    for kind in TrafficKind:
        assert carried(together, kind) == pytest.approx(carried(apart, kind), rel=1e-9, abs=1)
    [row] = figures_of(together)["runs"]
    assert row["cross_rack_bytes"] == 0
    assert row["cross_rack_bytes_per_s"] in (0, None)
    assert row["cross_rack_usd"] == (None if world.price is None else 0)


@relation(40)
@given(worlds(WorldLimits(events=(Join, Leave, Crash, TrafficChange), nearest=True, hides_racks=False)), assignors())
def test_reads_stay_in_their_rack_where_every_rack_has_a_replica(world: World, assignor: TaskAssignor) -> None:
    """With nearest-replica reads and a replica of all in each client's rack, no read crosses racks."""
    topics = {
        name: dataclasses.replace(
            topic,
            replicas=tuple(((p) % 3, (p + 1) % 3, (p + 2) % 3) for p in range(topic.num_partitions)),
            leaders=tuple(p % 3 for p in range(topic.num_partitions)),
        )
        for name, topic in world.cluster.topics.items()
    }
    clients = tuple(dataclasses.replace(each, announces_rack=True) for each in world.clients)
    other = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, topics=topics), clients=clients)
    for row in figures(other, assignor)["traffic"]:
        if row["kind"].endswith("_read"):
            assert row["from_rack"] == row["to_rack"], row
