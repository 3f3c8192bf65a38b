"""Fewest moves to even loads, as a mixed integer programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assignors.integer_program import FloatArray
from assignors.model.columns import IntArray
from assignors.replicas.broker_loads import added_replicas
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.programs.placement_program import LimitScope, LoadLimit, RoleAssignment, RoleProgram
from assignors.replicas.programs.plan_from_solution import to_plan
from assignors.replicas.programs.solve import solve
from assignors.replicas.replica_order import current_positions, order_replicas
from assignors.replicas.state import NO_BROKER, ClusterState

_MOST_NAMES = 5
"""The most partitions named in a message."""


@dataclass(frozen=True, slots=True)
class MovementMip:
    """Move as little as possible, so that every broker's load is near the mean.

    A replica weighs one, or as many bytes as it has. Every broker's load comes to at least
    `floor(balanced_factor_min · mean)` and at most `ceil(balanced_factor_max · mean)`. With bytes for weights nothing
    may fit as tight as that; give the factors room then (0.6 and 1.2, say).

    Guarantees: no plan within these loads moves less weight, where the status is optimal. A leader stays, and stays
    first, unless its broker may hold no replicas. Kept replicas keep their order; new ones follow by broker id.
    Priority: leaders stay, then loads, then least weight moved. Racks and the balance of leaders count for nothing.
    Complexity: with counts for weights, a min-cost flow (`programmes.flow_relaxation`). With bytes, a binary for every
    partition and broker, and a search that is exponential at worst; what is too large for its time is not begun.
    Source: everpeace/kafka-reassign-optimizer, `ReassignOptimizationProblem`; its weights of type offset are bytes
    here. It shuffles the replicas of a partition whose leader leaves; here a seed does, and without one they are
    sorted. The tool refuses partitions that their preferred leader does not lead, or that are not fully in sync; so
    does this by default.

    Attributes:
        balanced_factor_min: how far below the mean a load may be; at most 1.
        balanced_factor_max: how far above; at least 1.
        weights: what a replica weighs.
        seed: draws the order of replicas whose leader leaves; None sorts them by id.
        refuses_other_leaders: whether there is no plan if a preferred leader does not lead.
        refuses_out_of_sync: whether there is no plan if a replica is not in sync.
        time_limit_s: how long a search may take.
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
        question = NormalizedProblem.of(state, request)
        weight = self._weight(question)
        misfit = self._misfit(question, weight)
        if misfit:
            return Plan.none(PlanStatus.INFEASIBLE, misfit)
        programme = self._programme(question, weight)
        solution = solve(programme, self.time_limit_s)
        if solution.placement is None:
            return to_plan(question, solution, self.time_limit_s)
        replicas = self._ordered(question, solution.placement)
        is_new = added_replicas(state.replicas, replicas)
        moved = int((is_new.sum(axis=1)[question.told.rows] * weight).sum())
        scale = _scale(weight)
        return to_plan(
            question,
            solution,
            self.time_limit_s,
            replicas=replicas,
            objective="replicas moved" if self.weights == "count" else "bytes moved",
            value=moved,
            bound=moved if solution.is_optimal else -solution.bound * scale,
        )

    def _refused(self, state: ClusterState) -> Plan | None:
        if self.weights == "bytes" and state.size_bytes is None:
            return Plan.none(PlanStatus.NOT_APPLICABLE, "it needs the sizes of partitions to weigh them by bytes")
        other = np.flatnonzero(state.leader != state.replicas[:, 0])
        if self.refuses_other_leaders and len(other):
            row = int(other[0])
            leader = "nobody" if state.leader[row] == NO_BROKER else f"broker {state.ids[state.leader[row]]}"
            preferred = state.ids[state.replicas[row, 0]]
            reason = f"{state.name(row)}: {leader} leads it, not its preferred leader {preferred}; elect that first"
            return Plan.none(PlanStatus.FAILED, reason)
        lagging = (
            np.zeros((0, 2)) if state.in_sync is None else np.argwhere(~state.in_sync & (state.replicas != NO_BROKER))
        )
        if self.refuses_out_of_sync and len(lagging):
            row, place = lagging[0].tolist()
            broker = state.ids[state.replicas[row, place]]
            reason = f"{state.name(row)}: broker {broker} is not in sync; wait until it has caught up"
            return Plan.none(PlanStatus.FAILED, reason)
        return None

    def _weight(self, question: NormalizedProblem) -> IntArray:
        sizes = question.told.state.size_bytes
        if self.weights == "count" or sizes is None:
            return np.ones(question.num_partitions, dtype=np.int64)
        return sizes

    def _limits(self, question: NormalizedProblem, weight: IntArray) -> tuple[int, int]:
        """Return how much a broker has to hold, and how much it may."""
        mean = _mean(question, weight)
        return int(np.floor(mean * self.balanced_factor_min)), int(np.ceil(mean * self.balanced_factor_max))

    def _misfit(self, question: NormalizedProblem, weight: IntArray) -> str:
        """Return how leaders that stay where they are exceed a limit, or keep a broker below one; empty if neither."""
        leader = question.held[:, 0]
        stays = leader != NO_BROKER
        held = np.zeros(question.num_brokers, dtype=np.int64)
        np.add.at(held, leader[stays], weight[stays])
        moves = question.factors > stays
        reach = held + int(weight[moves].sum())
        np.subtract.at(reach, leader[stays & moves], weight[stays & moves])
        least, most = self._limits(question, weight)
        unit, mean = "bytes" if self.weights == "bytes" else "replicas", _mean(question, weight)
        fullest, emptiest = int(held.argmax()), int(reach.argmin())
        if held[fullest] > most:
            factor = np.ceil(held[fullest] / mean * 100) / 100
            return (
                f"{_broker(question, fullest)}: leaders that stay there ({_names(question, fullest)}) hold "
                f"{held[fullest]:,} {unit}, and balanced_factor_max {self.balanced_factor_max:g} lets a broker hold "
                f"{most:,}; a factor of {factor:g} fits them"
            )
        if reach[emptiest] < least:
            factor = np.floor(reach[emptiest] / mean * 100) / 100
            return (
                f"{_broker(question, emptiest)}: leaders stay where they are, which leaves {reach[emptiest]:,} {unit} "
                f"that it can hold, and balanced_factor_min {self.balanced_factor_min:g} asks for {least:,}; "
                f"a factor of {factor:g} fits"
            )
        return ""

    def _programme(self, question: NormalizedProblem, weight: IntArray) -> RoleProgram:
        num_brokers = question.num_brokers
        factors = question.factors.astype(np.float64)
        scaled = weight / _scale(weight)
        least, most = (limit / _scale(weight) for limit in self._limits(question, weight))
        is_pinned = np.zeros(question.held.shape, dtype=np.bool_)
        is_pinned[:, 0] = True
        loads = "replicas" if self.weights == "count" else "times the bytes of a mean replica"
        return RoleProgram(
            rack=np.zeros(num_brokers, dtype=np.int64),
            held=question.held,
            worth=np.zeros((*question.held.shape, 1)),
            new_worth=-scaled,
            is_pinned=is_pinned,
            limits=(
                LoadLimit("replicas", LimitScope.PARTITION, factors, factors, (0,)),
                LoadLimit(
                    loads,
                    LimitScope.BROKER,
                    *_everywhere(num_brokers, least, most),
                    (0,),
                    None if self.weights == "count" else scaled,
                ),
            ),
        )

    def _ordered(self, question: NormalizedProblem, placement: RoleAssignment) -> IntArray:
        partition, broker = placement.cells.partition, placement.cells.broker
        place = current_positions(question, partition, broker)
        drawn = np.zeros(len(partition), dtype=np.int64)
        if self.seed is not None:
            drawn = np.random.default_rng(self.seed).permutation(len(partition))
        place = np.where(question.held[partition, 0] == NO_BROKER, drawn, place)
        return order_replicas(question, partition, broker, place, broker)


def _mean(question: NormalizedProblem, weight: IntArray) -> float:
    return float((weight * question.factors).sum()) / question.num_brokers


def _broker(question: NormalizedProblem, broker: int) -> str:
    return f"broker {question.told.state.ids[question.brokers[broker]]}"


def _names(question: NormalizedProblem, broker: int) -> str:
    names = [question.told.state.name(row) for row in np.flatnonzero(question.held[:, 0] == broker).tolist()]
    return ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")


def _everywhere(num_brokers: int, least: float, most: float) -> tuple[FloatArray, FloatArray]:
    return np.full(num_brokers, least), np.full(num_brokers, most)


def _scale(weight: IntArray) -> float:
    """What a replica weighs in the mean: solvers count badly with large numbers."""
    return float(weight.mean()) or 1.0
