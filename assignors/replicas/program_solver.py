"""Solution of placement programs.

Guarantees: the bound holds for every placement. The same program gives the same solution unless the wall-clock limit
ends the search; `was_cut_off` reports that.
Priority: a placement that meets all limits, then its weight.
Complexity: see pooled programs for limits that count replicas. Limits that weigh them need one binary per cell and
role, with exponential search in the worst case.

The fast heuristic finds a placement that meets all limits by two flows, replicas first, then leaders.

Guarantees: the placement meets every limit. Its replicas have the highest weight possible with a single role.
Priority: replicas, then leaders among them. The total weight may be below the optimum.
Complexity: two min-cost flows: as in `disaggregate`, and over one arc per replica.
Source: phases one and two of Appier, "Kafka reassignment", with limits in place of means.

An upper bound on the weight of a placement, by one min-cost flow.

Guarantees: every placement is a flow whose negated cost is the weight of the placement, so the cheapest flow gives an
upper bound. A flow cannot express that a broker has at most one role of a partition, nor that roles share a rack's
limit for a partition. With one role nothing is relaxed, and the flow is as good as the pooled program.
Complexity: a min-cost flow over P·(W + 2R)·K + 2·B·K arcs.
Source: the network relaxation of an integer program with side constraints, as in R. K. Ahuja, T. L. Magnanti and
J. B. Orlin, "Network Flows" (1993), chapter 16.

Pooled programs: placement programs that aggregate brokers which are equivalent for a partition.

All brokers of a rack that do not hold a partition have the same weight for it. So a new replica needs no variable per
broker: it enters the pool of its rack, and each broker takes a number of replicas from the pool. P·W·K variables for
kept replicas, P·R·K for new ones and B·K for brokers replace P·B·K variables.

Guarantees: every placement is a solution of the pooled program, so its optimum is an upper bound. The reverse nearly
always holds: a solution does not say which broker takes which replica; `disaggregate` decides that by flows. It fails
if every broker that must take a replica of a partition already holds one.
Complexity: linear in P·(W + R)·K; `disaggregate` uses one arc per new replica and broker of its rack.
Source: orbits of a symmetric integer program, as in F. Margot, "Symmetry in Integer Linear Programming" (2010).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.integer_program import (
    FloatArray,
    LinearProgram,
    ProgramSolution,
    build_program,
    solve_integer,
    solve_relaxed,
    with_shortfalls,
)
from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.placement_program import Cells, LimitScope, LoadLimit, RoleAssignment, RoleProgram
from assignors.replicas.plan import Plan, PlanStatus
from assignors.replicas.state import NO_BROKER
from assignors.replicas.user_constraints import UserConstraintRow


def num_variables(program: RoleProgram) -> int:
    """Return the number of variables of the pooled program."""
    num_pools = len(program.held) * program.num_racks
    return program.num_roles * (len(program.held_cells()) + num_pools + program.num_brokers)


def build_pooled_program(program: RoleProgram) -> LinearProgram:
    """Build the pooled program; the limits must count each replica as 1.

    Its variables are cells with replicas by role, pairs of partition and rack by role, and brokers by role; within each
    kind, the first role comes first. Its rows are those of the limits, those of `linear_program` over the cells with
    replicas, and one balance row per role and rack.
    """
    cells, roles = program.held_cells(), program.num_roles
    num_cell_rows = program.num_cell_rows(cells)
    pool_weight = np.tile(np.repeat(program.new_weight, program.num_racks), roles)
    objective = np.concatenate([program.objective(cells), pool_weight, np.zeros(roles * program.num_brokers)])
    lower_bounds = np.concatenate([program.lower_bounds(cells), np.zeros(len(objective) - roles * len(cells))])
    upper_bounds = np.full(len(objective), float(len(program.held)))
    upper_bounds[: roles * len(cells)] = 1
    terms = [*_limit_terms(program, cells), *_pool_terms(program, cells)]
    zeros = np.zeros(roles * program.num_racks)
    lower = np.concatenate([*(limit.lower for limit in program.limits), np.zeros(num_cell_rows), zeros])
    upper = np.concatenate([*(limit.upper for limit in program.limits), np.ones(num_cell_rows), zeros])
    rows, columns, coefficients = (np.concatenate(parts) for parts in zip(*terms, strict=True))
    return build_program(objective, lower_bounds, upper_bounds, (rows, columns, coefficients), lower, upper)


Terms = tuple[IntArray, IntArray, FloatArray]


def _limit_terms(program: RoleProgram, cells: Cells) -> list[Terms]:
    held = program.linear_program(cells)
    terms = [(held.row, held.column, held.coefficient)]
    first_row = 0
    for limit in program.limits:
        for role in limit.roles:
            group, columns = _pooled_columns(program, limit, cells, role)
            terms.append((first_row + group, columns, np.ones(len(group))))
        first_row += len(limit.lower)
    return terms


def _pooled_columns(program: RoleProgram, limit: LoadLimit, cells: Cells, role: int) -> tuple[IntArray, IntArray]:
    """Return the rows of a limit, numbered from 0, and the pool or broker variables in them."""
    first_pool, first_broker = _first_columns(program, cells, role)
    pools = np.arange(len(program.held) * program.num_racks)
    if limit.scope is LimitScope.BROKER:
        brokers = np.arange(program.num_brokers)
        return brokers, first_broker + brokers
    groups = {
        LimitScope.PARTITION: pools // program.num_racks,
        LimitScope.RACK: pools % program.num_racks,
        LimitScope.PARTITION_AND_RACK: pools,
    }
    return groups[limit.scope], first_pool + pools


def _pool_terms(program: RoleProgram, cells: Cells) -> list[Terms]:
    """Return the balance rows: replicas that enter the pool of each role and rack minus those that brokers take."""
    terms: list[Terms] = []
    pools, brokers = np.arange(len(program.held) * program.num_racks), np.arange(program.num_brokers)
    first_row = program.num_rows + program.num_cell_rows(cells)
    for role in range(program.num_roles):
        first_pool, first_broker = _first_columns(program, cells, role)
        row = first_row + role * program.num_racks
        terms.append((row + pools % program.num_racks, first_pool + pools, np.ones(len(pools))))
        terms.append((row + program.rack, first_broker + brokers, np.full(len(brokers), -1.0)))
    return terms


def _first_columns(program: RoleProgram, cells: Cells, role: int) -> tuple[int, int]:
    """Return the first column of the pools and the first column of the brokers in a role."""
    num_pools, roles = len(program.held) * program.num_racks, program.num_roles
    pools = roles * len(cells) + role * num_pools
    return pools, roles * (len(cells) + num_pools) + role * program.num_brokers


def disaggregate(program: RoleProgram, values: IntArray) -> RoleAssignment | None:
    """Return a placement for the values of a pooled program; None if the brokers cannot take their replicas."""
    cells, roles = program.held_cells(), program.num_roles
    num_partitions, num_brokers = len(program.held), program.num_brokers
    kept_as, index = np.nonzero(values[: roles * len(cells)].reshape(roles, len(cells)))
    parts = [(cells.partition[index], cells.broker[index], kept_as)]
    is_taken = program.flat(cells)[index]
    for role in range(roles):
        first_pool, first_broker = _first_columns(program, cells, role)
        pool = values[first_pool : first_pool + num_partitions * program.num_racks]
        takes = values[first_broker : first_broker + num_brokers]
        new = _match_pools_to_brokers(program, pool, takes, is_taken)
        if new is None:
            return None
        parts.append((new // num_brokers, new % num_brokers, np.full(len(new), role)))
        is_taken = np.concatenate([is_taken, new])
    partition, broker, in_role = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((broker, partition))
    return RoleAssignment(Cells(partition[order], broker[order]), in_role[order])


def _match_pools_to_brokers(
    program: RoleProgram, pool: IntArray, takes: IntArray, is_taken: IntArray
) -> IntArray | None:
    """Return the numbers of the cells that match each pooled replica with a broker; None if there is no matching."""
    pools, brokers = np.flatnonzero(pool), np.flatnonzero(takes)
    fits: BoolArray = pools[:, None] % program.num_racks == program.rack[brokers][None, :]
    partition, broker = is_taken // program.num_brokers, is_taken % program.num_brokers
    taken_pool, is_pool = _locate(pools, partition * program.num_racks + program.rack[broker])
    taken_by, is_broker = _locate(brokers, broker)
    fits[taken_pool[is_pool & is_broker], taken_by[is_pool & is_broker]] = False
    tail, head = np.nonzero(fits)
    ones = np.ones(len(tail), dtype=np.int64)
    arcs = Arcs(tail, len(pools) + head, ones, np.zeros(len(tail), dtype=np.int64))
    flows = min_cost_flow(arcs, np.concatenate([pool[pools], -takes[brokers]]))
    if flows is None:
        return None
    tail, head = tail[flows > 0], head[flows > 0]
    return pools[tail] // program.num_racks * program.num_brokers + brokers[head]


def _locate(among: IntArray, wanted: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the index of each value in a sorted array, and whether the array contains it."""
    if not len(among):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    index = np.minimum(np.searchsorted(among, wanted), len(among) - 1)
    return index, among[index] == wanted


