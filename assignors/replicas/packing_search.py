"""Bin packing of replicas with sizes and rates onto brokers: few brokers, or a low peak utilization, then few moves.

Guarantees: one worker, a fixed seed and deterministic time, so that the same problem gives the same placement. The
wall-clock limit only ends searches that take far longer, and `was_cut_off` reports that.
Complexity: strongly NP-hard; P·B binaries.
Source: OR-Tools' CP-SAT. It starts from placements by first fit, D. S. Johnson, "Near-optimal bin packing algorithms"
(1973), leveled by single moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from assignors.model.columns import BoolArray, IntArray, distinct
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.state import ClusterState, broker_membership, bytes_per_broker, fixed_bytes_per_broker

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


UNLIMITED = np.iinfo(np.int64).max // 4
"""The network capacity of a broker whose capacity is unknown."""

PER_MILLE = 1_000
"""The unit of utilizations: thousandths of a capacity, rounded up."""


class Resource(NamedTuple):
    """A limited resource of brokers.

    Attributes:
        weight: shape (P,); the load of a replica of each partition.
        capacities: shape (B,); including headroom.
        fixed: shape (B,); the load of partitions that may not change.
    """

    weight: IntArray
    capacities: IntArray
    fixed: IntArray


class BrokerRates(NamedTuple):
    """The write rates of one replica of each partition that may change, and of each that may not."""

    planned: IntArray
    fixed: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PackingProblem:
    """A packing problem with P partitions and B allowed brokers.

    Attributes:
        size_bytes: shape (P,); the size of a replica.
        bytes_per_s: shape (P,); the write rate of a replica.
        disk_bytes: shape (B,); the disk capacity, including headroom.
        network_bytes_per_s: shape (B,); the network capacity, including headroom; UNLIMITED if unknown.
        fixed_bytes: shape (B,); the size of replicas that may not change.
        fixed_bytes_per_s: shape (B,); the write rate of replicas that may not change.
        capacity_bytes: shape (B,); the usable disk capacity for other replicas.
        capacity_bytes_per_s: shape (B,); the usable network capacity for other replicas; UNLIMITED if unknown.
        rack: shape (B,); the rack of each broker; all 0 if racks do not constrain the plan.
        rack_limits: shape (P,); the maximum number of replicas of a partition in one rack.
        held: shape (P, B); the current replicas.
    """

    normalized: NormalizedProblem
    factor: IntArray
    size_bytes: IntArray
    bytes_per_s: IntArray
    disk_bytes: IntArray
    network_bytes_per_s: IntArray
    fixed_bytes: IntArray
    fixed_bytes_per_s: IntArray
    capacity_bytes: IntArray
    capacity_bytes_per_s: IntArray
    rack: IntArray
    rack_limits: IntArray
    held: BoolArray

    @classmethod
    def of(cls, normalized: NormalizedProblem, rates: BrokerRates, headroom: float) -> PackingProblem:
        """Build the problem for a cluster with partition sizes and broker capacities.

        `rates`: the write rates of replicas; `headroom`: the share of every capacity to keep free.
        """
        state = normalized.canonical.state
        assert state.size_bytes is not None
        brokers = [state.brokers[row] for row in normalized.brokers]
        disk = [broker.capacity_bytes or 0 for broker in brokers]
        network = [broker.capacity_bytes_per_s for broker in brokers]
        usable = 1 - Fraction(str(headroom))
        fixed_bytes, fixed_rate = (
            fixed_bytes_per_broker(state)[normalized.brokers],
            _fixed_rates(state, rates.fixed)[normalized.brokers],
        )
        return cls(
            normalized=normalized,
            factor=normalized.factors,
            size_bytes=state.size_bytes,
            bytes_per_s=rates.planned,
            disk_bytes=np.array(disk, dtype=np.int64),
            network_bytes_per_s=_with_unlimited(network),
            fixed_bytes=fixed_bytes,
            fixed_bytes_per_s=fixed_rate,
            capacity_bytes=_subtract_fixed([int(capacity * usable) for capacity in disk], fixed_bytes),
            capacity_bytes_per_s=_subtract_fixed(
                [None if capacity is None else int(capacity * usable) for capacity in network], fixed_rate
            ),
            rack=normalized.rack,
            rack_limits=normalized.rack_limits,
            held=broker_membership(normalized.held, len(brokers)),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of partitions and brokers, P and B."""
        return self.held.shape[0], self.held.shape[1]

    @property
    def resources(self) -> list[Resource]:
        """Return the limited resources: disk, and network if any broker has a network capacity."""
        disk = Resource(self.size_bytes, self.disk_bytes, self.fixed_bytes)
        if (self.network_bytes_per_s == UNLIMITED).all():
            return [disk]
        return [disk, Resource(self.bytes_per_s, self.network_bytes_per_s, self.fixed_bytes_per_s)]

    def peak(self, chosen: BoolArray) -> int:
        """Return the highest utilization of any resource of any broker, in thousandths."""
        return max(
            -(-int(used) * PER_MILLE // int(capacity))
            for weight, capacities, fixed in self.resources
            for used, capacity in zip((weight @ chosen + fixed).tolist(), capacities.tolist(), strict=True)
            if capacity < UNLIMITED
        )

    def min_peak(self) -> int:
        """Return a lower bound of `peak` over all placements: with divisible replicas, and for the largest replica.

        A broker with an unknown capacity can hold every replica; then only replicas that cannot move bound the peak.
        """
        return max(
            max(
                0 if (capacities == UNLIMITED).any() else self._min_shared_peak(weight, capacities, fixed),
                int((-(-fixed * PER_MILLE // capacities))[capacities < UNLIMITED].max(initial=0)),
            )
            for weight, capacities, fixed in self.resources
        )

    def _min_shared_peak(self, weight: IntArray, capacities: IntArray, fixed: IntArray) -> int:
        total = int((weight * self.factor).sum() + fixed.sum())
        return max(
            -(-total * PER_MILLE // int(sum(capacities.tolist()))),
            -(-int(weight.max()) * PER_MILLE // int(capacities.max())),
        )

    def preference(self) -> IntArray:
        """Return the brokers in the order in which they are taken into use.

        Racks take turns; within a rack, brokers are sorted by capacity and by current replicas, both descending, then
        by id.
        """
        num_replicas = self.held.sum(axis=0)
        order = np.lexsort(
            (np.arange(len(num_replicas)), -num_replicas, -self.capacity_bytes_per_s, -self.capacity_bytes)
        )
        turn_in_rack = np.empty(len(order), dtype=np.int64)
        for rack in distinct(self.rack):
            members = order[self.rack[order] == rack]
            turn_in_rack[members] = np.arange(len(members))
        return order[np.argsort(turn_in_rack[order], kind="stable")]

    def min_brokers(self) -> int:
        """Return a lower bound on the number of brokers in use.

        The largest brokers must hold all bytes, all rates, and the highest factor. The bound is also computed per rack,
        for the replicas that must be in the rack because other racks are limited.
        """
        everywhere = np.ones(len(self.rack), dtype=np.bool_)
        racks = [self.rack == rack for rack in distinct(self.rack)]
        max_in_rack = np.minimum(self.rack_limits[:, None], [brokers.sum() for brokers in racks])
        forced = np.maximum(self.factor[:, None] - (max_in_rack.sum(axis=1)[:, None] - max_in_rack), 0)
        by_rack = sum(self.min_brokers_for(brokers, forced[:, rack]) for rack, brokers in enumerate(racks))
        return max(self.min_brokers_for(everywhere, self.factor), by_rack)

    def min_brokers_for(self, brokers: BoolArray, replicas: IntArray) -> int:
        """Return how many of the given brokers can hold these replicas of each partition, as if they were divisible."""
        disk = _min_count(self.capacity_bytes[brokers], int((self.size_bytes * replicas).sum()))
        network = _min_count(self.capacity_bytes_per_s[brokers], int((self.bytes_per_s * replicas).sum()))
        return max(disk, network, int(replicas.max()))

    def fits(self, chosen: BoolArray) -> bool:
        """Return whether a placement, shape (P, B), meets all limits."""
        in_rack = np.zeros((len(chosen), int(self.rack.max()) + 1), dtype=np.int64)
        np.add.at(in_rack.T, self.rack, chosen.T.astype(np.int64))
        return bool(
            (chosen.sum(axis=1) == self.factor).all()
            and (self.size_bytes @ chosen <= self.capacity_bytes).all()
            and (self.bytes_per_s @ chosen <= self.capacity_bytes_per_s).all()
            and (in_rack <= self.rack_limits[:, None]).all()
        )

    def infeasibility(self) -> str | None:
        """Return why no placement fits; None if the checks of single partitions and of the total load pass."""
        fits = (self.size_bytes[:, None] <= self.capacity_bytes) & (
            self.bytes_per_s[:, None] <= self.capacity_bytes_per_s
        )
        short = np.flatnonzero(fits.sum(axis=1) < self.factor)
        if len(short):
            row = int(short[0])
            rate = f" at {self.bytes_per_s[row]:,} bytes/s" if len(self.resources) > 1 else ""
            name = self.normalized.canonical.state.name(row)
            return (
                f"{name}: {self.factor[row]} replicas of {self.size_bytes[row]:,} bytes{rate} fit on "
                f"{fits[row].sum()} brokers only"
            )
        for unit, required, available in (
            ("bytes", self.size_bytes * self.factor, self.capacity_bytes),
            ("bytes/s", self.bytes_per_s * self.factor, self.capacity_bytes_per_s),
        ):
            if required.sum() > available.astype(object).sum():
                return f"all partitions: {required.sum():,} {unit} exceed the capacity of {available.sum():,} {unit}"
        return None


def _fixed_rates(state: ClusterState, rates: IntArray) -> IntArray:
    """Return the write rate on each broker of partitions that may not change, shape (B,)."""
    if state.fixed is None:
        return np.zeros(len(state.brokers), dtype=np.int64)
    return bytes_per_broker(state.fixed.replicas, rates, len(state.brokers))


def _subtract_fixed(usable: list[int | None] | list[int], fixed: IntArray) -> IntArray:
    """Return the remaining capacities."""
    remaining = [
        UNLIMITED if capacity is None else max(capacity - fixed_load, 0)
        for capacity, fixed_load in zip(usable, fixed.tolist(), strict=True)
    ]
    return np.array(remaining, dtype=np.int64)


def _with_unlimited(capacities: list[int | None]) -> IntArray:
    return np.array([UNLIMITED if capacity is None else capacity for capacity in capacities], dtype=np.int64)


def _min_count(capacities: IntArray, total: int) -> int:
    """Return the smallest number of capacities whose sum reaches a total."""
    sums = np.cumsum(np.minimum(np.sort(capacities)[::-1], total))
    return int(np.searchsorted(sums, total)) + 1 if total else 0


FloatArray = npt.NDArray[np.float64]

_STEP = 1 / PER_MILLE
"""Minimum amount by which a move must lower the higher of its two utilizations."""


def level_utilization(problem: PackingProblem, chosen: BoolArray) -> BoolArray:
    """Return a placement, shape (P, B), in which no single move lowers the higher utilization of its two brokers.

    `chosen`: a placement that fits, shape (P, B).

    Guarantees: the result fits, and its peak is not higher than before. The function is idempotent.
    Priority: moves from the broker with the highest utilization; among them, the move after which the higher
    utilization of its two brokers is lowest; then the lowest partition and broker.
    Complexity: O(P·B) per move.
    """
    loads = _BrokerLoads.of(problem, chosen.copy())
    is_done = np.zeros(problem.shape[1], dtype=np.bool_)
    while not is_done.all():
        used = loads.used.max(axis=0)
        source = int(np.where(is_done, -1.0, used).argmax())
        rows = np.flatnonzero(loads.chosen[:, source])
        after = loads.higher_after(source, rows)
        if not after.size or after.min() > used[source] - _STEP:
            is_done[source] = True
            continue
        index, target = divmod(int(after.argmin()), problem.shape[1])
        loads.move(int(rows[index]), source, target)
        is_done[:] = False
    return loads.chosen


@dataclass(slots=True)
class _BrokerLoads:
    """A placement and the loads of brokers; R resources.

    Attributes:
        chosen: shape (P, B).
        weights: shape (R, P); the load of one replica.
        capacities: shape (R, B).
        usable: shape (R, B); the capacities less the headroom.
        loads: shape (R, B); the loads of brokers.
        in_rack: shape (P, number of racks); replicas of each partition by rack.
    """

    problem: PackingProblem
    chosen: BoolArray
    weights: IntArray
    capacities: IntArray
    usable: IntArray
    loads: IntArray
    in_rack: IntArray

    @classmethod
    def of(cls, problem: PackingProblem, chosen: BoolArray) -> _BrokerLoads:
        weights = np.stack([resource.weight for resource in problem.resources])
        in_rack = np.zeros((len(chosen), int(problem.rack.max()) + 1), dtype=np.int64)
        np.add.at(in_rack.T, problem.rack, chosen.T.astype(np.int64))
        fixed = np.stack([resource.fixed for resource in problem.resources])
        usable = np.stack([problem.capacity_bytes, problem.capacity_bytes_per_s][: len(weights)]) + fixed
        capacities = np.stack([resource.capacities for resource in problem.resources])
        return cls(problem, chosen, weights, capacities, usable, weights @ chosen + fixed, in_rack)

    @property
    def used(self) -> FloatArray:
        """Return the utilization of each resource of each broker, shape (R, B)."""
        shares: FloatArray = self.loads / self.capacities
        return shares

    def higher_after(self, source: int, rows: IntArray) -> FloatArray:
        """Return the higher utilization of the two brokers after each move, shape (len(rows), B); inf if impossible."""
        problem, weights = self.problem, self.weights[:, rows]
        source_utilization = ((self.loads[:, source, None] - weights) / self.capacities[:, source, None]).max(axis=0)
        loads = self.loads[:, None, :] + weights[:, :, None]
        higher = np.maximum((loads / self.capacities[:, None, :]).max(axis=0), source_utilization[:, None])
        in_target_rack = self.in_rack[rows][:, problem.rack] + (problem.rack != problem.rack[source])
        is_impossible = self.chosen[rows] | (in_target_rack > problem.rack_limits[rows, None])
        result: FloatArray = np.where(is_impossible | (loads > self.usable[:, None, :]).any(axis=0), np.inf, higher)
        return result

    def move(self, row: int, source: int, target: int) -> None:
        """Move a replica."""
        self.chosen[row, [source, target]] = False, True
        self.loads[:, source] -= self.weights[:, row]
        self.loads[:, target] += self.weights[:, row]
        self.in_rack[row, self.problem.rack[source]] -= 1
        self.in_rack[row, self.problem.rack[target]] += 1


def first_fit(problem: PackingProblem) -> BoolArray | None:
    """Place the largest partitions first and return the placement, shape (P, B); None if a partition does not fit.

    Guarantees: the placement fits.
    Priority: brokers in use; among them those that hold a replica; then the order of preference.
    Complexity: O(P·B log B).
    """
    num_partitions, num_brokers = problem.shape
    rank = np.empty(num_brokers, dtype=np.int64)
    rank[problem.preference()] = np.arange(num_brokers)
    free_capacity = _FreeCapacity.of(problem)
    chosen = np.zeros((num_partitions, num_brokers), dtype=np.bool_)
    in_use = np.zeros(num_brokers, dtype=np.bool_)
    for row in _largest_first(problem):
        fits_on = free_capacity.fits(row)
        order = np.lexsort((rank, ~problem.held[row], ~in_use))
        brokers = _first_within_rack_limits(problem, row, order[fits_on[order]])
        if brokers is None:
            return None
        chosen[row, brokers] = True
        in_use[brokers] = True
        free_capacity.place_on(row, brokers)
    return chosen


def keep_and_fill(problem: PackingProblem, brokers: IntArray) -> BoolArray | None:
    """Return a placement on these brokers, shape (P, B), that keeps most replicas; None if a partition does not fit.

    Guarantees: the placement fits.
    Priority: current replicas, the largest first, if they fit; then the rest, each onto the broker with most free
    bytes.
    Complexity: O(P·B log B).
    """
    free_capacity = _FreeCapacity.of(problem)
    free_capacity.close(np.setdiff1d(np.arange(problem.shape[1]), brokers))
    chosen = np.zeros(problem.shape, dtype=np.bool_)
    for row in _largest_first(problem):
        stays = np.flatnonzero(problem.held[row] & free_capacity.fits(row))
        kept = _first_within_rack_limits(problem, row, stays, at_least=0)
        if kept is not None:
            chosen[row, kept] = True
            free_capacity.place_on(row, kept)
    for row in _largest_first(problem):
        kept = np.flatnonzero(chosen[row])
        fits_on = free_capacity.fits(row) & ~chosen[row]
        order = np.argsort(-free_capacity.bytes_left, kind="stable")
        fitting = _first_within_rack_limits(problem, row, np.concatenate([kept, order[fits_on[order]]]))
        if fitting is None:
            return None
        added = np.setdiff1d(fitting, kept)
        chosen[row, added] = True
        free_capacity.place_on(row, added)
    return chosen


@dataclass(slots=True)
class _FreeCapacity:
    """The free capacity of brokers."""

    problem: PackingProblem
    bytes_left: IntArray
    rate_left: IntArray

    @classmethod
    def of(cls, problem: PackingProblem) -> _FreeCapacity:
        return cls(problem, problem.capacity_bytes.copy(), problem.capacity_bytes_per_s.copy())

    def fits(self, row: int) -> BoolArray:
        problem = self.problem
        is_free: BoolArray = (self.bytes_left >= problem.size_bytes[row]) & (self.rate_left >= problem.bytes_per_s[row])
        return is_free

    def place_on(self, row: int, brokers: IntArray) -> None:
        self.bytes_left[brokers] -= self.problem.size_bytes[row]
        self.rate_left[brokers] -= self.problem.bytes_per_s[row]

    def close(self, brokers: IntArray) -> None:
        self.bytes_left[brokers] = -1


def _largest_first(problem: PackingProblem) -> list[int]:
    rows: list[int] = np.argsort(-problem.size_bytes, kind="stable").tolist()
    return rows


def _first_within_rack_limits(
    problem: PackingProblem, row: int, brokers: IntArray, at_least: int | None = None
) -> IntArray | None:
    """Return the first brokers that meet the rack limits, as many as the partition needs; None if too few."""
    chosen: list[int] = []
    in_rack: dict[int, int] = {}
    for broker in brokers.tolist():
        rack = int(problem.rack[broker])
        if in_rack.get(rack, 0) < problem.rack_limits[row] and len(chosen) < problem.factor[row]:
            chosen.append(broker)
            in_rack[rack] = in_rack.get(rack, 0) + 1
    needed = int(problem.factor[row]) if at_least is None else at_least
    return np.array(chosen, dtype=np.int64) if len(chosen) >= needed else None


ObjectArray = npt.NDArray[np.object_]

_DETERMINISTIC_TIME_PER_S = 0.3
"""CP-SAT's approximate deterministic time per second."""

_WALL_FACTOR = 4.0
"""The wall-clock limit of a search, as a multiple of its time limit."""


@dataclass(slots=True)
class PackingSearch:
    """A search, and what it proved about the problem.

    Attributes:
        time_limit_s: the approximate time limit of each search.
        is_infeasible: whether a search proved that no placement fits.
        was_cut_off: whether the wall-clock limit ended a search.
    """

    problem: PackingProblem
    time_limit_s: float
    is_infeasible: bool = False
    was_cut_off: bool = False

    def fewest_brokers(self, hint: BoolArray | None) -> tuple[BoolArray | None, int]:
        """Return the placement with the fewest brokers found, shape (P, B), or None; and a lower bound on their
        number.
        """
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        cells = self._cells(model, np.arange(self.problem.shape[1]))
        used = [model.new_bool_var("") for _ in range(self.problem.shape[1])]
        self._add_limits(model, cells, np.arange(self.problem.shape[1]), used)
        for first, second in self._symmetric_pairs():
            model.add_implication(used[second], used[first])
        model.add(cp_model.LinearExpr.sum(used) >= self.problem.min_brokers())
        model.minimize(cp_model.LinearExpr.sum(used))
        if hint is not None:
            _add_hint(model, cells, hint)
        solver, placement = self._solve(model, cells)
        least = self.problem.min_brokers()
        return placement, least if placement is None else max(least, math.ceil(solver.best_objective_bound - 1e-6))

    def reduce_moves(self, packed: BoolArray) -> BoolArray:
        """Return the placement on the same brokers with the fewest added replicas found."""
        brokers = np.flatnonzero(packed.any(axis=0))
        model, cells = self._model_of_brokers(brokers)
        return self._move_least(model, cells, brokers, packed)

    def lowest_peak(self, hint: BoolArray | None) -> tuple[BoolArray | None, int]:
        """Return the placement with the lowest peak utilization found, shape (P, B), or None; and a lower bound."""
        all_brokers, least = np.arange(self.problem.shape[1]), self.problem.min_peak()
        model, cells = self._model_of_brokers(all_brokers)
        peak = model.new_int_var(least, max(least, PER_MILLE), "")
        for load, capacity in self._loads(cells):
            model.add(load * PER_MILLE <= capacity * peak)
        model.minimize(peak)
        if hint is not None:
            _add_hint(model, cells, hint)
        solver, placement = self._solve(model, cells)
        return placement, least if placement is None else max(least, math.ceil(solver.best_objective_bound - 1e-6))

    def reduce_excess(self, leveled: BoolArray) -> BoolArray:
        """Return a placement with no higher peak and the lowest total utilization above the mean found.

        Among such placements it returns one that adds few replicas.
        """
        model, cells = self._model_below_peak(self.problem.peak(leveled))
        excess = self._excess(model, cells)
        model.minimize(excess)
        _add_hint(model, cells, leveled)
        solver, placement = self._solve(model, cells)
        if placement is None:
            return leveled
        most = round(solver.objective_value)
        model, cells = self._model_below_peak(self.problem.peak(leveled))
        model.add(self._excess(model, cells) <= most)
        return self._move_least(model, cells, np.arange(self.problem.shape[1]), placement)

    def _model_of_brokers(self, brokers: IntArray) -> tuple[cp_model.CpModel, ObjectArray]:
        """Return a model of all placements on these brokers, and its cells."""
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        cells = self._cells(model, brokers)
        self._add_limits(model, cells, brokers, None)
        return model, cells

    def _model_below_peak(self, peak: int) -> tuple[cp_model.CpModel, ObjectArray]:
        """Return a model of all placements with no higher peak, and its cells."""
        model, cells = self._model_of_brokers(np.arange(self.problem.shape[1]))
        for load, capacity in self._loads(cells):
            model.add(load * PER_MILLE <= capacity * peak)
        return model, cells

    def _loads(self, cells: ObjectArray) -> list[tuple[cp_model.LinearExprT, int]]:
        """Return the load of every limited resource of every broker, and its limit."""
        from ortools.sat.python.cp_model import LinearExpr

        return [
            (LinearExpr.weighted_sum(cells[:, broker].tolist(), weight.tolist()) + int(fixed[broker]), capacity)
            for weight, capacities, fixed in self.problem.resources
            for broker, capacity in enumerate(capacities.tolist())
            if capacity < UNLIMITED
        ]

    def _excess(self, model: cp_model.CpModel, cells: ObjectArray) -> cp_model.LinearExprT:
        """Return the total utilization above the mean, in thousandths."""
        from ortools.sat.python.cp_model import LinearExpr

        problem, most = self.problem, max(PER_MILLE, self.problem.min_peak())
        excesses = []
        for weight, capacities, fixed in problem.resources:
            limited = capacities[capacities < UNLIMITED]
            mean = int((weight * problem.factor).sum() + fixed.sum()) * PER_MILLE // sum(limited.tolist())
            for broker, capacity in enumerate(capacities.tolist()):
                if capacity < UNLIMITED:
                    above = model.new_int_var(0, most, "")
                    load = LinearExpr.weighted_sum(cells[:, broker].tolist(), weight.tolist()) + int(fixed[broker])
                    model.add(load * PER_MILLE <= capacity * (mean + above))
                    excesses.append(above)
        return LinearExpr.sum(excesses)

    def _move_least(
        self, model: cp_model.CpModel, cells: ObjectArray, brokers: IntArray, packed: BoolArray
    ) -> BoolArray:
        from ortools.sat.python import cp_model

        model.maximize(cp_model.LinearExpr.sum(cells[self.problem.held[:, brokers]].tolist()))
        _add_hint(model, cells, packed[:, brokers])
        _, placement = self._solve(model, cells)
        if placement is None:
            return packed
        widened = np.zeros_like(packed)
        widened[:, brokers] = placement
        return widened if (widened & self.problem.held).sum() >= (packed & self.problem.held).sum() else packed

    def _cells(self, model: cp_model.CpModel, brokers: IntArray) -> ObjectArray:
        names = range(self.problem.shape[0] * len(brokers))
        cells = np.array([model.new_bool_var("") for _ in names], dtype=object)
        return cells.reshape(self.problem.shape[0], len(brokers))

    def _add_limits(
        self, model: cp_model.CpModel, cells: ObjectArray, brokers: IntArray, used: list[cp_model.IntVar] | None
    ) -> None:
        """Add constraints: replication factors, rack limits, and capacities; an unused broker is empty."""
        from ortools.sat.python.cp_model import LinearExpr

        problem = self.problem
        for row, factor in enumerate(problem.factor.tolist()):
            model.add(LinearExpr.sum(cells[row].tolist()) == factor)
        for rack in distinct(problem.rack[brokers]).tolist():
            in_rack = problem.rack[brokers] == rack
            for row in np.flatnonzero(problem.rack_limits < in_rack.sum()).tolist():
                model.add(LinearExpr.sum(cells[row, in_rack].tolist()) <= int(problem.rack_limits[row]))
        for column, broker in enumerate(brokers.tolist()):
            is_used = 1 if used is None else used[broker]
            loads = [(problem.size_bytes, problem.capacity_bytes), (problem.bytes_per_s, problem.capacity_bytes_per_s)]
            for weight, capacity in loads:
                if capacity[broker] < UNLIMITED:
                    total = LinearExpr.weighted_sum(cells[:, column].tolist(), weight.tolist())
                    model.add(total <= int(capacity[broker]) * is_used)
            if used is not None:
                model.add(LinearExpr.sum(cells[:, column].tolist()) <= len(cells) * used[broker])

    def _symmetric_pairs(self) -> list[tuple[int, int]]:
        """Return pairs of equivalent brokers; the first of a pair is taken into use before the second."""
        problem, pairs = self.problem, []
        last: dict[tuple[int, int, int], int] = {}
        for broker in problem.preference().tolist():
            attributes = (problem.capacity_bytes[broker], problem.capacity_bytes_per_s[broker], problem.rack[broker])
            if attributes in last:
                pairs.append((last[attributes], broker))
            last[attributes] = broker
        return pairs

    def _solve(self, model: cp_model.CpModel, cells: ObjectArray) -> tuple[cp_model.CpSolver, BoolArray | None]:
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.max_deterministic_time = self.time_limit_s * _DETERMINISTIC_TIME_PER_S
        solver.parameters.max_time_in_seconds = self.time_limit_s * _WALL_FACTOR
        status = solver.solve(model)
        self.is_infeasible = status == cp_model.INFEASIBLE
        is_open = status in (cp_model.FEASIBLE, cp_model.UNKNOWN)
        self.was_cut_off |= is_open and solver.wall_time >= self.time_limit_s * _WALL_FACTOR
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return solver, None
        values = np.array([solver.boolean_value(cell) for cell in cells.ravel().tolist()], dtype=np.bool_)
        return solver, values.reshape(cells.shape)


def _add_hint(model: cp_model.CpModel, cells: ObjectArray, values: BoolArray) -> None:
    for cell, value in zip(cells.ravel().tolist(), values.ravel().tolist(), strict=True):
        model.add_hint(cell, value)
