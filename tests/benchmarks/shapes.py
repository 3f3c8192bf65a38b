"""Applications on random racks, reproducible by seed: as problems and as single flows."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assignors.flow import min_traffic

Json = dict[str, Any]

SUBTOPOLOGIES = (0.3, 0.25, 0.2, 0.15, 0.1)
"""Fraction of the tasks in each subtopology; the last is stateless, the second reads two topics."""
LAG_WITHOUT_COPY = 100_000
TRAFFIC_COST = 10
NON_OVERLAP_COST = 1


def rack_problem(
    strategy: str, tasks: int, clients: int, *, moving: float = 1.0, racks: int = 3, standbys: int = 1, seed: int = 1
) -> Json:
    """Return the problem of a new application with the high availability assignor: no client has run a task yet.

    Clients are in the racks in turn. `moving` is the fraction of tasks whose partitions are in one random rack each;
    those of the other tasks are in every rack. With few moving tasks, Kafka needs few searches for large graphs.
    """
    rng = random.Random(f"{seed}/{tasks}x{clients}/{racks}/{moving}")
    rows = [_task(number, partition) for number, partition in _task_ids(tasks)]
    everywhere = [f"rack-{rack}" for rack in range(racks)]
    stateful = [row["id"] for row in rows if row["stateful"]]
    return {
        "id": f"rack-{strategy}-{tasks}x{clients}-{moving:g}",
        "assignor": "ha",
        "configs": {
            "num_standby_replicas": standbys,
            "rack_aware_assignment_strategy": strategy,
            "rack_aware_traffic_cost": TRAFFIC_COST,
            "rack_aware_non_overlap_cost": NON_OVERLAP_COST,
        },
        "tasks": rows,
        "partition_racks": {
            name: [rng.choice(everywhere)] if moves else everywhere
            for row in rows
            for moves in [rng.random() < moving]
            for name in (*row["source_partitions"], *row["changelog_partitions"])
        },
        "clients": [
            {
                "process_id": f"00000000-0000-0000-0000-{client + 1:012x}",
                "rack": f"rack-{client % racks}",
                "threads": 4,
                "task_lags": dict.fromkeys(stateful, LAG_WITHOUT_COPY),
            }
            for client in range(clients)
        ],
    }


def _task_ids(tasks: int) -> list[tuple[int, int]]:
    sizes = [int(tasks * part) for part in SUBTOPOLOGIES]
    sizes[0] += tasks - sum(sizes)
    return [(number, partition) for number, size in enumerate(sizes) for partition in range(size)]


def _task(number: int, partition: int) -> Json:
    topics = [f"in{number}", *([f"join{number}"] if number == 1 else [])]
    stateful = number < len(SUBTOPOLOGIES) - 1
    return {
        "id": f"{number}_{partition}",
        "stateful": stateful,
        "source_partitions": [f"{topic}-{partition}" for topic in topics],
        "changelog_partitions": [f"app-store{number}-changelog-{partition}"] if stateful else [],
    }


def rack_costs(
    tasks: int, clients: int, *, racks: int = 3, seed: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the costs [task][client] of a flow on random racks, one partition per task, and each task's client."""
    rng = np.random.default_rng(seed)
    owner = np.arange(tasks, dtype=np.intp) % clients
    partition_rack = rng.integers(racks, size=tasks)
    costs = TRAFFIC_COST * (partition_rack[:, None] != np.arange(clients) % racks) + NON_OVERLAP_COST
    costs[np.arange(tasks), owner] -= NON_OVERLAP_COST
    return costs.astype(np.int64), owner


@cache
def warm_up() -> None:
    """Solve a flow that is large enough to load the compiled kernels for all later calls."""
    min_traffic(*rack_costs(2_000, 100))