@dataclass(frozen=True, slots=True, eq=False)
class FlowRelaxation:
    """The cheapest flow.

    Attributes:
        bound: an upper bound on the weight of every placement.
        values: the flow, as values of the variables of the pooled program.
    """

    bound: float
    values: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _BoundedArcs:
    """Arcs with a lower bound on their flow."""

    arcs: Arcs
    lower: IntArray

    @classmethod
    def between(cls, tail: IntArray, head: IntArray, lower: FloatArray, upper: FloatArray) -> _BoundedArcs:
        arcs = Arcs(tail, head, upper.astype(np.int64), np.zeros(len(tail), dtype=np.int64))
        return cls(arcs, lower.astype(np.int64))

    @classmethod
    def free(cls, tail: IntArray, head: IntArray, capacity: IntArray, cost: IntArray) -> _BoundedArcs:
        return cls(Arcs(tail, head, capacity, cost), np.zeros(len(tail), dtype=np.int64))


def relax_to_flow(program: RoleProgram) -> FlowRelaxation | None:
    """Solve the flow relaxation of a program whose limits count each replica as 1; return None if it is infeasible."""
    nodes = _Nodes(len(program.held), program.num_racks, program.num_brokers, program.num_roles)
    roles = range(program.num_roles)
    parts = [
        *(_kept(program, nodes, role) for role in roles),
        *(_into_pools(program, nodes, role) for role in roles),
        *(_out_of_pools(program, nodes, role) for role in roles),
    ]
    num_values = sum(len(part.lower) for part in parts)
    parts += [*(_to_rack_nodes(program, nodes, role) for role in roles), *_to_sink(program, nodes)]
    supply = np.zeros(nodes.count, dtype=np.int64)
    for role in roles:
        supply[nodes.partition(role)] = _factors(program, role)
    supply[-1] = -supply.sum()
    arcs, lower = Arcs.joined(*(part.arcs for part in parts)), np.concatenate([part.lower for part in parts])
    np.subtract.at(supply, arcs.tail, lower)
    np.add.at(supply, arcs.head, lower)
    flows = min_cost_flow(replace(arcs, capacity=arcs.capacity - lower), supply)
    if flows is None:
        return None
    carried = flows + lower
    return FlowRelaxation(-float(carried @ arcs.cost), carried[:num_values])


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The numbering of the nodes. Partitions, their racks, pools and per-role brokers exist once per role."""

    partitions: int
    racks: int
    brokers: int
    roles: int

    def partition(self, role: int) -> IntArray:
        return role * self._nodes_per_role + np.arange(self.partitions)

    def partition_rack(self, role: int) -> IntArray:
        return role * self._nodes_per_role + self.partitions + np.arange(self.partitions * self.racks)

    def pool(self, role: int) -> IntArray:
        return role * self._nodes_per_role + self.partitions * (1 + self.racks) + np.arange(self.racks)

    def broker_in_role(self, role: int) -> IntArray:
        first: int = role * self._nodes_per_role + self.partitions * (1 + self.racks) + self.racks
        return first + np.arange(self.brokers)

    def broker(self) -> IntArray:
        return self.roles * self._nodes_per_role + np.arange(self.brokers)

    def rack(self) -> IntArray:
        return self.roles * self._nodes_per_role + self.brokers + np.arange(self.racks)

    @property
    def count(self) -> int:
        """Return the number of nodes; the last node is the sink."""
        return self.roles * self._nodes_per_role + self.brokers + self.racks + 1

    @property
    def _nodes_per_role(self) -> int:
        return self.partitions * (1 + self.racks) + self.racks + self.brokers


def _kept(program: RoleProgram, nodes: _Nodes, role: int) -> _BoundedArcs:
    """Return arcs for kept replicas: from a partition's rack node to the broker in this role."""
    cells = program.held_cells()
    weight, lowest = (
        np.rint(values.reshape(nodes.roles, len(cells))[role]).astype(np.int64)
        for values in (program.objective(cells), program.lower_bounds(cells))
    )
    tail = nodes.partition_rack(role)[cells.partition * nodes.racks + program.rack[cells.broker]]
    return _BoundedArcs(Arcs(tail, nodes.broker_in_role(role)[cells.broker], np.ones_like(weight), -weight), lowest)


