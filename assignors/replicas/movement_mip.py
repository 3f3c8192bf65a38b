"""Fewest moves to balanced loads, by a mixed integer program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assignors.integer_program import FloatArray
from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem, current_positions, order_replicas
from assignors.replicas.placement_program import LimitScope, LoadLimit, RoleAssignment, RoleProgram
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.program_solver import solve, to_plan
from assignors.replicas.state import NO_BROKER, ClusterState, added_replicas

_MOST_NAMES = 5
"""The maximum number of partitions in a message."""


@dataclass(frozen=True, slots=True)
class MovementMip:
    """Move as little as possible so that the load of every broker is near the mean.

    The load of a replica is 1 or its size in bytes. The load of every broker is at least `floor(balanced_factor_min ·
    mean)` and at most `ceil(balanced_factor_max · mean)`. With loads in bytes these limits may be infeasible; then
    widen the factors (for example to 0.6 and 1.2).

    Guarantees: if the status is optimal, no plan within these limits moves less load. A leader stays, and stays first,
    unless its broker is not allowed. Kept replicas keep their order; new ones follow by broker id.
    Priority: leaders stay, then load limits, then least load moved. Racks and leader balance are ignored.
    Complexity: with counts, a min-cost flow (`programs.flow_relaxation`). With bytes, one binary per partition and
    broker, with exponential search in the worst case. A program too large for its time limit is not searched.
    Source: everpeace/kafka-reassign-optimizer, `ReassignOptimizationProblem`; its weights of type offset are bytes
    here. It shuffles the replicas of a partition whose leader leaves; here `seed` shuffles them, and without a seed
    they are sorted. The tool rejects partitions that are not led by their preferred leader or not fully in sync; so
    does this strategy by default.

    Attributes:
        balanced_factor_min: the lower load limit as a factor of the mean; at most 1.
        balanced_factor_max: the upper load limit as a factor of the mean; at least 1.
        weights: the unit of load.
        seed: the random seed for the order of replicas whose leader leaves; None sorts them by id.
        refuses_other_leaders: whether to fail if a partition is not led by its preferred leader.
        refuses_out_of_sync: whether to fail if a replica is not in sync.
        time_limit_s: the time limit of a search.
    """

    balanced_factor_min: float = 0.9
    balanced_factor_max: float = 1.0
    weights: Literal["count", "bytes"] = "count"
    seed: int | None = None
    refuses_other_leaders: bool = True
    refuses_out_of_sync: bool = True
    time_limit_s: float = 60.0

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True, decommissions_brokers=True, is_idempotent=True, is_order_independent=True
    )

    def __post_init__(self) -> None:
        if self.balanced_factor_min > 1 or self.balanced_factor_max < 1:
            raise ValueError(
                f"balanced factors {self.balanced_factor_min} and {self.balanced_factor_max} must have 1 between them"
            )
        if self.weights not in ("count", "bytes"):
            raise ValueError(f"weights '{self.weights}' are not count or bytes")

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas."""
        refused = self._refused(state)
        if refused is not None:
            return refused
        problem = NormalizedProblem.of(state, request)
        weight = self._weight(problem)
        conflict = self._capacity_conflict(problem, weight)
        if conflict:
            return Plan.without_replicas(PlanStatus.INFEASIBLE, conflict)
        program = self._program(problem, weight)
        solution = solve(program, self.time_limit_s)
        if solution.placement is None:
            return to_plan(problem, solution, self.time_limit_s)
        replicas = self._to_replicas(problem, solution.placement)
        is_new = added_replicas(state.replicas, replicas)
        moved = int((is_new.sum(axis=1)[problem.canonical.rows] * weight).sum())
        scale = _scale(weight)
        return to_plan(
            problem,
            solution,
            self.time_limit_s,
            replicas=replicas,
            objective="replicas moved" if self.weights == "count" else "bytes moved",
            value=moved,
            bound=moved if solution.is_optimal else -solution.bound * scale,
        )

    def _refused(self, state: ClusterState) -> Plan | None:
        if self.weights == "bytes" and state.size_bytes is None:
            return Plan.without_replicas(
                PlanStatus.NOT_APPLICABLE, "requires partition sizes to weigh replicas by bytes"
            )
        led_by_others = np.flatnonzero(state.leader != state.replicas[:, 0])
        if self.refuses_other_leaders and len(led_by_others):
            row = int(led_by_others[0])
            leader = "no broker" if state.leader[row] == NO_BROKER else f"broker {state.ids[state.leader[row]]}"
            preferred = state.ids[state.replicas[row, 0]]
            reason = (
                f"{state.name(row)}: {leader} leads it, not its preferred leader {preferred}; elect {preferred} first"
            )
            return Plan.without_replicas(PlanStatus.FAILED, reason)
        out_of_sync = (
            np.zeros((0, 2)) if state.in_sync is None else np.argwhere(~state.in_sync & (state.replicas != NO_BROKER))
        )
        if self.refuses_out_of_sync and len(out_of_sync):
            row, position = out_of_sync[0].tolist()
            broker = state.ids[state.replicas[row, position]]
            reason = f"{state.name(row)}: broker {broker} is not in sync; wait until it has caught up"
            return Plan.without_replicas(PlanStatus.FAILED, reason)
        return None

    def _weight(self, problem: NormalizedProblem) -> IntArray:
        sizes = problem.canonical.state.size_bytes
        if self.weights == "count" or sizes is None:
            return np.ones(problem.num_partitions, dtype=np.int64)
        return sizes

    def _limits(self, problem: NormalizedProblem, weight: IntArray) -> tuple[int, int]:
        """Return the lower and the upper load limit of a broker."""
        mean = _mean(problem, weight)
        return int(np.floor(mean * self.balanced_factor_min)), int(np.ceil(mean * self.balanced_factor_max))

    def _capacity_conflict(self, problem: NormalizedProblem, weight: IntArray) -> str:
        """Return why pinned leaders exceed a limit, or keep a broker below one; an empty string if neither."""
        leader = problem.held[:, 0]
        is_pinned = leader != NO_BROKER
        pinned_load = np.zeros(problem.num_brokers, dtype=np.int64)
        np.add.at(pinned_load, leader[is_pinned], weight[is_pinned])
        has_other_replicas = problem.factors > is_pinned
        reachable_load = pinned_load + int(weight[has_other_replicas].sum())
        np.subtract.at(reachable_load, leader[is_pinned & has_other_replicas], weight[is_pinned & has_other_replicas])
        least, most = self._limits(problem, weight)
        unit, mean = "bytes" if self.weights == "bytes" else "replicas", _mean(problem, weight)
        fullest, emptiest = int(pinned_load.argmax()), int(reachable_load.argmin())
        if pinned_load[fullest] > most:
            factor = np.ceil(pinned_load[fullest] / mean * 100) / 100
            return (
                f"{_broker(problem, fullest)}: leaders pinned to it ({_names(problem, fullest)}) hold "
                f"{pinned_load[fullest]:,} {unit}, and balanced_factor_max {self.balanced_factor_max:g} allows "
                f"{most:,}; a factor of {factor:g} fits"
            )
        if reachable_load[emptiest] < least:
            factor = np.floor(reachable_load[emptiest] / mean * 100) / 100
            return (
                f"{_broker(problem, emptiest)}: with leaders pinned to their brokers, it can hold "
                f"{reachable_load[emptiest]:,} {unit}, and balanced_factor_min {self.balanced_factor_min:g} requires "
                f"{least:,}; a factor of {factor:g} fits"
            )
        return ""

    def _program(self, problem: NormalizedProblem, weight: IntArray) -> RoleProgram:
        num_brokers = problem.num_brokers
        factors = problem.factors.astype(np.float64)
        scaled = weight / _scale(weight)
        least, most = (limit / _scale(weight) for limit in self._limits(problem, weight))
        is_pinned = np.zeros(problem.held.shape, dtype=np.bool_)
        is_pinned[:, 0] = True
        load_unit = "replicas" if self.weights == "count" else "times the bytes of a mean replica"
        return RoleProgram(
            rack=np.zeros(num_brokers, dtype=np.int64),
            held=problem.held,
            weight=np.zeros((*problem.held.shape, 1)),
            new_weight=-scaled,
            is_pinned=is_pinned,
            limits=(
                LoadLimit("replicas", LimitScope.PARTITION, factors, factors, (0,)),
                LoadLimit(
                    load_unit,
                    LimitScope.BROKER,
                    *_repeat_limits(num_brokers, least, most),
                    (0,),
                    None if self.weights == "count" else scaled,
                ),
            ),
        )

    def _to_replicas(self, problem: NormalizedProblem, placement: RoleAssignment) -> IntArray:
        partition, broker = placement.cells.partition, placement.cells.broker
        position = current_positions(problem, partition, broker)
        random_rank = np.zeros(len(partition), dtype=np.int64)
        if self.seed is not None:
            random_rank = np.random.default_rng(self.seed).permutation(len(partition))
        position = np.where(problem.held[partition, 0] == NO_BROKER, random_rank, position)
        return order_replicas(problem, partition, broker, position, broker)


def _mean(problem: NormalizedProblem, weight: IntArray) -> float:
    return float((weight * problem.factors).sum()) / problem.num_brokers


def _broker(problem: NormalizedProblem, broker: int) -> str:
    return f"broker {problem.canonical.state.ids[problem.brokers[broker]]}"


def _names(problem: NormalizedProblem, broker: int) -> str:
    names = [problem.canonical.state.name(row) for row in np.flatnonzero(problem.held[:, 0] == broker).tolist()]
    return ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")


def _repeat_limits(num_brokers: int, least: float, most: float) -> tuple[FloatArray, FloatArray]:
    return np.full(num_brokers, least), np.full(num_brokers, most)


def _scale(weight: IntArray) -> float:
    """Return the scale of loads in the program: solvers handle large numbers badly."""
    return float(weight.mean()) or 1.0
