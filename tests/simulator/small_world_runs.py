"""Runs of the small world that check the invariants after every change."""

from __future__ import annotations

import dataclasses

import numpy as np

from assignors.model.assignment import TaskAssignor
from assignors.model.configs import RackAwareStrategy
from assignors.tasks.high_availability import HighAvailability
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.trace import Trace
from simulator.world.changes import Disturbance
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import Store, Subtopology, World
from tests.simulator.invariants import InvariantChecker
from tests.simulator.world_builders import with_configs, with_group

SECOND = 1_000
TOTAL_STATE_BYTES = 6 * 600_000_000


def run(base: World, *disturbances: Disturbance, assignor: TaskAssignor | None = None) -> Trace:
    disturbed = dataclasses.replace(base, disturbances=disturbances)
    return simulate(disturbed, assignor or HighAvailability(), options=RunOptions(observe=InvariantChecker(disturbed)))


def round_times(trace: Trace) -> list[int]:
    return [round_.at_ms for round_ in trace.rounds]


def members(trace: Trace) -> list[list[int]]:
    return [sorted(round_.members.tolist()) for round_ in trace.rounds]


def with_client(base: World, row: int, **changes: object) -> World:
    """Return the world with one changed client."""
    clients = [dataclasses.replace(client, **changes) if i == row else client for i, client in enumerate(base.clients)]  # type: ignore[arg-type]
    return dataclasses.replace(base, clients=tuple(clients))


def with_in_memory_store(base: World) -> World:
    """Return the world with an in-memory store."""
    first, second = base.application.subtopologies
    stores = (Store("counts", "app-counts-changelog", persistent=False),)
    parts = (first, Subtopology(second.id, second.source_topics, stores))
    return dataclasses.replace(base, application=dataclasses.replace(base.application, subtopologies=parts))


def with_streams_protocol(base: World, **configs: object) -> World:
    return with_group(base, protocol=GroupProtocol.STREAMS, **configs)


def with_rack_awareness(base: World) -> World:
    return with_configs(base, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)


def tasks_on(trace: Trace, row: int, number: int = 0) -> np.ndarray:
    """Return the rows of the tasks that a round assigned to a client."""
    return np.flatnonzero(trace.rounds[number].owner == row)


def downtime_s(trace: Trace) -> list[float]:
    return (trace.downtime_ms / 1000).tolist()