def _into_pools(program: RoleProgram, nodes: _Nodes, role: int) -> _BoundedArcs:
    """Return arcs for new replicas: from a partition's rack node to the pool of that rack."""
    cost = -np.repeat(np.rint(program.new_weight).astype(np.int64), nodes.racks)
    head = np.tile(nodes.pool(role), nodes.partitions)
    return _BoundedArcs.free(nodes.partition_rack(role), head, np.full(len(cost), nodes.brokers), cost)


def _out_of_pools(program: RoleProgram, nodes: _Nodes, role: int) -> _BoundedArcs:
    """Return arcs from a rack's pool to the brokers of the rack."""
    num_partitions = np.full(nodes.brokers, nodes.partitions)
    return _BoundedArcs.free(
        nodes.pool(role)[program.rack], nodes.broker_in_role(role), num_partitions, np.zeros_like(num_partitions)
    )


def _to_rack_nodes(program: RoleProgram, nodes: _Nodes, role: int) -> _BoundedArcs:
    """Return arcs from partitions to their rack nodes."""
    num_rack_nodes = nodes.partitions * nodes.racks
    limits = _limits(program, LimitScope.PARTITION_AND_RACK, _every_role(program), num_rack_nodes)
    return _BoundedArcs.between(np.repeat(nodes.partition(role), nodes.racks), nodes.partition_rack(role), *limits)


