"""Placement programmes in which brokers that are alike to a partition are one.

All brokers of a rack that do not hold a partition yet are worth the same to it. So a new replica needs no variable for
each of them: it goes into its rack's pool, and every broker takes some replicas out of that. P·W·K variables for what
is held, P·R·K for what is new and B·K for what brokers take say what P·B·K would.

Guarantees: every placement is a solution here, so nothing is worth more than the best solution here. The other way
round nearly always: a solution leaves open which broker takes which replica, and `spread` finds that out by flows. It
fails where every broker that has to take a replica of a partition holds one already.
Complexity: linear in P·(W + R)·K; what it spreads takes an arc for every new replica and broker of its rack.
Source: orbits of a symmetric integer programme, as in F. Margot, "Symmetry in Integer Linear Programming" (2010).
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.integer_program import FloatArray, LinearProgram, build_program
from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.programs.placement_program import Cells, LimitScope, LoadLimit, RoleAssignment, RoleProgram


def num_variables(programme: RoleProgram) -> int:
    """How many variables the programme with pools has."""
    num_pools = len(programme.held) * programme.num_racks
    return programme.num_roles * (len(programme.held_cells()) + num_pools + programme.num_brokers)


def build_pooled_program(programme: RoleProgram) -> LinearProgram:
    """The programme with pools; only for limits that count one for each replica.

    Variables are roles of the cells that hold replicas, roles of partitions and racks, roles of brokers; each with
    all that have the first role first. Rows are those of the limits, those of `programme` over the cells that hold
    replicas, and one for each role and rack, whose pool has to come out even.
    """
    cells, roles = programme.held_cells(), programme.num_roles
    num_cell_rows = programme.num_cell_rows(cells)
    pool_worth = np.tile(np.repeat(programme.new_worth, programme.num_racks), roles)
    objective = np.concatenate([programme.objective(cells), pool_worth, np.zeros(roles * programme.num_brokers)])
    lowest = np.concatenate([programme.lowest(cells), np.zeros(len(objective) - roles * len(cells))])
    highest = np.full(len(objective), float(len(programme.held)))
    highest[: roles * len(cells)] = 1
    terms = [*_limit_terms(programme, cells), *_pool_terms(programme, cells)]
    balanced = np.zeros(roles * programme.num_racks)
    lower = np.concatenate([*(limit.lower for limit in programme.limits), np.zeros(num_cell_rows), balanced])
    upper = np.concatenate([*(limit.upper for limit in programme.limits), np.ones(num_cell_rows), balanced])
    rows, columns, coefficients = (np.concatenate(parts) for parts in zip(*terms, strict=True))
    return build_program(objective, lowest, highest, (rows, columns, coefficients), lower, upper)


Terms = tuple[IntArray, IntArray, FloatArray]


def _limit_terms(programme: RoleProgram, cells: Cells) -> list[Terms]:
    held = programme.programme(cells)
    terms = [(held.row, held.column, held.coefficient)]
    first_row = 0
    for limit in programme.limits:
        for role in limit.roles:
            group, columns = _beyond_cells(programme, limit, cells, role)
            terms.append((first_row + group, columns, np.ones(len(group))))
        first_row += len(limit.lower)
    return terms


def _beyond_cells(programme: RoleProgram, limit: LoadLimit, cells: Cells, role: int) -> tuple[IntArray, IntArray]:
    """The rows of a limit, as its own, and the variables that stand in them besides cells."""
    first_pool, first_broker = _first_columns(programme, cells, role)
    pools = np.arange(len(programme.held) * programme.num_racks)
    if limit.group is LimitScope.BROKER:
        brokers = np.arange(programme.num_brokers)
        return brokers, first_broker + brokers
    groups = {
        LimitScope.PARTITION: pools // programme.num_racks,
        LimitScope.RACK: pools % programme.num_racks,
        LimitScope.PARTITION_AND_RACK: pools,
    }
    return groups[limit.group], first_pool + pools


def _pool_terms(programme: RoleProgram, cells: Cells) -> list[Terms]:
    """What goes into the pool of each role and rack, less what brokers take out of it."""
    terms: list[Terms] = []
    pools, brokers = np.arange(len(programme.held) * programme.num_racks), np.arange(programme.num_brokers)
    first_row = programme.num_rows + programme.num_cell_rows(cells)
    for role in range(programme.num_roles):
        first_pool, first_broker = _first_columns(programme, cells, role)
        row = first_row + role * programme.num_racks
        terms.append((row + pools % programme.num_racks, first_pool + pools, np.ones(len(pools))))
        terms.append((row + programme.rack, first_broker + brokers, np.full(len(brokers), -1.0)))
    return terms


def _first_columns(programme: RoleProgram, cells: Cells, role: int) -> tuple[int, int]:
    """The first variable of the pools, and of the brokers, in a role."""
    num_pools, roles = len(programme.held) * programme.num_racks, programme.num_roles
    pools = roles * len(cells) + role * num_pools
    return pools, roles * (len(cells) + num_pools) + role * programme.num_brokers


def disaggregate(programme: RoleProgram, values: IntArray) -> RoleAssignment | None:
    """A placement from the values of a pooled programme; None if brokers cannot take what they should."""
    cells, roles = programme.held_cells(), programme.num_roles
    num_partitions, num_brokers = len(programme.held), programme.num_brokers
    kept_as, place = np.nonzero(values[: roles * len(cells)].reshape(roles, len(cells)))
    found = [(cells.partition[place], cells.broker[place], kept_as)]
    is_taken = programme.flat(cells)[place]
    for role in range(roles):
        first_pool, first_broker = _first_columns(programme, cells, role)
        pool = values[first_pool : first_pool + num_partitions * programme.num_racks]
        takes = values[first_broker : first_broker + num_brokers]
        new = _taken_out(programme, pool, takes, is_taken)
        if new is None:
            return None
        found.append((new // num_brokers, new % num_brokers, np.full(len(new), role)))
        is_taken = np.concatenate([is_taken, new])
    partition, broker, in_role = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((broker, partition))
    return RoleAssignment(Cells(partition[order], broker[order]), in_role[order])


def _taken_out(programme: RoleProgram, pool: IntArray, takes: IntArray, is_taken: IntArray) -> IntArray | None:
    """Cells, by number: which broker takes the replica of which partition."""
    pools, brokers = np.flatnonzero(pool), np.flatnonzero(takes)
    fits: BoolArray = pools[:, None] % programme.num_racks == programme.rack[brokers][None, :]
    partition, broker = is_taken // programme.num_brokers, is_taken % programme.num_brokers
    taken_pool, is_pool = _places(pools, partition * programme.num_racks + programme.rack[broker])
    taken_by, is_broker = _places(brokers, broker)
    fits[taken_pool[is_pool & is_broker], taken_by[is_pool & is_broker]] = False
    tail, head = np.nonzero(fits)
    ones = np.ones(len(tail), dtype=np.int64)
    arcs = Arcs(tail, len(pools) + head, ones, np.zeros(len(tail), dtype=np.int64))
    flows = min_cost_flow(arcs, np.concatenate([pool[pools], -takes[brokers]]))
    if flows is None:
        return None
    tail, head = tail[flows > 0], head[flows > 0]
    return pools[tail] // programme.num_racks * programme.num_brokers + brokers[head]


def _places(among: IntArray, wanted: IntArray) -> tuple[IntArray, BoolArray]:
    """Where values stand in a sorted array, and whether they do."""
    if not len(among):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    place = np.minimum(np.searchsorted(among, wanted), len(among) - 1)
    return place, among[place] == wanted
