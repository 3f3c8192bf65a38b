"""Bin packing of replicas within disk and network capacities, onto the fewest brokers or evenly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar, Literal

import numpy as np

from assignors.model.columns import BoolArray
from assignors.replicas.normalized_problem import NormalizedProblem, current_positions, order_replicas
from assignors.replicas.packing_search import (
    BrokerRates,
    PackingProblem,
    PackingSearch,
    first_fit,
    keep_and_fill,
    level_utilization,
)
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.retention import DerivedRates, derive_rates
from assignors.replicas.state import ClusterState

_MOST_NAMES = 12
"""The maximum number of topics in a message."""


@dataclass(frozen=True)
class CapacityPacking:
    """Place replicas within the disk and network capacities of brokers: on few brokers, or evenly over all.

    A replica uses its partition's size on disk and its partition's rate on the network. An unknown rate is derived as
    size ÷ retention of the topic; if neither is known, the strategy is not applicable, unless no broker has a
    throughput. Replica and leader counts are ignored, as in the source.

    Guarantees: no broker exceeds its capacity less the headroom; a broker holds at most one replica of a partition, and
    racks hold no more than their limit, if racks constrain the plan. If the status is optimal, no other placement uses
    fewer brokers (`fewest`) or has a lower peak utilization, in steps of 0.1 % (`balance`); `bound` is the proven
    bound. Kept replicas keep their order and precede new ones.
    Priority: capacities; the objective; with `balance` the lowest total utilization above the mean; the fewest moves
    found within the time limit. Without a search, `balance` moves replicas from the broker with the highest utilization
    until no move lowers a peak.
    Complexity: strongly NP-hard. First fit, decreasing, decides problems where it meets the bound; otherwise a search
    over P·B binaries runs, up to `max_search_cells` of them.
    Source: "Constraint Based Kafka Partition Balancing" (its formulas are lost; this is the usual model that it names),
    after J.-C. Régin and M. Rezgui, "Discussion about Constraint Programming Bin Packing Models" (2011). Solved by
    OR-Tools' CP-SAT with one worker; equivalent brokers are taken into use in a fixed order.

    Attributes:
        objective: `fewest` minimizes the number of brokers in use, `balance` the peak utilization of disk and network.
        headroom: the share of every capacity to keep free.
        retention_ms: the retention time of topics with unknown retention; None for unknown.
        time_limit_s: the approximate time limit, half for the objective and half for few moves, in CP-SAT's
            deterministic time, so that the plan does not depend on the machine.
        max_search_cells: the maximum number of pairs of partition and broker to search; larger problems use first fit
            only.
    """

    objective: Literal["fewest", "balance"] = "fewest"
    headroom: float = 0.0
    retention_ms: int | None = None
    time_limit_s: float = 10.0
    max_search_cells: int = 300_000

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
            raise ValueError(f"retention_ms {self.retention_ms} is not a positive integer")
        object.__setattr__(self, "capabilities", replace(self.capabilities, balances_bytes=self._balances))

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas."""
        normalized = NormalizedProblem.of(state, request)
        rates, fixed = (
            self._rates(normalized, normalized.canonical.state),
            self._rates(normalized, normalized.canonical.state.fixed),
        )
        if rates.unknown or fixed.unknown:
            return Plan.without_replicas(
                PlanStatus.NOT_APPLICABLE, _unknown_rates_message({**rates.unknown, **fixed.unknown})
            )
        problem = PackingProblem.of(normalized, BrokerRates(rates.bytes_per_s, fixed.bytes_per_s), self.headroom)
        infeasibility = problem.infeasibility()
        if infeasibility is not None:
            return Plan.without_replicas(PlanStatus.INFEASIBLE, infeasibility)
        search = PackingSearch(problem, self.time_limit_s / 2)
        is_searchable = problem.held.size <= self.max_search_cells
        if self._balances:
            chosen, bound = _minimize_peak(problem, search, is_searchable)
        else:
            chosen, bound = _minimize_brokers(problem, search, is_searchable)
        if chosen is None:
            return self._no_plan(problem, search, is_searchable)
        value = problem.peak(chosen) if self._balances else _in_use(chosen)
        if is_searchable:
            chosen = search.reduce_excess(chosen) if self._balances else search.reduce_moves(chosen)
        partition, broker = np.nonzero(chosen)
        replicas = order_replicas(
            normalized, partition, broker, current_positions(normalized, partition, broker), broker
        )
        return Plan(
            PlanStatus.OPTIMAL if value == bound else PlanStatus.FEASIBLE,
            replicas,
            objective=self._objective(problem),
            value=value / 10 if self._balances else value,
            bound=bound / 10 if self._balances else bound,
            notes=(
                *_derived_rates_note(rates.num_derived + fixed.num_derived),
                *self._notes(problem, search, is_searchable),
            ),
        )

    def _objective(self, problem: PackingProblem) -> str:
        if not self._balances:
            return "brokers in use"
        resources = "disk and network" if len(problem.resources) > 1 else "disk"
        return f"peak utilization of {resources} in percent"

    @property
    def _balances(self) -> bool:
        return self.objective == "balance"

    def _rates(self, normalized: NormalizedProblem, state: ClusterState | None) -> DerivedRates:
        """Return the rates of a state's partitions; 0 if no broker has a throughput."""
        brokers = normalized.canonical.state.brokers
        if state is None or all(brokers[row].capacity_bytes_per_s is None for row in normalized.brokers):
            return DerivedRates(np.zeros(0 if state is None else state.num_partitions, dtype=np.int64), {}, 0)
        return derive_rates(state, self.retention_ms)

    def _notes(self, problem: PackingProblem, search: PackingSearch, is_searchable: bool) -> tuple[str, ...]:
        notes = []
        if not is_searchable:
            heuristic = "single moves" if self._balances else "first fit, decreasing"
            pairs = f"{problem.held.size:,} partition-broker pairs"
            notes.append(f"{pairs} are too many to search; planned by {heuristic}")
        if search.was_cut_off:
            notes.append("a search hit its wall-clock limit; another run may give a different plan")
        return tuple(notes)

    def _no_plan(self, problem: PackingProblem, search: PackingSearch, is_searchable: bool) -> Plan:
        largest = problem.normalized.canonical.state.name(int(problem.size_bytes.argmax()))
        if search.is_infeasible:
            reason = f"{largest} (the largest) and all other partitions do not fit within disks, networks and racks"
            return Plan.without_replicas(PlanStatus.INFEASIBLE, reason)
        method = f"a search of {self.time_limit_s:g} s" if is_searchable else "first fit, decreasing,"
        reason = f"{method} found no placement for {largest} and all other partitions; one may exist"
        return Plan.without_replicas(PlanStatus.FAILED, reason)


