"""What is measured of one rebalance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.assignment import UNASSIGNED
from assignors.bounds import least_remote_source_partitions
from assignors.columns import NO_RACK, BoolArray, IntArray
from simulator.rebalance import Rebalance


@dataclass(frozen=True, slots=True)
class Measures:
    """Figures of an assignment; None where racks are not known.

    Attributes:
        remote_source_partitions: source partitions without a replica in the rack of the client that reads them.
        least_remote_source_partitions: what no assignment could undercut.
        remote_standby_partitions: the same for the changelogs of standbys.
        load_skew: most minus least active + standby tasks per thread.
        active_skew: most minus least active tasks per thread.
        subtopology_skew: the largest difference between two clients in active tasks of one subtopology.
        standbys: standby and warm-up copies.
        tasks_in_one_rack: stateful tasks all of whose copies stand in one rack.
    """

    remote_source_partitions: int | None
    least_remote_source_partitions: int | None
    remote_standby_partitions: int | None
    load_skew: float
    active_skew: float
    subtopology_skew: int
    standbys: int
    tasks_in_one_rack: int | None


def measure(decided: Rebalance) -> Measures:
    """Measure what was decided."""
    state, columns = decided.state, decided.columns
    runs = _runs(decided)
    per_client = runs.sum(axis=0)
    held = per_client + columns.standby.sum(axis=0)
    source = (state.remote_partitions(state.tasks.source) * runs).sum()
    changelog = (state.remote_partitions(state.tasks.changelog) * columns.standby).sum()
    racks_known = not (state.clients.rack == NO_RACK).any()
    return Measures(
        remote_source_partitions=int(source) if racks_known else None,
        least_remote_source_partitions=least_remote_source_partitions(state),
        remote_standby_partitions=int(changelog) if racks_known else None,
        load_skew=_spread(held / state.clients.threads),
        active_skew=_spread(per_client / state.clients.threads),
        subtopology_skew=_subtopology_skew(state.tasks.subtopology, runs),
        standbys=int(columns.standby.sum()),
        tasks_in_one_rack=_tasks_in_one_rack(decided, runs) if racks_known else None,
    )


def _runs(decided: Rebalance) -> BoolArray:
    """Shape (T, C); who runs what."""
    active = decided.columns.active
    runs = np.zeros(decided.columns.standby.shape, dtype=np.bool_)
    rows = np.flatnonzero(active != UNASSIGNED)
    runs[rows, active[rows]] = True
    return runs


def _spread(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    return float(values.max() - values.min()) if len(values) else 0.0


def _subtopology_skew(subtopology: IntArray, runs: BoolArray) -> int:
    counts = [runs[subtopology == one].sum(axis=0) for one in np.unique(subtopology)]
    return max((int(count.max() - count.min()) for count in counts), default=0)


def _tasks_in_one_rack(decided: Rebalance, runs: BoolArray) -> int:
    copies = (runs | decided.columns.standby)[decided.state.tasks.stateful]
    racks = decided.state.clients.rack
    in_racks = np.stack([copies[:, racks == rack].any(axis=1) for rack in np.unique(racks)])
    return int((in_racks.sum(axis=0) == 1).sum())
