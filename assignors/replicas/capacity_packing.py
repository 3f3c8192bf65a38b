"""Replicas in the fewest brokers whose disks and networks take them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

from assignors.columns import BoolArray
from assignors.replicas.exact.question import Question
from assignors.replicas.ordering import old_places, ordered
from assignors.replicas.packing.first_fit import first_fit, keep_and_fill
from assignors.replicas.packing.problem import PackingProblem
from assignors.replicas.packing.search import PackingSearch
from assignors.replicas.plan import Abilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import ClusterState

_SOLVER_CELLS = 300_000
"""More cells than that are not searched; first fit has to do."""


@dataclass(frozen=True, slots=True)
class CapacityPacking:
    """Fit all replicas into as few brokers as possible, as their disks and networks allow.

    A replica takes its size on disk and its partition's rate on the network. A rate that nobody knows is what fills
    the size within the retention. How many replicas or leaders brokers have counts for nothing, as in the source.

    Guarantees: no broker takes more than it has room for; no two replicas of a partition on one broker, and no more
    in a rack than its share, if racks are to be heeded. No other placement uses fewer brokers, where the status is
    optimal; `bound` is the most that is proven, and at least what the total asks for. Among the brokers in use, it
    moves as little as it found out within its time. Kept replicas keep their order, and lead before new ones.
    Priority: what fits, then the fewest brokers, then the fewest moves.
    Complexity: strongly NP-hard. First fit, decreasing, answers where it meets the bound; a search over P·B binaries
    tries where it does not, up to 300,000 of them.
    Source: "Constraint Based Kafka Partition Balancing" (its formulas are lost; the model is the usual one that it
    names), after J.-C. Régin and M. Rezgui, "Discussion about Constraint Programming Bin Packing Models" (2011).
    Solved by OR-Tools' CP-SAT, one worker; brokers that are alike are taken into use in one order only.

    Attributes:
        retention_ms: how long data stays, where a partition's rate is not known.
        time_limit_s: how long to search, about, half of it for brokers and half for moves; counted in CP-SAT's
            deterministic time, so that the answer does not hang on the machine.
    """

    retention_ms: int = 604_800_000
    time_limit_s: float = 10.0

    abilities: ClassVar[Abilities] = Abilities(
        heeds_racks=True,
        grows=True,
        shrinks=True,
        drains=True,
        is_order_free=True,
        needs_sizes=True,
        needs_capacities=True,
    )

    def __post_init__(self) -> None:
        if self.retention_ms < 1:
            raise ValueError(f"retention_ms {self.retention_ms} is less than 1")

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas."""
        question = Question.of(state, request)
        problem = PackingProblem.of(question, self.retention_ms)
        misfit = problem.misfit()
        if misfit is not None:
            return Plan.none(PlanStatus.INFEASIBLE, misfit)
        search = PackingSearch(problem, self.time_limit_s / 2)
        is_searchable = problem.held.size <= _SOLVER_CELLS
        chosen, least = _few_brokers(problem, search, is_searchable)
        if chosen is None:
            return self._nothing(problem, search, is_searchable)
        if is_searchable:
            chosen = search.fewest_moves(chosen)
        partition, broker = np.nonzero(chosen)
        replicas = ordered(question, partition, broker, old_places(question, partition, broker), broker)
        in_use = _in_use(chosen)
        return Plan(
            PlanStatus.OPTIMAL if in_use == least else PlanStatus.FEASIBLE,
            replicas,
            objective="brokers in use",
            value=in_use,
            bound=least,
            notes=self._notes(problem, search, is_searchable),
        )

    def _notes(self, problem: PackingProblem, search: PackingSearch, is_searchable: bool) -> tuple[str, ...]:
        notes = []
        if not is_searchable:
            notes.append(f"{problem.held.size:,} cells are too many to search; these were packed largest first")
        if search.was_cut_off:
            notes.append("a search was stopped by the clock; another run may come out differently")
        return tuple(notes)

    def _nothing(self, problem: PackingProblem, search: PackingSearch, is_searchable: bool) -> Plan:
        largest = problem.question.told.state.name(int(problem.size_bytes.argmax()))
        if search.is_infeasible:
            reason = f"{largest}, the largest, and all others do not fit the brokers' disks, networks and racks at once"
            return Plan.none(PlanStatus.INFEASIBLE, reason)
        how = f"a search of {self.time_limit_s:g} s" if is_searchable else "first fit, decreasing,"
        return Plan.none(PlanStatus.FAILED, f"{how} found no room for {largest} and all others; there may be some")


def _few_brokers(problem: PackingProblem, search: PackingSearch, is_searchable: bool) -> tuple[BoolArray | None, int]:
    """A placement in few brokers, and how few are not ruled out; what is there today, where nothing is better."""
    least = problem.least_brokers()
    known = [chosen for chosen in (problem.held, first_fit(problem)) if chosen is not None and problem.fits(chosen)]
    most = min(map(_in_use, known), default=problem.shape[1])
    fills = (keep_and_fill(problem, problem.preference()[:count]) for count in range(least, most + 1))
    known += list(islice((fill for fill in fills if fill is not None), 1))
    best = min(known, key=lambda chosen: (_in_use(chosen), -int((chosen & problem.held).sum())), default=None)
    if not is_searchable or (best is not None and _in_use(best) == least):
        return best, least
    found, least = search.fewest_brokers(best)
    if found is not None and (best is None or _in_use(found) < _in_use(best)):
        best = found
    return best, least


def _in_use(chosen: BoolArray) -> int:
    return int(chosen.any(axis=0).sum())
