"""The cost of a copy of each task on each client, in whole numbers: partitions as in KIP-925, or bytes across racks.

The price of a copy is its cost with tie-breaks, in favor of clients that need no warm-up, then of clients that are
warming up, so that an assignment stays the same while its copies are restored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from assignors.model.columns import BoolArray, IntArray, Ragged
from assignors.model.lags import is_caught_up, records_to_restore, require_lags
from assignors.model.state import NO_LAG, ApplicationState, previous_holders
from assignors.model.traffic_rates import PartitionRateColumns, TrafficRates, TrafficUnit
from assignors.objective import STATELESS_WEIGHTS, Weights

NOT_NEGATIVE = (
    "traffic_cost",
    "non_overlap_cost",
    "slack",
    "subtopology_slack",
    "downtime_cost",
    "usd_per_gb",
    "max_variables",
)
POSITIVE = ("time_limit_s", "horizon_s")

_UNITS_OF_PARAMETER = {
    "traffic_cost": (TrafficUnit.PARTITIONS,),
    "bytes_per_s": (TrafficUnit.BYTES, TrafficUnit.DOLLARS),
    "usd_per_gb": (TrafficUnit.DOLLARS,),
}


def check_parameters(parameters: Mapping[str, Any], kinds: Mapping[str, type[StrEnum]]) -> None:
    """Check parameters, by themselves and in combination.

    `parameters`: parameters by name; None if not set. Raises TypeError if `rates` is not a `TrafficRates`; and
    ValueError if a value is not allowed, or a parameter has no effect.
    """
    for name, kind in kinds.items():
        if parameters[name] not in list(kind):
            raise ValueError(f"{name} must be one of {', '.join(kind)}, not '{parameters[name]}'")
    for name in NOT_NEGATIVE:
        if parameters[name] is not None and parameters[name] < 0:
            raise ValueError(f"{name} must be 0 or more, not {parameters[name]}")
    for name in POSITIVE:
        if parameters[name] <= 0:
            raise ValueError(f"{name} must be more than 0, not {parameters[name]}")
    for name, units in _UNITS_OF_PARAMETER.items():
        if parameters[name] not in (None, {}) and parameters["minimizes"] not in units:
            raise ValueError(f"{name} has no effect with `minimizes: {parameters['minimizes']}`; remove it")
    if not isinstance(parameters["rates"], TrafficRates | None):
        raise TypeError("rates must be a TrafficRates; a run sets it from the scenario's traffic")


FloatArray = npt.NDArray[np.float64]


class Priority(StrEnum):
    """What to minimize: the weighted sum; traffic first, then moves; or moves first, then traffic."""

    WEIGHTED = "weighted"
    TRAFFIC_FIRST = "traffic_first"
    MOVES_FIRST = "moves_first"


@dataclass(frozen=True, slots=True, eq=False)
class CopyTraffic:
    """Cross-rack traffic of T tasks on C clients, in partitions, bytes per second or US dollars a day."""

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


def needs_warmup(state: ApplicationState) -> BoolArray:
    """Return where a stateful task would wait for state: the client is not caught up, and another client is closer.

    The result has shape (N, C), a row for each stateful task.
    """
    require_lags(state)
    lags = state.lags[state.tasks.stateful]
    if not lags.size:
        return np.zeros(lags.shape, dtype=np.bool_)
    caught_up = is_caught_up(lags, state.assignment_configs.acceptable_recovery_lag)
    behind: BoolArray = ~caught_up & (lags > lags.min(axis=1, keepdims=True))
    return behind


_MAX_WAIT = 2
"""Maximum tie-break value of a copy that needs a warm-up."""


@dataclass(frozen=True, slots=True, eq=False)
class CopyPrices:
    """The prices of copies, and their scale.

    Attributes:
        active: shape (N, C); prices of N stateful tasks.
        standby: shape (N, C); prices of their standbys.
        stateless: shape (M, C); prices of the M stateless tasks.
        scale: factor of costs in prices; all tie-breaks together are less than a cost of 1.
    """

    active: IntArray
    standby: IntArray
    stateless: IntArray
    scale: int

    def cost(self, total_price: int) -> int:
        """Return the cost in a sum of prices."""
        return total_price // self.scale

    def lower_bound_of_cost(self, total_price: int) -> int:
        """Return the lower bound of a cost for a lower bound of the sum of prices."""
        return -((self.scale - 1 - total_price) // self.scale)


def compute_prices(state: ApplicationState, copies: int, costs: CopyCosts, downtime_cost: int) -> CopyPrices:
    """Return the prices of all copies on all clients.

    `copies`: standbys of each stateful task; `downtime_cost`: additional cost of a task on a client that lags behind
    another one, in the unit of the costs.
    """
    stateful = state.tasks.stateful
    ran, held = previous_holders(state)
    behind = needs_warmup(state)
    is_new, is_new_standby = (costs.prefers_staying * ~had[stateful] for had in (ran, held))
    worst = _MAX_WAIT + costs.prefers_staying
    scale = worst * (int(stateful.sum()) * (1 + copies) + int((~stateful).sum())) + 1
    waits = behind * (_MAX_WAIT - held[stateful])
    down = round(downtime_cost / costs.unit) * behind
    return CopyPrices(
        active=(costs.active[stateful] + down) * scale + waits + is_new,
        standby=costs.standby[stateful] * scale + waits + is_new_standby,
        stateless=costs.active[~stateful] * scale + ~ran[~stateful],
        scale=scale,
    )


def total_price(price: IntArray, held: BoolArray) -> int:
    """Return the sum of the prices of copies."""
    return int(price[held].sum())


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

    `state`: the state to assign. Where racks are unknown, no traffic crosses racks. `copies`: standbys of each stateful
    task. `rates`: traffic of partitions and tasks. `terms`: how to convert bytes to costs.

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
