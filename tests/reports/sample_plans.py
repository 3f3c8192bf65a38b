"""Plan folders for tests of pages: a cluster of five brokers, one of them missing, and three strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assignor_sim.api.plan_comparison import batch_rows, plan_tables
from assignors.replicas.plan import PlanRequest
from assignors.replicas.plan_evaluation import measure_movement, measure_placement
from assignors.replicas.state import BrokerState, ClusterState
from reports.analysis.plans.results import CRITERIA, TODAY, PlanResults, PlanRow, records
from scenarios.kafka.plan_files import BatchLimits, replica_changes

GB = 1_000_000_000
NAMES = ("prod", "even", "greedy", "az1", "az2")

CURRENT = {("orders", n): ((1, 2), (1, 3), (2, 3), (9, 2), (3, 1), (1, 2))[n] for n in range(6)}
EVEN = ((4, 2), (1, 4), (2, 3), (3, 4), (3, 1), (2, 1))
GREEDY = ((1, 2), (1, 3), (2, 3), (4, 2), (3, 1), (1, 4))


def results(
    names: Sequence[str] = NAMES,
    *,
    sizes: bool = True,
    racks: bool = True,
    plans: Mapping[str, Sequence[Sequence[int]]] | None = None,
    extra: int = 0,
) -> PlanResults:
    """Build a plan folder.

    Args:
        names: names of the cluster, of two strategies and of two racks.
        sizes: whether sizes are known.
        racks: whether brokers have racks.
        plans: broker ids of each partition by strategy, instead of the two plans.
        extra: number of further brokers, to which no replica moves.
    """
    source, even, greedy, *rack_names = names
    ids = (1, 2, 3, 4, *range(10, 10 + extra))
    brokers = [BrokerState(id, rack_names[id % 2] if racks else None, capacity_bytes=100 * GB) for id in ids]
    size_bytes = {key: (number + 1) * GB for number, key in enumerate(CURRENT)} if sizes else None
    state = ClusterState.of(brokers, CURRENT, leaders={("orders", 3): 2}, size_bytes=size_bytes)
    row_of = {id: row for row, id in enumerate(state.ids.tolist())}
    chosen = {even: EVEN, greedy: GREEDY} if plans is None else plans
    arrays = {name: np.array([[row_of[id] for id in ids] for ids in rows]) for name, rows in chosen.items()}
    rows = [PlanRow(TODAY, figures=_figures(state, state.replicas), aims=frozenset(CRITERIA))]
    for name, replicas in arrays.items():
        moved = measure_movement(state, replicas)
        figures = {**_figures(state, replicas), "replicas_moved": moved.replicas, "bytes_moved": moved.bytes}
        aims = frozenset({"storage"} if name == greedy else CRITERIA)
        rows.append(PlanRow(name, "feasible", figures=figures, aims=aims, changes=3, elections=1, notes=(name,)))
    rows.append(PlanRow(f"{greedy} and more", "not_applicable", "it cannot drain"))
    manifest: dict[str, Any] = {
        "title": f"{source}: {len(state.brokers)} brokers",
        "asked": f"with broker 4:{rack_names[0]}",
        "remarks": [f"1 partition of {source} is not in sync"],
        "cluster": {"source": source},
        "command": f"assignor-sim plan {source}",
        "versions": {"assignor-sim": "1"},
        "plans": records(rows),
    }
    batches = [
        row
        for name, placement in arrays.items()
        for row in batch_rows(name, replica_changes(state, placement), 0, BatchLimits(partitions=2))
    ]
    return PlanResults(tuple(rows), plan_tables(state, PlanRequest(), arrays, batches), manifest)


def _figures(state: ClusterState, replicas: Any) -> dict[str, float | None]:
    metrics = measure_placement(state, PlanRequest(), replicas)
    return {
        "replicas_range": metrics.replicas_range,
        "topic_replicas_range": metrics.topic_replicas_range,
        "storage_bytes_range": metrics.bytes_range,
        "leaders_range": metrics.leaders_range,
        "topic_leaders_range": metrics.topic_leaders_range,
        **{f"broken_{rule}": times for rule, times in metrics.violations.items()},
    }
