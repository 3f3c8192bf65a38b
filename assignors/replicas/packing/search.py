"""Search for placements that use few brokers, or level their utilization, and then move little, by CP-SAT.

Guarantees: one worker, a fixed seed and deterministic time, so that the same problem gives the same answer; the clock
ends only what takes far longer than that, and then `was_cut_off` says so.
Complexity: strongly NP-hard; P·B binaries.
Source: OR-Tools' CP-SAT.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.packing.problem import PER_MILLE, UNLIMITED, PackingProblem

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

ObjectArray = npt.NDArray[np.object_]

_DETERMINISTIC_TIME_PER_S = 0.3
"""What CP-SAT's deterministic time comes to in a second, about."""

_WALL_FACTOR = 4.0
"""The clock ends a search that takes so many times longer than it should."""


@dataclass(slots=True)
class PackingSearch:
    """A problem, and what a search found out about it.

    Attributes:
        problem: what has to fit.
        time_limit_s: how long each search may take, about.
        is_infeasible: whether a search proved that nothing fits.
        was_cut_off: whether the clock ended a search.
    """

    problem: PackingProblem
    time_limit_s: float
    is_infeasible: bool = False
    was_cut_off: bool = False

    def fewest_brokers(self, hint: BoolArray | None) -> tuple[BoolArray | None, int]:
        """The placement in the fewest brokers that it finds, shape (P, B), or None; and how few are not ruled out.

        Args:
            hint: a placement to begin with.
        """
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        cells = self._cells(model, np.arange(self.problem.shape[1]))
        used = [model.new_bool_var("") for _ in range(self.problem.shape[1])]
        self._limit(model, cells, np.arange(self.problem.shape[1]), used)
        for first, second in self._alike():
            model.add_implication(used[second], used[first])
        model.add(cp_model.LinearExpr.sum(used) >= self.problem.least_brokers())
        model.minimize(cp_model.LinearExpr.sum(used))
        if hint is not None:
            _hint(model, cells, hint)
        solver, found = self._solve(model, cells)
        least = self.problem.least_brokers()
        return found, least if found is None else max(least, math.ceil(solver.best_objective_bound - 1e-6))

    def fewest_moves(self, packed: BoolArray) -> BoolArray:
        """Return the placement in the same brokers that adds fewest replicas, as far as the search finds one."""
        brokers = np.flatnonzero(packed.any(axis=0))
        model, cells = self._placement(brokers)
        return self._move_least(model, cells, brokers, packed)

    def lowest_peak(self, hint: BoolArray | None) -> tuple[BoolArray | None, int]:
        """Return the placement with the lowest peak utilization found, shape (P, B), or None; and a lower bound.

        Args:
            hint: a placement to begin with.
        """
        everybody, least = np.arange(self.problem.shape[1]), self.problem.least_peak()
        model, cells = self._placement(everybody)
        peak = model.new_int_var(least, max(least, PER_MILLE), "")
        for load, capacity in self._loads(cells):
            model.add(load * PER_MILLE <= capacity * peak)
        model.minimize(peak)
        if hint is not None:
            _hint(model, cells, hint)
        solver, found = self._solve(model, cells)
        return found, least if found is None else max(least, math.ceil(solver.best_objective_bound - 1e-6))

    def least_excess(self, leveled: BoolArray) -> BoolArray:
        """Return a placement with no higher peak and the least utilization above the mean, in total, that it finds.

        Of these it takes one that adds few replicas.
        """
        model, cells = self._level(self.problem.peak(leveled))
        excess = self._excess(model, cells)
        model.minimize(excess)
        _hint(model, cells, leveled)
        solver, found = self._solve(model, cells)
        if found is None:
            return leveled
        most = round(solver.objective_value)
        model, cells = self._level(self.problem.peak(leveled))
        model.add(self._excess(model, cells) <= most)
        return self._move_least(model, cells, np.arange(self.problem.shape[1]), found)

    def _placement(self, brokers: IntArray) -> tuple[cp_model.CpModel, ObjectArray]:
        """Return a model of every placement that fits these brokers, and its cells."""
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        cells = self._cells(model, brokers)
        self._limit(model, cells, brokers, None)
        return model, cells

    def _level(self, peak: int) -> tuple[cp_model.CpModel, ObjectArray]:
        """Return a model of every placement with no higher peak, and its cells."""
        model, cells = self._placement(np.arange(self.problem.shape[1]))
        for load, capacity in self._loads(cells):
            model.add(load * PER_MILLE <= capacity * peak)
        return model, cells

    def _loads(self, cells: ObjectArray) -> list[tuple[cp_model.LinearExprT, int]]:
        """Return what every broker carries of each resource that it has a limit of, and that limit."""
        from ortools.sat.python.cp_model import LinearExpr

        return [
            (LinearExpr.weighted_sum(cells[:, broker].tolist(), weight.tolist()) + int(fixed[broker]), capacity)
            for weight, capacities, fixed in self.problem.resources
            for broker, capacity in enumerate(capacities.tolist())
            if capacity < UNLIMITED
        ]

    def _excess(self, model: cp_model.CpModel, cells: ObjectArray) -> cp_model.LinearExprT:
        """Return by how many thousandths brokers are above the mean utilization of a resource, in total."""
        from ortools.sat.python.cp_model import LinearExpr

        problem, most = self.problem, max(PER_MILLE, self.problem.least_peak())
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
        _hint(model, cells, packed[:, brokers])
        _, found = self._solve(model, cells)
        if found is None:
            return packed
        spread = np.zeros_like(packed)
        spread[:, brokers] = found
        return spread if (spread & self.problem.held).sum() >= (packed & self.problem.held).sum() else packed

    def _cells(self, model: cp_model.CpModel, brokers: IntArray) -> ObjectArray:
        names = range(self.problem.shape[0] * len(brokers))
        cells = np.array([model.new_bool_var("") for _ in names], dtype=object)
        return cells.reshape(self.problem.shape[0], len(brokers))

    def _limit(
        self, model: cp_model.CpModel, cells: ObjectArray, brokers: IntArray, used: list[cp_model.IntVar] | None
    ) -> None:
        """Every replica somewhere, no rack crowded, no broker too full; one that is not in use is empty."""
        from ortools.sat.python.cp_model import LinearExpr

        problem = self.problem
        for row, factor in enumerate(problem.factor.tolist()):
            model.add(LinearExpr.sum(cells[row].tolist()) == factor)
        for rack in np.unique(problem.rack[brokers]).tolist():
            there = problem.rack[brokers] == rack
            for row in np.flatnonzero(problem.rack_limits < there.sum()).tolist():
                model.add(LinearExpr.sum(cells[row, there].tolist()) <= int(problem.rack_limits[row]))
        for column, broker in enumerate(brokers.tolist()):
            is_used = 1 if used is None else used[broker]
            loads = [(problem.size_bytes, problem.capacity_bytes), (problem.bytes_per_s, problem.capacity_bytes_per_s)]
            for weight, capacity in loads:
                if capacity[broker] < UNLIMITED:
                    total = LinearExpr.weighted_sum(cells[:, column].tolist(), weight.tolist())
                    model.add(total <= int(capacity[broker]) * is_used)
            if used is not None:
                model.add(LinearExpr.sum(cells[:, column].tolist()) <= len(cells) * used[broker])

    def _alike(self) -> list[tuple[int, int]]:
        """Brokers that nothing tells apart, each with the one that is taken into use before it."""
        problem, pairs = self.problem, []
        last: dict[tuple[int, int, int], int] = {}
        for broker in problem.preference().tolist():
            kind = (problem.capacity_bytes[broker], problem.capacity_bytes_per_s[broker], problem.rack[broker])
            if kind in last:
                pairs.append((last[kind], broker))
            last[kind] = broker
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


def _hint(model: cp_model.CpModel, cells: ObjectArray, values: BoolArray) -> None:
    for cell, value in zip(cells.ravel().tolist(), values.ravel().tolist(), strict=True):
        model.add_hint(cell, value)