def _to_sink(program: RoleProgram, nodes: _Nodes) -> list[_BoundedArcs]:
    """Return arcs from a broker in each role to the broker, to its rack, and to the sink."""
    every_role = _every_role(program)
    of_broker = _limits(program, LimitScope.BROKER, every_role, nodes.brokers)
    of_rack = _limits(program, LimitScope.RACK, every_role, nodes.racks)
    parts = [
        _BoundedArcs.between(nodes.broker(), nodes.rack()[program.rack], *of_broker),
        _BoundedArcs.between(nodes.rack(), np.full(nodes.racks, nodes.count - 1), *of_rack),
    ]
    for role in every_role:
        limits = of_broker if nodes.roles == 1 else _limits(program, LimitScope.BROKER, (role,), nodes.brokers)
        parts.append(_BoundedArcs.between(nodes.broker_in_role(role), nodes.broker(), *limits))
    return parts


def _every_role(program: RoleProgram) -> tuple[int, ...]:
    return tuple(range(program.num_roles))


def _factors(program: RoleProgram, role: int) -> IntArray:
    """Return the number of replicas of each partition in a role: its own limit, or what the other roles leave."""
    every_role = _every_role(program)
    limits_by_roles = {limit.roles: limit.lower for limit in program.limits if limit.scope is LimitScope.PARTITION}
    if (role,) in limits_by_roles:
        return limits_by_roles[role,].astype(np.int64)
    rest: FloatArray = limits_by_roles[every_role] - sum(
        lower for roles, lower in limits_by_roles.items() if roles != every_role
    )
    return rest.astype(np.int64)


