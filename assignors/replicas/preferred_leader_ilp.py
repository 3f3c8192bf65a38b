"""Keep as many replicas and leaders as the limits allow, by an integer linear program.

Placement programs in the LP format of lp_solve.

Source: the LP format of lp_solve 5.5 (objective `max: …;`, constraints that end in semicolons, sections `bin` and
`int`), and the variable names in the README of killerwhile/kafka-assignment-optimizer: `t1b19p6_l` is topic 1 on
broker 19, partition 6, as leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from assignors.integer_program import LinearProgram
from assignors.model.columns import IntArray
from assignors.replicas.even_shares import compute_load_ranges
from assignors.replicas.normalized_problem import NormalizedProblem, current_positions, order_replicas
from assignors.replicas.placement_program import LimitScope, LoadLimit, RoleAssignment, RoleProgram
from assignors.replicas.plan import Capabilities, Plan, PlanRequest
from assignors.replicas.program_solver import solve, to_plan
from assignors.replicas.state import ClusterState
from assignors.replicas.user_constraints import parse_constraints, user_constraint_rows


def to_lp_text(problem: NormalizedProblem, program: RoleProgram, suffixes: Sequence[str]) -> str:
    """Return the program over all cells as text, including constraints that others imply.

    `problem`: the names of partitions and brokers; `suffixes`: the suffix of variable names, by role.
    """
    cells = program.all_cells()
    linear_program = program.linear_program(cells, is_full=True)
    names = _names(problem, cells.partition, cells.broker, suffixes)
    return "".join(f"{line}\n" for line in _lines(problem, program, linear_program, names))


def _names(problem: NormalizedProblem, partition: IntArray, broker: IntArray, suffixes: Sequence[str]) -> list[str]:
    state = problem.canonical.state
    topics, partitions = (state.topic[partition] + 1).tolist(), state.partition[partition].tolist()
    brokers = state.ids[problem.brokers[broker]].tolist()
    cells = [f"t{t}b{b}p{p}" for t, b, p in zip(topics, brokers, partitions, strict=True)]
    return [cell + suffix for suffix in suffixes for cell in cells]


def _lines(
    problem: NormalizedProblem, program: RoleProgram, linear_program: LinearProgram, names: Sequence[str]
) -> Iterator[str]:
    for number, topic in enumerate(problem.canonical.state.topics, start=1):
        yield f"// t{number} is {topic}"
    yield "// Weight of kept replicas"
    yield f"max: {_objective(linear_program, names)};"
    titles, rows_with_both_limits = dict(_titles(program)), _rows_with_both_limits(program)
    starts = np.searchsorted(linear_program.row, np.arange(len(linear_program.lower) + 1)).tolist()
    for row, (start, end) in enumerate(pairwise(starts)):
        if row in titles:
            yield f"// {titles[row]}"
        if start < end:
            columns, sizes = linear_program.column[start:end].tolist(), linear_program.coefficient[start:end].tolist()
            total = _sum(zip(sizes, (names[i] for i in columns), strict=True))
            least, most = float(linear_program.lower[row]), float(linear_program.upper[row])
            yield from _constraint(
                row, total, least, most, is_single=end - start == 1, writes_both_limits=row in rows_with_both_limits
            )
    yield "// All variables are binary"
    yield "bin"
    yield f"{', '.join(names)};"


def _objective(linear_program: LinearProgram, names: Sequence[str]) -> str:
    nonzero = np.flatnonzero(linear_program.objective).tolist()
    return " + ".join(f"{linear_program.objective[i]:.12g} {names[i]}" for i in nonzero)


def _titles(program: RoleProgram) -> Iterator[tuple[int, str]]:
    row = 0
    for limit in program.limits:
        yield row, f"{limit.counted.capitalize()} per {limit.scope.value}"
        row += len(limit.lower)
    for user_row in program.user_rows:
        yield row, user_row.name
        row += 1
    yield row, "A broker has at most one role per partition"


def _rows_with_both_limits(program: RoleProgram) -> frozenset[int]:
    """Return the rows of brokers and racks, whose lower limit is written even if it is 0."""
    row, rows = 0, set[int]()
    for limit in program.limits:
        if limit.scope in (LimitScope.BROKER, LimitScope.RACK):
            rows.update(range(row, row + len(limit.lower)))
        row += len(limit.lower)
    return frozenset(rows)


def _sum(terms: Iterable[tuple[float, str]]) -> str:
    """Return a sum as text; a factor of 1 is omitted."""
    parts = []
    for size, name in terms:
        sign = "-" if size < 0 else "+"
        parts.append(f"{sign} {name}" if abs(size) == 1 else f"{sign} {abs(size):.12g} {name}")
    return " ".join(parts).removeprefix("+ ")


def _constraint(
    row: int, total: str, lower: float, upper: float, *, is_single: bool, writes_both_limits: bool
) -> Iterator[str]:
    """Yield the lines of a constraint.

    A row with a single variable needs a label: without one, lp_solve reads it as a bound, which `bin` then overrides.
    """
    labels = (f"most{row}: ", f"least{row}: ") if is_single else ("", "")
    if lower == upper:
        yield f"{labels[0]}{total} = {upper:.12g};"
        return
    if np.isfinite(upper):
        yield f"{labels[0]}{total} <= {upper:.12g};"
    if np.isfinite(lower) and (lower != 0 or writes_both_limits or not np.isfinite(upper)):
        yield f"{labels[1]}{total} >= {lower:.12g};"


LEADER, FOLLOWER = 0, 1
"""The roles of a replica in the program."""


@dataclass(frozen=True, slots=True)
class PreferredLeaderIlp:
    """Keep current replicas, above all leaders, within limits per broker, per rack, and per partition and rack.

    Each pair of partition and broker has two binaries: the broker leads, or it follows. Kept replicas have a weight,
    new ones have weight 0. Limits that are not given are the means, rounded down and up, extended where uneven
    racks require it.

    Guarantees: if the status is optimal, no plan within the limits has a higher weight; otherwise `bound` is an upper
    bound. With the default weights nothing moves if all limits are met. Kept followers keep their order; new ones come
    last, by broker id.
    Priority: replication factors, racks, limits; then the weight: kept leaders, then kept followers.
    Complexity: 2·(P·(W + R) + B) binaries, because equivalent brokers of a rack are aggregated (see `pooled_program`).
    The linear relaxation is nearly always integral. A program too large for its time limit is not searched: two flows
    give a plan within all limits, replicas first and leaders among them, and two more flows give its bound.
    Source: killerwhile/kafka-assignment-optimizer, its README (the solver itself was never published). The weights 4, 2
    and 1 come from its example; that a leader made from a follower has weight 2 and a follower made from a leader has
    weight 1 is our interpretation.

    Attributes:
        leader_kept: the weight of a leader that stays leader.
        leader_from_follower: the weight of a follower that becomes leader.
        follower_kept: the weight of a follower that stays follower.
        follower_from_leader: the weight of a leader that becomes follower.
        min_replicas: the minimum number of replicas per broker; None for the mean, rounded down, as for the other
            minimums.
        max_replicas: the maximum number of replicas per broker; None for the mean, rounded up, as for the other
            maximums.
        min_leaders: the minimum number of leaders per broker.
        max_leaders: the maximum number of leaders per broker.
        min_rack_replicas: the minimum number of replicas per rack.
        max_rack_replicas: the maximum number of replicas per rack.
        constraints: further linear constraints (see `user_constraints`); semicolons separate several constraints in one
            text. With any, the program has one binary per partition, broker and role.
        time_limit_s: the time limit of a search.
    """

    leader_kept: int = 4
    leader_from_follower: int = 2
    follower_kept: int = 2
    follower_from_leader: int = 1
    min_replicas: int | None = None
    max_replicas: int | None = None
    min_leaders: int | None = None
    max_leaders: int | None = None
    min_rack_replicas: int | None = None
    max_rack_replicas: int | None = None
    constraints: tuple[str, ...] = ()
    time_limit_s: float = 60.0

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        is_rack_aware=True,
        balances_leaders=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
        is_idempotent=True,
        is_order_independent=True,
    )

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "constraints", tuple(constraint.text for constraint in parse_constraints(self.constraints))
        )
        for counted in ("replicas", "leaders", "rack_replicas"):
            least, most = getattr(self, f"min_{counted}"), getattr(self, f"max_{counted}")
            if least is not None and most is not None and least > most:
                raise ValueError(f"min_{counted} {least} is more than max_{counted} {most}")

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas."""
        problem = NormalizedProblem.of(state, request)
        solution = solve(self.build_program(problem, request), self.time_limit_s)
        if solution.placement is None:
            return to_plan(problem, solution, self.time_limit_s)
        return to_plan(
            problem,
            solution,
            self.time_limit_s,
            replicas=_to_replicas(problem, solution.placement),
            objective="weight of kept replicas",
            value=solution.value,
            bound=solution.bound,
        )

    def lp_text(self, state: ClusterState, request: PlanRequest) -> str:
        """Return the whole program in the LP format of lp_solve: all P·B cells and all constraints.

        A variable is named after topic, broker and partition: `t1b12p5` for a follower, `t1b12p5_l` for a leader.
        Topics are numbered from 1 in the order of their names; the numbers are listed at the top.
        """
        problem = NormalizedProblem.of(state, request)
        return to_lp_text(problem, self.build_program(problem, request), ("_l", ""))

    def build_program(self, problem: NormalizedProblem, request: PlanRequest) -> RoleProgram:
        """Return the program of a problem: weights of kept replicas, limits and constraints."""
        is_first = np.arange(problem.held.shape[1]) == 0
        as_leader = np.where(is_first, self.leader_kept, self.leader_from_follower)
        as_follower = np.where(is_first, self.follower_from_leader, self.follower_kept)
        weight = np.stack([as_leader, as_follower], axis=-1).astype(np.float64)
        return RoleProgram(
            rack=problem.rack,
            held=problem.held,
            weight=np.broadcast_to(weight, (*problem.held.shape, 2)),
            new_weight=np.zeros(problem.num_partitions),
            is_pinned=np.zeros(problem.held.shape, dtype=np.bool_),
            limits=self._limits(problem, request.is_rack_aware(problem.canonical.state)),
            user_rows=user_constraint_rows(parse_constraints(self.constraints), problem, LEADER, FOLLOWER),
        )

    def _limits(self, problem: NormalizedProblem, is_rack_aware: bool) -> tuple[LoadLimit, ...]:
        num_partitions, num_brokers = problem.num_partitions, problem.num_brokers
        loads = compute_load_ranges(problem.factors, problem.rack_limits, problem.rack)
        factors = problem.factors.astype(np.float64)
        few, many = num_partitions // num_brokers, -(-num_partitions // num_brokers)
        few_leaders, many_leaders = np.full(num_brokers, few), np.full(num_brokers, many)
        one_leader, both_roles = np.ones(num_partitions), (LEADER, FOLLOWER)
        limits = (
            LoadLimit("replicas", LimitScope.PARTITION, factors, factors, both_roles),
            LoadLimit("leaders", LimitScope.PARTITION, one_leader, one_leader, (LEADER,)),
            _limit_with_defaults(
                "replicas",
                LimitScope.BROKER,
                loads.broker_least,
                loads.broker_most,
                self.min_replicas,
                self.max_replicas,
                both_roles,
            ),
            _limit_with_defaults(
                "leaders", LimitScope.BROKER, few_leaders, many_leaders, self.min_leaders, self.max_leaders, (LEADER,)
            ),
        )
        if not is_rack_aware:
            return limits
        rack_limits = np.repeat(problem.rack_limits, len(loads.rack_most)).astype(np.float64)
        return (
            *limits,
            _limit_with_defaults(
                "replicas",
                LimitScope.RACK,
                loads.rack_least,
                loads.rack_most,
                self.min_rack_replicas,
                self.max_rack_replicas,
                both_roles,
            ),
            LoadLimit("replicas", LimitScope.PARTITION_AND_RACK, np.zeros(len(rack_limits)), rack_limits, both_roles),
        )


def _limit_with_defaults(
    counted: str,
    scope: LimitScope,
    least: IntArray,
    most: IntArray,
    given_least: int | None,
    given_most: int | None,
    roles: tuple[int, ...],
) -> LoadLimit:
    """Return a limit; if only one end is given, the default of the other end yields to it."""
    lower = least if given_most is None else np.minimum(least, given_most)
    upper = most if given_least is None else np.maximum(most, given_least)
    lower = lower if given_least is None else np.full(len(least), given_least)
    upper = upper if given_most is None else np.full(len(most), given_most)
    return LoadLimit(counted, scope, lower.astype(np.float64), upper.astype(np.float64), roles)


def _to_replicas(problem: NormalizedProblem, placement: RoleAssignment) -> IntArray:
    partition, broker = placement.cells.partition, placement.cells.broker
    position = current_positions(problem, partition, broker)
    return order_replicas(problem, partition, broker, placement.role, position, broker)
