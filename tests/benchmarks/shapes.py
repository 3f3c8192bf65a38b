"""Applications on random racks, made from a seed: as problems, as the columns of a state, and as a flow alone."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assignors.flow import min_traffic

Json = dict[str, Any]

SUBTOPOLOGIES = (0.3, 0.25, 0.2, 0.15, 0.1)
"""Which part of the tasks is in each; the last one has no state, the second reads two topics."""
NEVER_HAD = 100_000
TRAFFIC_COST = 10
NON_OVERLAP_COST = 1


def rack_problem(
    strategy: str, tasks: int, clients: int, *, moving: float = 1.0, racks: int = 3, standbys: int = 1, seed: int = 1
) -> Json:
    """A new application under the high availability assignor: nobody has run anything yet.

    Clients lie in the racks in turn. `moving` is the share of the tasks whose partitions lie in one random rack each;
    those of the others are in every rack. With few of them, large graphs take Kafka few searches.
    """
    chance = random.Random(f"{seed}/{tasks}x{clients}/{racks}/{moving}")
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
            name: [chance.choice(everywhere)] if moves else everywhere
            for row in rows
            for moves in [chance.random() < moving]
            for name in (*row["source_partitions"], *row["changelog_partitions"])
        },
        "clients": [
            {
                "process_id": f"00000000-0000-0000-0000-{client + 1:012x}",
                "rack": f"rack-{client % racks}",
                "threads": 4,
                "task_lags": dict.fromkeys(stateful, NEVER_HAD),
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
    """The costs [task][client] of one flow on random racks, one partition a task, and the client of each task."""
    chance = np.random.default_rng(seed)
    owner = np.arange(tasks, dtype=np.intp) % clients
    partition_rack = chance.integers(racks, size=tasks)
    costs = TRAFFIC_COST * (partition_rack[:, None] != np.arange(clients) % racks) + NON_OVERLAP_COST
    costs[np.arange(tasks), owner] -= NON_OVERLAP_COST
    return costs.astype(np.int64), owner


@cache
def warm_up() -> None:
    """Solves a flow that is large enough for the kernels to be loaded, compiled, for all that follows."""
    min_traffic(*rack_costs(2_000, 100))
