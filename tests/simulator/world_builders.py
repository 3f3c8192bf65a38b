"""A small world, and functions that change it."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId
from simulator.random_streams import random_stream
from simulator.world.world import Application, Broker, Client, Cluster, Store, Subtopology, Topic, World

RACKS = ("az1", "az2", "az3")
HOUR = 3_600_000
MINUTE = 60_000


def topic(name: str, partitions: int, replication_factor: int, rate: int = 0, size: int = 0) -> Topic:
    """Return a topic with round-robin replicas on six brokers; broker i is in rack i mod 3."""
    replicas = tuple(tuple((p + r) % 6 for r in range(replication_factor)) for p in range(partitions))
    return Topic(
        name,
        replicas,
        tuple(row[0] for row in replicas),
        (rate,) * partitions,
        (size,) * partitions,
    )


def client(name: str, rack: str | None, **changes: Any) -> Client:
    process_id = ProcessId.of(uuid.UUID(bytes=random_stream(1, "process_id", name).bytes(16)))
    return Client(name, process_id, rack, **{"threads": 2, "restore_bytes_per_s": 10_000_000, **changes})


def world(num_clients: int = 4, **changes: Any) -> World:
    """Return a world with 12 stateless and 6 stateful tasks, with 600 MB each that grow by 100 kB/s."""
    topics = [
        topic("clicks", 12, 2, rate=1_000_000),
        topic("views", 6, 1, rate=500_000),
        topic("app-counts-changelog", 6, 2, rate=100_000, size=600_000_000),
    ]
    built = World(
        name="small",
        cluster=Cluster(tuple(Broker(i, RACKS[i % 3]) for i in range(6)), {topic.name: topic for topic in topics}),
        application=Application(
            "app",
            (
                Subtopology(0, ("clicks",)),
                Subtopology(1, ("views",), (Store("counts", "app-counts-changelog"),)),
            ),
        ),
        clients=tuple(client(f"c{i}", RACKS[i % 3]) for i in range(num_clients)),
        duration_ms=12 * HOUR,
    )
    return dataclasses.replace(built, **changes)


def with_configs(base: World, **configs: Any) -> World:
    application = dataclasses.replace(base.application, assignment_configs=AssignmentConfigs(**configs))
    return dataclasses.replace(base, application=application)


def with_group(base: World, **configs: Any) -> World:
    """Return the world with other group configs."""
    group = dataclasses.replace(base.application.group_configs, **configs)
    return dataclasses.replace(base, application=dataclasses.replace(base.application, group_configs=group))


def with_clients(base: World, **changes: Any) -> World:
    """Return the world with the same change of all clients."""
    return dataclasses.replace(base, clients=tuple(dataclasses.replace(client, **changes) for client in base.clients))


def with_late_clients(base: World, *names: str, rack: str = "az1") -> World:
    """Return the world with additional clients that do not start by themselves."""
    late = tuple(client(name, rack, starts=False) for name in names)
    return dataclasses.replace(base, clients=(*base.clients, *late))


def topic_with_rates(
    name: str, rates: tuple[int, ...], sizes: tuple[int, ...] | None = None, record_bytes: int = 1_000
) -> Topic:
    """Return a topic with two replicas and the given rates and sizes of its partitions."""
    base = topic(name, len(rates), 2)
    return dataclasses.replace(
        base, bytes_per_s=rates, size_bytes=sizes or (0,) * len(rates), record_bytes=record_bytes
    )


def world_with(*subtopologies: Subtopology, topics: tuple[Topic, ...]) -> World:
    """Return the small world with other subtopologies and topics."""
    base = world()
    cluster = dataclasses.replace(base.cluster, topics={topic.name: topic for topic in topics})
    return dataclasses.replace(base, cluster=cluster, application=Application("app", subtopologies))
