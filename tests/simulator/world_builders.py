"""A small world that tests change to their needs."""

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
    """A topic whose replicas go round over six brokers; broker i stands in rack i mod 3."""
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
    """Two subtopologies, 12 stateless and 6 stateful tasks of 600 MB each, which grow by 100 kB/s."""
    topics = [
        topic("clicks", 12, 2, rate=1_000_000),
        topic("views", 6, 1, rate=500_000),
        topic("app-counts-changelog", 6, 2, rate=100_000, size=600_000_000),
    ]
    built = World(
        name="small",
        cluster=Cluster(tuple(Broker(i, RACKS[i % 3]) for i in range(6)), {each.name: each for each in topics}),
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
    """The world with other settings of the group."""
    group = dataclasses.replace(base.application.group_configs, **configs)
    return dataclasses.replace(base, application=dataclasses.replace(base.application, group_configs=group))


def with_clients(base: World, **changes: Any) -> World:
    """The world with all its clients changed in the same way."""
    return dataclasses.replace(base, clients=tuple(dataclasses.replace(each, **changes) for each in base.clients))


def with_late(base: World, *names: str, rack: str = "az1") -> World:
    """The world with more clients that are not there from the start."""
    late = tuple(client(name, rack, starts=False) for name in names)
    return dataclasses.replace(base, clients=(*base.clients, *late))
