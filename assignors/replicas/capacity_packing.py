"""Replicas within the disk and network capacities of brokers, in the fewest of them or evenly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar, Literal

import numpy as np

from assignors.model.columns import BoolArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.packing.first_fit import first_fit, keep_and_fill
from assignors.replicas.packing.leveling import level_utilization
from assignors.replicas.packing.problem import BrokerRates, PackingProblem
from assignors.replicas.packing.search import PackingSearch
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.replica_order import current_positions, order_replicas
from assignors.replicas.retention import DerivedRates, derive_rates
from assignors.replicas.state import ClusterState

_SOLVER_CELLS = 300_000
"""More cells than that are not searched; first fit has to do."""

_MOST_NAMES = 12
"""The most topics named in a message."""


@dataclass(frozen=True)
class CapacityPacking:
    """Place replicas within the disk and network capacities of brokers: in few brokers, or evenly over all.

    A replica takes its partition's size on disk and its partition's rate on the network. Where a rate is unknown it is
    size ÷ retention of the topic; a topic for which neither is known makes the strategy not applicable, unless no
    broker has a throughput. Replica and leader counts do not matter, as in the source.

    Guarantees: no broker exceeds its capacity less the headroom; no two replicas of a partition on one broker, and no
    more in a rack than its share, if racks count. Where the status is optimal, no other placement uses fewer brokers
    (`fewest`) or has a lower peak utilization, in steps of 0.1 % (`balance`); `bound` is the proven bound. Kept
    replicas keep their order, and precede new ones.
    Priority: what fits; the objective; with `balance` the least total utilization above the mean; the fewest moves.
    Moves are as few as the search finds within its time. Without a search, `balance` moves replicas from the broker
    with the highest utilization until that lowers no peak.
    Complexity: strongly NP-hard. First fit, decreasing, answers where it meets the bound; a search over P·B binaries
    tries where it does not, up to 300,000 of them.
    Source: "Constraint Based Kafka Partition Balancing" (its formulas are lost; the model is the usual one that it
    names), after J.-C. Régin and M. Rezgui, "Discussion about Constraint Programming Bin Packing Models" (2011).
    Solved by OR-Tools' CP-SAT, one worker; brokers that are alike are taken into use in one order only.

    Attributes:
        objective: `fewest` minimizes the brokers in use, `balance` the peak utilization of disk and network.
        headroom: the share of every capacity to keep free.
        retention_ms: the retention of topics whose retention is unknown; None if that is unknown, too.
        time_limit_s: about how long to search, in equal parts for the objective and for few moves; counted in CP-SAT's
            deterministic time, so that the answer does not depend on the machine.
    """

    objective: Literal["fewest", "balance"] = "fewest"
    headroom: float = 0.0
    retention_ms: int | None = None
    time_limit_s: float = 10.0

    capabilities: ClassVar[Capabilities] = Capabilities(
        is_rack_aware=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
        is_order_independent=True,
        needs_sizes=True,
        needs_capacities=True,
    )

    def __post_init__(self) -> None:
        if self.objective not in ("fewest", "balance"):
            raise ValueError(f"objective '{self.objective}' is not fewest or balance")
        if not 0 <= self.headroom < 1:
            raise ValueError(f"headroom {self.headroom} is not at least 0 and less than 1")
        if self.retention_ms is not None and (type(self.retention_ms) is not int or self.retention_ms < 1):
            raise ValueError(f"retention_ms {self.retention_ms} is not a number of milliseconds, at least 1")
        object.__setattr__(self, "capabilities", replace(self.capabilities, balances_bytes=self._levels))

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas."""
        normalized = NormalizedProblem.of(state, request)
        rates, fixed = (
            self._rates(normalized, normalized.canonical.state),
            self._rates(normalized, normalized.canonical.state.fixed),
        )
        if rates.unknown or fixed.unknown:
            return Plan.without_replicas(PlanStatus.NOT_APPLICABLE, _unknown({**rates.unknown, **fixed.unknown}))
        problem = PackingProblem.of(normalized, BrokerRates(rates.bytes_per_s, fixed.bytes_per_s), self.headroom)
        misfit = problem.misfit()
        if misfit is not None:
            return Plan.without_replicas(PlanStatus.INFEASIBLE, misfit)
        search = PackingSearch(problem, self.time_limit_s / 2)
        is_searchable = problem.held.size <= _SOLVER_CELLS
        if self._levels:
            chosen, bound = _level(problem, search, is_searchable)
        else:
            chosen, bound = _few_brokers(problem, search, is_searchable)
        if chosen is None:
            return self._nothing(problem, search, is_searchable)
        value = problem.peak(chosen) if self._levels else _in_use(chosen)
        if is_searchable:
            chosen = search.least_excess(chosen) if self._levels else search.fewest_moves(chosen)
        partition, broker = np.nonzero(chosen)
        replicas = order_replicas(
            normalized, partition, broker, current_positions(normalized, partition, broker), broker
        )
        return Plan(
            PlanStatus.OPTIMAL if value == bound else PlanStatus.FEASIBLE,
            replicas,
            objective=self._objective(problem),
            value=value / 10 if self._levels else value,
            bound=bound / 10 if self._levels else bound,
            notes=(*_derived(rates.num_derived + fixed.num_derived), *self._notes(problem, search, is_searchable)),
        )

    def _objective(self, problem: PackingProblem) -> str:
        if not self._levels:
            return "brokers in use"
        what = "disk and network" if len(problem.resources) > 1 else "disk"
        return f"peak utilization of {what} in percent"

    @property
    def _levels(self) -> bool:
        return self.objective == "balance"

    def _rates(self, normalized: NormalizedProblem, state: ClusterState | None) -> DerivedRates:
        """Return the rates of a state's partitions; zeros where no broker limits them."""
        brokers = normalized.canonical.state.brokers
        if state is None or all(brokers[row].capacity_bytes_per_s is None for row in normalized.brokers):
            return DerivedRates(np.zeros(0 if state is None else state.num_partitions, dtype=np.int64), {}, 0)
        return derive_rates(state, self.retention_ms)

    def _notes(self, problem: PackingProblem, search: PackingSearch, is_searchable: bool) -> tuple[str, ...]:
        notes = []
        if not is_searchable:
            how = "leveled by single moves" if self._levels else "packed largest first"
            notes.append(f"{problem.held.size:,} cells are too many to search; these were {how}")
        if search.was_cut_off:
            notes.append("a search was stopped by the clock; another run may come out differently")
        return tuple(notes)

    def _nothing(self, problem: PackingProblem, search: PackingSearch, is_searchable: bool) -> Plan:
        largest = problem.normalized.canonical.state.name(int(problem.size_bytes.argmax()))
        if search.is_infeasible:
            reason = f"{largest}, the largest, and all others do not fit the brokers' disks, networks and racks at once"
            return Plan.without_replicas(PlanStatus.INFEASIBLE, reason)
        how = f"a search of {self.time_limit_s:g} s" if is_searchable else "first fit, decreasing,"
        return Plan.without_replicas(
            PlanStatus.FAILED, f"{how} found no room for {largest} and all others; there may be some"
        )


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