def _limits(
    program: RoleProgram, scope: LimitScope, roles: tuple[int, ...], size: int
) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper limits of a scope for these roles; no limits by default."""
    for limit in program.limits:
        if limit.scope is scope and limit.roles == roles:
            return limit.lower, limit.upper
    return np.zeros(size), np.full(size, float(len(program.held) * program.num_brokers))


LEADER = 0
"""The first role; all other replicas have the second."""


def place_by_flow(program: RoleProgram, flow_values: IntArray) -> RoleAssignment | None:
    """Find a placement; return None if the flows find none.

    `program`: a program with one or two roles, whose limits count each replica as 1; `flow_values`: the values of the
    flow relaxation of `program.of_one_role()`.
    """
    placement = disaggregate(program.of_one_role(), flow_values)
    if placement is None or program.num_roles == 1:
        return placement
    is_leader = _carry_leaders(program, placement.cells)
    return None if is_leader is None else RoleAssignment(placement.cells, np.where(is_leader, LEADER, LEADER + 1))


def _carry_leaders(program: RoleProgram, cells: Cells) -> BoolArray | None:
    """Return a mask of the cells that lead, by a flow from partitions through brokers to a sink."""
    num_partitions, num_brokers = len(program.held), program.num_brokers
    leader_limits = [limit for limit in program.limits if limit.scope is LimitScope.BROKER and limit.roles == (LEADER,)]
    weight = program.objective(cells).reshape(program.num_roles, len(cells))
    gain = np.rint(weight[LEADER] - weight[LEADER + 1]).astype(np.int64)
    lower, upper = leader_limits[0].lower.astype(np.int64), leader_limits[0].upper.astype(np.int64)
    brokers = num_partitions + np.arange(num_brokers)
    sink = np.full(num_brokers, num_partitions + num_brokers)
    to_broker = Arcs(cells.partition, num_partitions + cells.broker, np.ones_like(gain), -gain)
    to_sink = Arcs(brokers, sink, upper - lower, np.zeros_like(lower))
    supply = np.concatenate([np.ones(num_partitions, dtype=np.int64), -lower, [lower.sum() - num_partitions]])
    flows = min_cost_flow(Arcs.joined(to_broker, to_sink), supply)
    if flows is None:
        return None
    is_leader: BoolArray = flows[: len(cells)] > 0
    return is_leader


_POOL_VARIABLES = 12_000
"""Approximate number of variables of a pooled program that are solved in 1 s; 4 s solve twice as many."""

_CELL_VARIABLES = 75_000
"""Approximate number of variables of a program over all cells that are solved in 1 s; 4 s solve twice as many."""

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class RoleProgramSolution:
    """The solution of a placement program.

    Attributes:
        placement: the placement; None if none was found.
        value: the weight of the placement; -inf without one.
        bound: an upper bound on the weight of every placement.
        is_infeasible: whether it is proven that no placement exists.
        violated_limit: a limit that cannot be met together with the others and its group, or a user's constraint; only
            without a placement.
        was_cut_off: whether the wall-clock limit ended the search.
    """

    placement: RoleAssignment | None
    value: float
    bound: float
    is_infeasible: bool = False
    violated_limit: tuple[LoadLimit, int] | UserConstraintRow | None = None
    was_cut_off: bool = False

    @property
    def is_optimal(self) -> bool:
        """Return whether the placement is proven optimal."""
        return self.placement is not None and self.value >= self.bound - _TOLERANCE


def solve(program: RoleProgram, time_limit_s: float) -> RoleProgramSolution:
    """Find the placement with the highest weight within a time limit.

    A program that is too large for the time limit is not searched, so that the solution does not depend on the machine.
    Flows then give a placement and a bound. At most two searches run, each with the full time limit. Returns the best
    placement found, and an upper bound.
    """
    best = _solve_by_flow(program)
    for search in (_solve_pooled, _solve_all_cells):
        if not best.is_optimal and not best.is_infeasible:
            best = search(program, best, time_limit_s)
    return replace(best, is_infeasible=best.is_infeasible or best.bound == -np.inf)


def _solve_by_flow(program: RoleProgram) -> RoleProgramSolution:
    if any(limit.weight is not None for limit in program.limits):
        return RoleProgramSolution(None, -np.inf, _trivial_bound(program))
    of_one_role, all_roles = relax_to_flow(program.of_one_role()), relax_to_flow(program)
    if of_one_role is None or all_roles is None:
        return RoleProgramSolution(None, -np.inf, -np.inf)
    bound = min(of_one_role.bound, all_roles.bound)
    placement = place_by_flow(program, of_one_role.values)
    return _solution(
        program, None if placement is None or not program.satisfies_user_constraints(placement) else placement, bound
    )


def _solve_pooled(program: RoleProgram, first: RoleProgramSolution, time_limit_s: float) -> RoleProgramSolution:
    if program.user_rows or any(limit.weight is not None for limit in program.limits):
        return first
    if num_variables(program) > _POOL_VARIABLES * math.sqrt(time_limit_s):
        return first
    linear_program = build_pooled_program(program)
    answer = solve_integer(linear_program, time_limit_s)
    if answer.is_infeasible:
        return replace(
            first, is_infeasible=True, violated_limit=_find_violated_limit(program, linear_program, time_limit_s)
        )
    bound = min(first.bound, answer.bound)
    placement = None if answer.values is None else disaggregate(program, np.rint(answer.values).astype(np.int64))
    return _better(_solution(program, placement, bound), first, answer)


def _solve_all_cells(program: RoleProgram, first: RoleProgramSolution, time_limit_s: float) -> RoleProgramSolution:
    num_cells = len(program.held) * program.num_brokers
    if num_cells * program.num_roles > _CELL_VARIABLES * math.sqrt(time_limit_s):
        return first
    cells = program.all_cells()
    linear_program = program.linear_program(cells)
    answer = solve_integer(linear_program, time_limit_s)
    if answer.is_infeasible:
        return replace(
            first, is_infeasible=True, violated_limit=_find_violated_limit(program, linear_program, time_limit_s)
        )
    bound = min(first.bound, answer.bound)
    placement = None
    if answer.values is not None:
        role, cell = np.nonzero(answer.values.reshape(program.num_roles, len(cells)) > 0.5)
        placement = RoleAssignment(program.cells(program.flat(cells)[cell]), role[np.argsort(cell, kind="stable")])
    return _better(_solution(program, placement, bound), first, answer)


def _better(candidate: RoleProgramSolution, first: RoleProgramSolution, answer: ProgramSolution) -> RoleProgramSolution:
    best = candidate if candidate.value > first.value else replace(first, bound=candidate.bound)
    return replace(best, was_cut_off=first.was_cut_off or answer.was_cut_off)


def _solution(program: RoleProgram, placement: RoleAssignment | None, bound: float) -> RoleProgramSolution:
    if placement is None:
        return RoleProgramSolution(None, -np.inf, bound)
    objective = program.objective(placement.cells).reshape(program.num_roles, len(placement.cells))
    return RoleProgramSolution(
        placement, float(np.take_along_axis(objective, placement.role[None, :], axis=0).sum()), bound
    )


def _trivial_bound(program: RoleProgram) -> float:
    """Return the weight if no replica moves and every replica has its best role."""
    return float(np.where(program.held != NO_BROKER, program.weight.max(axis=2), 0).sum())


def _find_violated_limit(
    program: RoleProgram, linear_program: LinearProgram, time_limit_s: float
) -> tuple[LoadLimit, int] | UserConstraintRow | None:
    """Return the row with the largest shortfall; None if the relaxation with fractional replicas meets all limits."""
    short = with_shortfalls(linear_program)
    answer = solve_relaxed(short, time_limit_s)
    if answer.values is None:
        return None
    shortfalls = answer.values[len(linear_program.objective) :]
    if shortfalls.max(initial=0.0) < _TOLERANCE:
        return None
    return program.limit_of_row(int(np.flatnonzero(linear_program.lower > 0)[shortfalls.argmax()]))


def to_plan(
    problem: NormalizedProblem,
    solution: RoleProgramSolution,
    time_limit_s: float,
    *,
    replicas: IntArray | None = None,
    objective: str = "",
    value: float | None = None,
    bound: float | None = None,
) -> Plan:
    """Return the plan of a solution; `replicas` and later arguments are set only if the solution has a placement."""
    if replicas is None:
        return _no_plan(problem, solution, time_limit_s)
    notes = []
    if not solution.is_optimal:
        notes.append(f"not proven optimal: the bound is {bound:.12g}, this plan has {value:.12g}")
    if solution.was_cut_off:
        notes.append("the search hit its wall-clock limit; another run may give a different plan")
    status = PlanStatus.OPTIMAL if solution.is_optimal else PlanStatus.FEASIBLE
    is_proven = bound is not None and np.isfinite(bound)
    return Plan(status, replicas, "", objective, value, bound if is_proven else None, tuple(notes))


def _no_plan(problem: NormalizedProblem, solution: RoleProgramSolution, time_limit_s: float) -> Plan:
    if solution.violated_limit is not None:
        if isinstance(solution.violated_limit, UserConstraintRow):
            reason = f"constraint '{solution.violated_limit.name}' cannot be met within the other limits"
        else:
            reason = _limit_message(problem, *solution.violated_limit)
        return Plan.without_replicas(PlanStatus.INFEASIBLE, reason)
    if solution.is_infeasible:
        return Plan.without_replicas(
            PlanStatus.INFEASIBLE, "no integer solution meets all limits at once; relax the limits"
        )
    return Plan.without_replicas(PlanStatus.FAILED, f"no plan found within {time_limit_s:g} s; a plan may exist")


def _limit_message(problem: NormalizedProblem, limit: LoadLimit, group: int) -> str:
    state = problem.canonical.state
    rack = state.rack[problem.brokers[problem.rack == group]]
    names = {
        LimitScope.PARTITION: lambda: state.name(group),
        LimitScope.BROKER: lambda: f"broker {state.ids[problem.brokers[group]]}",
        LimitScope.RACK: lambda: f"rack {state.racks[rack[0]]}",
    }
    return f"{names[limit.scope]()} cannot have {limit.lower[group]:.12g} {limit.counted} within the other limits"
