"""What copies cost where bytes count: what they bring across racks, at rest and until they are restored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray, Ragged
from assignors.model.lags import records_to_restore
from assignors.model.state import NO_LAG, ApplicationState
from assignors.model.traffic_rates import PartitionRateColumns, TrafficRates
from assignors.objective.cost import Weights, has_known_racks
from assignors.model.state import previous_holders
from assignors.optimum.costs import CopyCosts, CopyTraffic, FloatArray, Priority, weights_of

FINENESS = 100_000
"""How many units the dearest copy costs, at most; so programmes are solved exactly."""

_SECONDS_A_DAY = 86_400
_GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ByteCostTerms:
    """How bytes become costs.

    Attributes:
        priority: what wins.
        moving: what a stateful task or standby costs besides in a new place, in bytes per second or dollars a day.
        horizon_s: over how long what is restored is spread.
        usd_per_gb: the price of a gigabyte that crosses racks; None to count bytes.
    """

    priority: Priority
    moving: int
    horizon_s: float
    usd_per_gb: float | None = None

    @property
    def worth(self) -> float:
        """What a byte per second is worth: itself, or US dollars a day."""
        return 1.0 if self.usd_per_gb is None else self.usd_per_gb * _SECONDS_A_DAY / _GB


def byte_costs(state: ApplicationState, copies: int, rates: TrafficRates, terms: ByteCostTerms) -> CopyCosts:
    """The costs of bytes.

    A task that runs costs what it reads and what it and its changelogs write across racks; a standby what it reads.
    A copy that is behind costs what it reads across racks to catch up, too, spread over the horizon.

    Args:
        state: what is to be assigned. Where racks are not known, nothing crosses any.
        copies: standbys of each stateful task.
        rates: what flows.
        terms: how that becomes costs.

    Complexity: O(T·C + P·R).
    """
    stateful, num_stateful = state.tasks.stateful[:, None], int(state.tasks.stateful.sum())
    known = has_known_racks(state, standbys=copies > 0)
    crossing = _crossing(state, rates) if known else _CrossRackBytes(*(np.zeros(state.lags.shape) for _ in range(3)))
    traffic = [crossing.running * terms.worth, crossing.standing_by * terms.worth * stateful]
    is_new = [~had & stateful for had in previous_holders(state)]
    is_weighted = terms.priority == Priority.WEIGHTED
    restored = crossing.restoring * stateful * (terms.worth / terms.horizon_s)
    moved = [is_weighted * (restored + terms.moving * new) for new in is_new]
    both = [each + moving for each, moving in zip(traffic, moved, strict=True)]
    unit = _unit(max(float(each.max(initial=0)) for each in both), is_whole=terms.usd_per_gb is None)
    running, standing_by = (_rounded(each, unit) for each in both)
    most = int(running.max(axis=1, initial=0).sum() + copies * standing_by.max(axis=1, initial=0).sum())
    weights = weights_of(terms.priority, Weights(1, 1), num_stateful * (1 + copies), most)
    if not is_weighted:
        factor = np.where(stateful, weights.traffic_cost, 1)
        running, standing_by = (
            factor * each + weights.non_overlap_cost * new
            for each, new in zip((running, standing_by), is_new, strict=True)
        )
    return CopyCosts(running, standing_by, weights, unit, CopyTraffic(*traffic), settles_moves=True)


@dataclass(frozen=True, slots=True, eq=False)
class _CrossRackBytes:
    """What comes across racks to a copy; each of shape (T, C).

    Attributes:
        running: bytes per second of a task that runs.
        standing_by: bytes per second of a standby.
        restoring: bytes until a copy is level.
    """

    running: FloatArray
    standing_by: FloatArray
    restoring: FloatArray


def _unit(dearest: float, *, is_whole: bool) -> float:
    if is_whole:
        return float(max(1, -(-dearest // FINENESS)))
    return dearest / FINENESS if dearest else 1.0


def _rounded(amounts: FloatArray, unit: float) -> IntArray:
    rounded: IntArray = np.rint(amounts / unit).astype(np.int64)
    return rounded


def _crossing(state: ApplicationState, rates: TrafficRates) -> _CrossRackBytes:
    found = PartitionRateColumns.of(state, rates)
    rate, changelog, here = found.bytes_per_s[:, None], state.tasks.changelog, state.clients.rack
    logged = (found.is_leader_remote * rate)[changelog.values] * ~_is_source(state)[:, None]
    written = Ragged(changelog.offsets, np.arange(len(changelog.values))).sum(logged)
    running = state.tasks.source.sum(found.is_remote * rate) + written + _written_besides(state, rates)
    records = changelog.sum(found.size_bytes // found.record_bytes)
    lacking = np.where(state.lags == NO_LAG, 0, records_to_restore(state))
    remote = changelog.sum(found.is_remote * found.size_bytes[:, None]) / np.maximum(records, 1)[:, None]
    return _CrossRackBytes(
        running=running[:, here].astype(np.float64),
        standing_by=changelog.sum(found.is_remote * rate)[:, here].astype(np.float64),
        restoring=lacking * remote[:, here],
    )


def _is_source(state: ApplicationState) -> BoolArray:
    """Along `changelog.values`: whether the task reads the partition as a source, too, and so does not write it."""
    tasks, number = state.tasks, len(state.partitions.names)
    changelogs, sources = (
        np.repeat(np.arange(len(tasks)), listed.counts()) * number + listed.values
        for listed in (tasks.changelog, tasks.source)
    )
    return np.isin(changelogs, sources)


def _written_besides(state: ApplicationState, rates: TrafficRates) -> IntArray:
    """Shape (T, R); what each task writes to leaders in other racks, besides its changelogs."""
    racks = state.partitions.racks
    written = np.zeros((len(state.tasks), len(racks)), dtype=np.int64)
    for row, task in enumerate(state.tasks.ids):
        for rack, bytes_per_s in rates.writes.get(task, {}).items():
            written[row] += [bytes_per_s * (rack != other) for other in racks]
    return written
