"""Two descriptions of the same world have the same figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from assignors.model.ids import TopicPartition
from simulator.world.changes import Disturbance
from simulator.world.disturbances import Reassignment
from simulator.world.world import Broker, Cluster, Store, Subtopology, Topic, World
from tests.relations.figures import TEXTS, Figures, check_same, figures
from tests.relations.relation import relation
from tests.relations.worlds import KAFKA_ASSIGNORS, assignors, worlds

pytestmark = pytest.mark.answers


@dataclasses.dataclass(frozen=True)
class Names:
    """New names of the parts of a world."""

    topics: Mapping[str, str]
    racks: Mapping[str | None, str | None]
    clients: Mapping[str, str]
    brokers: Mapping[int, int]


def rename_world(world: World, names: Names) -> World:
    """Rename topics, racks, clients and brokers."""
    cluster, application = world.cluster, world.application
    brokers = tuple(Broker(names.brokers[b.id], names.racks[b.rack], b.restore_bytes_per_s) for b in cluster.brokers)
    topics = {names.topics[name]: _renamed_topic(topic, names) for name, topic in cluster.topics.items()}
    parts = tuple(_renamed_part(part, names) for part in application.subtopologies)
    return dataclasses.replace(
        world,
        cluster=Cluster(brokers, topics, cluster.reads_from_nearest_replica),
        application=dataclasses.replace(application, subtopologies=parts),
        clients=tuple(
            dataclasses.replace(client, name=names.clients[client.name], rack=names.racks[client.rack])
            for client in world.clients
        ),
        disturbances=tuple(_renamed_event(event, names) for event in world.disturbances),
    )


def _renamed_topic(topic: Topic, names: Names) -> Topic:
    return dataclasses.replace(
        topic,
        name=names.topics[topic.name],
        replicas=tuple(tuple(names.brokers[broker] for broker in row) for row in topic.replicas),
        leaders=tuple(names.brokers[broker] for broker in topic.leaders),
    )


def _renamed_part(part: Subtopology, names: Names) -> Subtopology:
    stores = tuple(
        Store(store.name, None if store.changelog is None else names.topics[store.changelog], store.persistent)
        for store in part.stores
    )
    sources, written = ([names.topics[name] for name in listed] for listed in (part.source_topics, part.written_topics))
    return Subtopology(part.id, tuple(sources), stores, tuple(written))


def _renamed_event(event: Disturbance, names: Names) -> Disturbance:
    """Rename the parts that an event of any kind names."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        match field.name:
            case "clients" | "successors":
                changes[field.name] = tuple(names.clients[name] for name in value)
            case "brokers" | "replicas":
                changes[field.name] = tuple(names.brokers[broker] for broker in value)
            case "rack":
                changes["rack"] = names.racks[value]
            case "topic":
                changes["topic"] = names.topics[value]
    if isinstance(event, Reassignment):
        changes["targets"] = tuple(
            target._replace(
                partition=TopicPartition(names.topics[target.partition.topic], target.partition.partition),
                replicas=tuple(names.brokers[broker] for broker in target.replicas),
            )
            for target in event.targets
        )
    return dataclasses.replace(event, **changes)


def restore_names(figures: Figures, names: Names) -> Figures:
    """Restore the old names of topics, racks and clients in the rows of tables; drop texts with several names."""
    back = {new: old for renamed in (names.topics, names.racks, names.clients) for old, new in renamed.items()}
    return {
        table: [{column: back.get(value, value) for column, value in row.items()} for row in rows]
        for table, rows in figures.items()
    }


@st.composite
def new_names(draw: st.DrawFn, world: World, *, keeps_order: bool) -> Names:
    """Draw other names, in the same order or in any order."""

    def rename(old_names: list[str], prefix: str) -> dict[str, str]:
        new_positions = range(len(old_names)) if keeps_order else draw(st.permutations(range(len(old_names))))
        return {old: f"{prefix}{new}" for old, new in zip(old_names, new_positions, strict=True)}

    racks: dict[str | None, str | None] = {None: None}
    racks_in_use = {rack for owner in (*world.cluster.brokers, *world.clients) if (rack := owner.rack) is not None}
    racks.update(rename(sorted({*racks_in_use, "az1", "az2", "az3"}), "rack-"))
    ids = [broker.id for broker in world.cluster.brokers]
    shift = draw(st.sampled_from((1, 100)))
    return Names(
        rename(sorted(world.cluster.topics), "topic-"),
        racks,
        rename([client.name for client in world.clients], "client-"),
        {broker: broker + shift for broker in ids},
    )


@relation(43)
@given(worlds(), assignors(), st.data())
def test_names_in_the_same_order_do_not_matter(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """Renaming topics, racks, clients and brokers in the same order changes no figure."""
    names = data.draw(new_names(world, keeps_order=True))
    other = figures(rename_world(world, names), assignor)
    check_same(restore_names(other, names), figures(world, assignor), but=TEXTS)


@relation(43)
@given(worlds(), assignors(KAFKA_ASSIGNORS), st.data())
def test_order_of_names_does_not_matter(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """Renaming topics, racks, clients and brokers in another order changes no figure under Kafka's assignors."""
    names = data.draw(new_names(world, keeps_order=False))
    other = figures(rename_world(world, names), assignor)
    check_same(restore_names(other, names), figures(world, assignor), but=TEXTS, in_order=False)
