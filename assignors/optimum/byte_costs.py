"""The cost of a copy in bytes: cross-rack traffic in the steady state, and to restore the copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray, Ragged
from assignors.model.lags import records_to_restore
from assignors.model.state import NO_LAG, ApplicationState, previous_holders
from assignors.model.traffic_rates import PartitionRateColumns, TrafficRates
from assignors.objective.cost import Weights
from assignors.optimum.costs import CopyCosts, CopyTraffic, FloatArray, Priority, weights_of

MAX_UNITS = 100_000
"""Cost of the most expensive copy in units; small enough for programs to be solved exactly."""

_SECONDS_A_DAY = 86_400
_GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ByteCostTerms:
    """How to convert bytes to costs.

    Attributes:
        priority: what to minimize first.
        move_cost: additional cost of a stateful task or standby on a new client, in bytes per second or dollars a day.
        horizon_s: period over which restored bytes are spread.
        usd_per_gb: price of 10⁹ bytes that cross racks; None to count bytes.
    """

    priority: Priority
    move_cost: int
    horizon_s: float
    usd_per_gb: float | None = None

    @property
    def value_of_byte_per_s(self) -> float:
        """Return the value of a byte per second: 1, or US dollars a day."""
        return 1.0 if self.usd_per_gb is None else self.usd_per_gb * _SECONDS_A_DAY / _GB


def byte_costs(state: ApplicationState, copies: int, rates: TrafficRates, terms: ByteCostTerms) -> CopyCosts:
    """Return the costs in bytes or dollars.

    An active task costs what it reads across racks, and what it and its changelogs write across racks. A standby costs
    what it reads. A copy that is behind also costs what it reads across racks to catch up, spread over the horizon.

    Args:
        state: the state to assign. Where racks are unknown, no traffic crosses racks.
        copies: standbys of each stateful task.
        rates: traffic of partitions and tasks.
        terms: how to convert bytes to costs.

    Complexity: O(T·C + P·R).
    """
    stateful, num_stateful = state.tasks.stateful[:, None], int(state.tasks.stateful.sum())
    known = state.has_known_racks(standbys=copies > 0)
    cross_rack = (
        _cross_rack_bytes(state, rates) if known else _CrossRackBytes(*(np.zeros(state.lags.shape) for _ in range(3)))
    )
    traffic = [cross_rack.active * terms.value_of_byte_per_s, cross_rack.standby * terms.value_of_byte_per_s * stateful]
    is_new = [~held & stateful for held in previous_holders(state)]
    is_weighted = terms.priority == Priority.WEIGHTED
    restored = cross_rack.restoring * stateful * (terms.value_of_byte_per_s / terms.horizon_s)
    move_costs = [is_weighted * (restored + terms.move_cost * new) for new in is_new]
    totals = [bytes_or_usd + move_cost for bytes_or_usd, move_cost in zip(traffic, move_costs, strict=True)]
    unit = _unit(max(float(bytes_or_usd.max(initial=0)) for bytes_or_usd in totals), is_whole=terms.usd_per_gb is None)
    active, standby = (_rounded(bytes_or_usd, unit) for bytes_or_usd in totals)
    max_traffic = int(active.max(axis=1, initial=0).sum() + copies * standby.max(axis=1, initial=0).sum())
    weights = weights_of(terms.priority, Weights(1, 1), num_stateful * (1 + copies), max_traffic)
    if not is_weighted:
        factor = np.where(stateful, weights.traffic_cost, 1)
        active, standby = (
            factor * bytes_or_usd + weights.non_overlap_cost * new
            for bytes_or_usd, new in zip((active, standby), is_new, strict=True)
        )
    return CopyCosts(active, standby, weights, unit, CopyTraffic(*traffic), prefers_staying=True)


@dataclass(frozen=True, slots=True, eq=False)
class _CrossRackBytes:
    """Cross-rack bytes of a copy; each of shape (T, C).

    Attributes:
        active: bytes per second of an active task.
        standby: bytes per second of a standby.
        restoring: bytes until the copy has caught up.
    """

    active: FloatArray
    standby: FloatArray
    restoring: FloatArray


def _unit(highest_cost: float, *, is_whole: bool) -> float:
    if is_whole:
        return float(max(1, -(-highest_cost // MAX_UNITS)))
    return highest_cost / MAX_UNITS if highest_cost else 1.0


def _rounded(amounts: FloatArray, unit: float) -> IntArray:
    rounded: IntArray = np.rint(amounts / unit).astype(np.int64)
    return rounded


def _cross_rack_bytes(state: ApplicationState, rates: TrafficRates) -> _CrossRackBytes:
    by_partition = PartitionRateColumns.of(state, rates)
    rate, changelog, client_rack = by_partition.bytes_per_s[:, None], state.tasks.changelog, state.clients.rack
    logged = (by_partition.is_leader_remote * rate)[changelog.values] * ~_is_source(state)[:, None]
    written = Ragged(changelog.offsets, np.arange(len(changelog.values))).sum(logged)
    active = state.tasks.source.sum(by_partition.is_remote * rate) + written + _non_changelog_writes(state, rates)
    records = changelog.sum(by_partition.size_bytes // by_partition.record_bytes)
    lacking = np.where(state.lags == NO_LAG, 0, records_to_restore(state))
    remote = changelog.sum(by_partition.is_remote * by_partition.size_bytes[:, None]) / np.maximum(records, 1)[:, None]
    return _CrossRackBytes(
        active=active[:, client_rack].astype(np.float64),
        standby=changelog.sum(by_partition.is_remote * rate)[:, client_rack].astype(np.float64),
        restoring=lacking * remote[:, client_rack],
    )


def _is_source(state: ApplicationState) -> BoolArray:
    """Return, along `changelog.values`, whether the task also reads the partition, and so does not write it."""
    tasks, number = state.tasks, len(state.partitions.names)
    changelogs, sources = (
        np.repeat(np.arange(len(tasks)), listed.counts()) * number + listed.values
        for listed in (tasks.changelog, tasks.source)
    )
    return np.isin(changelogs, sources)


def _non_changelog_writes(state: ApplicationState, rates: TrafficRates) -> IntArray:
    """Return the bytes per second that each task writes to leaders in other racks without changelogs, shape (T, R)."""
    racks = state.partitions.racks
    written = np.zeros((len(state.tasks), len(racks)), dtype=np.int64)
    for row, task in enumerate(state.tasks.ids):
        for rack, bytes_per_s in rates.writes.get(task, {}).items():
            written[row] += [bytes_per_s * (rack != own_rack) for own_rack in racks]
    return written
