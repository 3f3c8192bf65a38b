"""Placement programs that aggregate brokers which are equivalent for a partition.

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

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.integer_program import FloatArray, LinearProgram, build_program
from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.programs.placement_program import Cells, LimitScope, LoadLimit, RoleAssignment, RoleProgram


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