def _minimize_brokers(
    problem: PackingProblem, search: PackingSearch, is_searchable: bool
) -> tuple[BoolArray | None, int]:
    """Return a placement on few brokers, and a lower bound on their number; the current placement if it is as good."""
    least = problem.min_brokers()
    candidates = [
        chosen for chosen in (problem.held, first_fit(problem)) if chosen is not None and problem.fits(chosen)
    ]
    upper_bound = min(map(_in_use, candidates), default=problem.shape[1])
    filled = (keep_and_fill(problem, problem.preference()[:count]) for count in range(least, upper_bound + 1))
    candidates += list(islice((fill for fill in filled if fill is not None), 1))
    best = min(candidates, key=lambda chosen: (_in_use(chosen), -int((chosen & problem.held).sum())), default=None)
    if not is_searchable or (best is not None and _in_use(best) == least):
        return best, least
    placement, least = search.fewest_brokers(best)
    if placement is not None and (best is None or _in_use(placement) < _in_use(best)):
        best = placement
    return best, least


def _minimize_peak(problem: PackingProblem, search: PackingSearch, is_searchable: bool) -> tuple[BoolArray | None, int]:
    """Return a placement with a low peak utilization, in thousandths, and a lower bound on the peak."""
    least, all_brokers = problem.min_peak(), np.arange(problem.shape[1])
    held = problem.held if problem.fits(problem.held) else None
    starts = held, keep_and_fill(problem, all_brokers), first_fit(problem)
    leveled = [level_utilization(problem, chosen) for chosen in starts if chosen is not None]
    best = min(leveled, key=lambda chosen: (problem.peak(chosen), -int((chosen & problem.held).sum())), default=None)
    if not is_searchable or (best is not None and problem.peak(best) == least):
        return best, least
    placement, least = search.lowest_peak(best)
    if placement is not None and (best is None or problem.peak(placement) < problem.peak(best)):
        best = placement
    return best, least


def _unknown_rates_message(unknown: Mapping[str, str]) -> str:
    topics = [f"{topic} ({reason})" for topic, reason in unknown.items()]
    more = f", and {len(topics) - _MOST_NAMES} more" if len(topics) > _MOST_NAMES else ""
    shown = ", ".join(topics[:_MOST_NAMES])
    return f"requires rates, unknown for topics {shown}{more}; specify their rates, or omit broker throughputs"


def _derived_rates_note(count: int) -> Iterator[str]:
    if count:
        yield f"unknown rates of {count:,} partitions derived as size ÷ retention"


def _in_use(chosen: BoolArray) -> int:
    return int(chosen.any(axis=0).sum())
