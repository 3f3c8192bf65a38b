"""What copies cost, in whole numbers, by what counts: partitions as in KIP-925, or bytes that cross racks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.objective.cost import STATELESS_TRAFFIC_COST, Weights, has_known_racks
from assignors.model.state import previous_holders

FloatArray = npt.NDArray[np.float64]


class Priority(StrEnum):
    """What wins: the weighted sum, or traffic whatever it takes to move, or staying put whatever is read remotely."""

    WEIGHTED = "weighted"
    TRAFFIC_FIRST = "traffic_first"
    MOVES_FIRST = "moves_first"


@dataclass(frozen=True, slots=True, eq=False)
class CopyTraffic:
    """What T tasks bring across racks on C clients: partitions, bytes per second or US dollars a day.

    Attributes:
        running: shape (T, C); of a task that runs there.
        standing_by: shape (T, C); of a standby.
    """

    running: npt.NDArray[np.generic]
    standing_by: npt.NDArray[np.generic]

    def total(self, active: IntArray, standby: BoolArray) -> float:
        """What an assignment brings across racks; columns as of `AssignmentColumns`."""
        rows = np.flatnonzero(active >= 0)
        return float(self.running[rows, active[rows]].sum()) + float(self.standing_by[standby].sum())


@dataclass(frozen=True, slots=True, eq=False)
class CopyCosts:
    """What copies of T tasks cost on C clients.

    Attributes:
        running: shape (T, C); of a task that runs there.
        standing_by: shape (T, C); of a standby.
        weights: what traffic and movement count in these.
        unit: what a cost of 1 is worth: 1 partition, or so many bytes per second or US dollars a day.
        traffic: what of it is traffic, before it is weighed and rounded.
        settles_moves: whether a copy in a new place is worse than one that stays where both cost the same.
    """

    running: IntArray
    standing_by: IntArray
    weights: Weights
    unit: float
    traffic: CopyTraffic
    settles_moves: bool


def weights_of(priority: Priority, weighted: Weights, copies: int, most_traffic: int) -> Weights:
    """The weights of a priority.

    Args:
        priority: what wins.
        weighted: the weights where nothing does.
        copies: of all stateful tasks, actives included: how many can be in a new place.
        most_traffic: what traffic comes to, at most.
    """
    if priority == Priority.TRAFFIC_FIRST:
        return Weights(copies + 1, 1)
    if priority == Priority.MOVES_FIRST:
        return Weights(1, most_traffic + 1)
    return weighted


def partition_costs(state: ApplicationState, copies: int, priority: Priority, weighted: Weights) -> CopyCosts:
    """The costs of KIP-925: partitions read across racks, and copies that were not there before.

    Args:
        state: what is to be assigned. Where racks are not known, traffic costs nothing.
        copies: standbys of each stateful task.
        priority: what wins.
        weighted: the weights where nothing does.
    """
    stateful = state.tasks.stateful
    ran, held = previous_holders(state)
    known = has_known_racks(state, standbys=copies > 0)
    read = state.remote_partitions(state.tasks.source) if known else np.zeros_like(state.lags)
    restored = state.remote_partitions(state.tasks.changelog) if known and copies else np.zeros_like(state.lags)
    sources, changelogs = state.tasks.source.counts()[stateful], state.tasks.changelog.counts()[stateful]
    most = int(sources.sum() + copies * changelogs.sum())
    weights = weights_of(priority, weighted, int(stateful.sum()) * (1 + copies), most)
    return CopyCosts(
        running=np.where(
            stateful[:, None],
            weights.traffic_cost * read + weights.non_overlap_cost * ~ran,
            STATELESS_TRAFFIC_COST * read,
        ),
        standing_by=weights.traffic_cost * restored + weights.non_overlap_cost * ~held,
        weights=weights,
        unit=1,
        traffic=CopyTraffic(read, restored),
        settles_moves=False,
    )
