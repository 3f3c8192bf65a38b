"""The assignment of a running consumer group in a scenario, and the one that its assignor computes from it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from scenarios.load import Scenario
from simulator.assignment.rebalance import build_state
from simulator.brokers.partition_locations import ClusterMetadata
from simulator.group.fleet import Fleet
from simulator.world.layout import lay_out

Owners = Mapping[str, str | None]
"""The client of each partition, None without an owner."""


def current_and_next(scenario: Scenario) -> tuple[Owners, Owners]:
    """Return the owners of partitions at the start, and after a rebalance of the same members."""
    spec = scenario.assignors[0]
    world = scenario.world(1, spec)
    layout = lay_out(world)
    fleet = Fleet(world, layout.racks)
    members = [member for row in range(len(world.clients)) for member in fleet.start(row, None, None)]
    processes = fleet.processes(members)
    tasks, clients = layout.tasks.ids, [world.clients[row] for row in processes.clients]
    owned = [{task for tasks in client.tasks.active for task in tasks} for client in clients]
    held = np.array([[task in of_client for of_client in owned] for task in tasks])
    state = build_state(
        layout.tasks,
        fleet.table(processes),
        ClusterMetadata(world, layout).locations().table,
        np.full(held.shape, -1, dtype=np.int64),
        (held, held),
        world.application.assignment_configs,
        layout.task_insertion_order,
        np.zeros(held.shape, dtype=np.int64),
    )
    columns = AssignmentColumns.of(state, spec.make().assign(state))
    current = {
        str(task): next((client.name for client, own in zip(clients, owned, strict=True) if task in own), None)
        for task in tasks
    }
    names = [None if column == UNASSIGNED else clients[column].name for column in columns.active.tolist()]
    return current, dict(zip(map(str, tasks), names, strict=True))