def _level(problem: PackingProblem, search: PackingSearch, is_searchable: bool) -> tuple[BoolArray | None, int]:
    """Return a placement with a low peak utilization, in thousandths, and a lower bound of that."""
    least, everywhere = problem.least_peak(), np.arange(problem.shape[1])
    held = problem.held if problem.fits(problem.held) else None
    starts = held, keep_and_fill(problem, everywhere), first_fit(problem)
    leveled = [level_utilization(problem, chosen) for chosen in starts if chosen is not None]
    best = min(leveled, key=lambda chosen: (problem.peak(chosen), -int((chosen & problem.held).sum())), default=None)
    if not is_searchable or (best is not None and problem.peak(best) == least):
        return best, least
    found, least = search.lowest_peak(best)
    if found is not None and (best is None or problem.peak(found) < problem.peak(best)):
        best = found
    return best, least


def _unknown(unknown: Mapping[str, str]) -> str:
    topics = [f"{topic} ({reason})" for topic, reason in unknown.items()]
    more = f", and {len(topics) - _MOST_NAMES} more" if len(topics) > _MOST_NAMES else ""
    shown = ", ".join(topics[:_MOST_NAMES])
    needed = f"it needs rates, which retention does not give for topics {shown}{more}"
    return f"{needed}; give their rates, or no throughputs"


def _derived(count: int) -> Iterator[str]:
    if count:
        yield f"rates of {count:,} partitions are size ÷ retention, as they are unknown"


def _in_use(chosen: BoolArray) -> int:
    return int(chosen.any(axis=0).sum())
