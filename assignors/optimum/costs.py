"""The cost of a copy of each task on each client, in whole numbers.

The cost counts partitions as in KIP-925 (this module) or bytes that cross racks (`byte_costs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState, previous_holders
from assignors.objective.cost import STATELESS_WEIGHTS, Weights

FloatArray = npt.NDArray[np.float64]


class Priority(StrEnum):
    """What to minimize: the weighted sum; traffic first, then moves; or moves first, then traffic."""

    WEIGHTED = "weighted"
    TRAFFIC_FIRST = "traffic_first"
    MOVES_FIRST = "moves_first"


@dataclass(frozen=True, slots=True, eq=False)
class CopyTraffic:
    """Cross-rack traffic of T tasks on C clients, in partitions, bytes per second or US dollars a day.

    Attributes:
        active: shape (T, C); traffic of an active task.
        standby: shape (T, C); traffic of a standby.
    """

    active: npt.NDArray[np.generic]
    standby: npt.NDArray[np.generic]

    def total(self, active: IntArray, standby: BoolArray) -> float:
        """Return the cross-rack traffic of an assignment; columns as in `AssignmentColumns`."""
        rows = np.flatnonzero(active >= 0)
        return float(self.active[rows, active[rows]].sum()) + float(self.standby[standby].sum())


@dataclass(frozen=True, slots=True, eq=False)
class CopyCosts:
    """The cost of copies of T tasks on C clients.

    Attributes:
        active: shape (T, C); cost of an active task.
        standby: shape (T, C); cost of a standby.
        weights: weights of traffic and movement.
        unit: traffic that a cost of 1 represents: 1 partition, or a number of bytes per second or US dollars a day.
        traffic: the traffic part, before weighting and rounding.
        prefers_staying: whether a move breaks ties: of two equal costs, a copy that stays is preferred.
    """

    active: IntArray
    standby: IntArray
    weights: Weights
    unit: float
    traffic: CopyTraffic
    prefers_staying: bool


def weights_of(priority: Priority, weighted: Weights, copies: int, max_traffic: int) -> Weights:
    """Return the weights of a priority.

    `priority`: what to minimize first; `copies`: number of copies of stateful tasks, active tasks included, that can
    move; `max_traffic`: upper bound of the total traffic.
    """
    if priority == Priority.TRAFFIC_FIRST:
        return Weights(copies + 1, 1)
    if priority == Priority.MOVES_FIRST:
        return Weights(1, max_traffic + 1)
    return weighted


def partition_costs(state: ApplicationState, copies: int, priority: Priority, weighted: Weights) -> CopyCosts:
    """Return the costs of KIP-925: partitions read across racks, and copies on clients that did not hold them before.

    `state`: the state to assign. Where racks are unknown, traffic costs nothing. `copies`: standbys of each stateful
    task. `priority`: what to minimize first. `weighted`: weights for `Priority.WEIGHTED`.
    """
    stateful = state.tasks.stateful
    ran, held = previous_holders(state)
    known = state.has_known_racks(standbys=copies > 0)
    read = state.remote_partitions(state.tasks.source) if known else np.zeros_like(state.lags)
    restored = state.remote_partitions(state.tasks.changelog) if known and copies else np.zeros_like(state.lags)
    sources, changelogs = state.tasks.source.counts()[stateful], state.tasks.changelog.counts()[stateful]
    max_traffic = int(sources.sum() + copies * changelogs.sum())
    weights = weights_of(priority, weighted, int(stateful.sum()) * (1 + copies), max_traffic)
    return CopyCosts(
        active=np.where(
            stateful[:, None],
            weights.traffic_cost * read + weights.non_overlap_cost * ~ran,
            STATELESS_WEIGHTS.traffic_cost * read,
        ),
        standby=weights.traffic_cost * restored + weights.non_overlap_cost * ~held,
        weights=weights,
        unit=1,
        traffic=CopyTraffic(read, restored),
        prefers_staying=False,
    )
