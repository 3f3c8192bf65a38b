"""Rack-aware optimisation of an assignment, and what an assignment costs in cross-rack reads.

Source: KIP-925, `RackAwareTaskAssignor`, `MinTrafficGraphConstructor`, `BalanceSubtopologyGraphConstructor`.

The cost counts *partitions*, not bytes, and takes any replica in the client's rack as local, as Kafka does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.errors import IllegalStateError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import IntArray, Ragged
from assignors.model.configs import RackAwareStrategy
from assignors.model.state import ApplicationState
from assignors.objective.cost import has_known_racks
from assignors.recording.recorder import Recorder
from assignors.tasks.active_task_flow import move_actives, traffic_by_rack
from assignors.tasks.standby_exchange import exchange_standbys
from assignors.tasks.task_placement import TaskPlacement

STATELESS_TRAFFIC_COST = 1
STATELESS_NON_OVERLAP_COST = 0


@dataclass(frozen=True, slots=True)
class RackCosts:
    """What an assignment costs in Kafka's terms.

    None where Kafka would not know: racks are missing, a copy reads no partition, no standbys are asked for.
    """

    active: int | None
    stateless: int | None
    standby: int | None


def can_enable(state: ApplicationState) -> bool:
    """Whether Kafka optimises for racks at all: a strategy is set, and every client and every replica has a rack.

    Replicas of changelogs count only if standbys are asked for.
    """
    configs = state.assignment_configs
    if configs.rack_aware_assignment_strategy is RackAwareStrategy.NONE:
        return False
    return has_known_racks(state, standbys=configs.num_standby_replicas > 0)


def optimize_active_tasks(
    placement: TaskPlacement, tasks: Sequence[int], traffic_cost: int, non_overlap_cost: int, recorder: Recorder
) -> None:
    """Move the given active tasks among clients to the least total cost, as Kafka's min-cost flow does.

    Guarantees: the least sum of traffic and non-overlap cost that the configured strategy's graph admits; with
    min_traffic every client keeps its number of these tasks.

    Raises:
        IllegalStateError: a task reads no partition.
    """
    if not tasks:
        return
    state = placement.state
    _require_partitions(state, state.tasks.source, tasks)
    traffic = traffic_by_rack(state, state.tasks.source, traffic_cost)
    move_actives(placement, tasks, range(len(state.clients)), traffic, non_overlap_cost, recorder)


def optimize_standby_tasks(
    placement: TaskPlacement, traffic_cost: int, non_overlap_cost: int, tags: IntArray, recorder: Recorder
) -> None:
    """Exchange standbys between clients of different racks, pair by pair, as long as that saves cost.

    `tags` is as for `exchange_standbys`.

    Guarantees: every client keeps its number of standbys; a task is never put where it is held already.

    Priority: pairs of clients in Kafka's order, each solved and applied before the next; at most 4 rounds.

    Complexity: O(C²) small min-cost flows a round.

    Raises:
        IllegalStateError: a standby task has no changelog.
    """
    state = placement.state
    _require_partitions(state, state.tasks.changelog, np.flatnonzero(placement.standbys().any(axis=0)))
    traffic = traffic_by_rack(state, state.tasks.changelog, traffic_cost)
    exchange_standbys(placement, range(len(state.clients)), traffic, non_overlap_cost, tags, recorder)


def _require_partitions(state: ApplicationState, partitions: Ragged, tasks: Sequence[int] | IntArray) -> None:
    rows = np.asarray(tasks, dtype=np.int64)
    without = rows[partitions.counts()[rows] == 0]
    if len(without):
        raise IllegalStateError(f"Task {state.tasks.ids[without[0]]} has no TopicPartitions")


def rack_costs(state: ApplicationState, columns: AssignmentColumns, traffic_cost: int) -> RackCosts:
    """What an assignment costs by Kafka's own count.

    Args:
        state: the state that was assigned.
        columns: the assignment.
        traffic_cost: weight of one remote partition, for stateful actives and standbys; stateless ones weigh 1.
    """
    if not can_enable(state):
        return RackCosts(None, None, None)
    running = columns.active != UNASSIGNED
    standbys = columns.standby & (state.assignment_configs.num_standby_replicas > 0)
    reads_nothing = (running & (state.tasks.source.counts() == 0)) | (
        standbys.any(axis=1) & (state.tasks.changelog.counts() == 0)
    )
    if reads_nothing.any():
        return RackCosts(None, None, None)
    racks = state.clients.rack
    paid = np.zeros(len(running), dtype=np.int64)
    paid[running] = state.partitions.remote(state.tasks.source)[running, racks[columns.active[running]]]
    held, held_by = np.nonzero(standbys)
    standby = state.partitions.remote(state.tasks.changelog)[held, racks[held_by]].sum()
    return RackCosts(
        active=int(paid[state.tasks.stateful].sum()) * traffic_cost,
        stateless=int(paid[~state.tasks.stateful].sum()) * STATELESS_TRAFFIC_COST,
        standby=int(standby) * traffic_cost if state.assignment_configs.num_standby_replicas else None,
    )
