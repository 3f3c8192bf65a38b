"""A fast heuristic: find a placement that meets all limits by two flows, replicas first, then leaders.

Guarantees: the placement meets every limit. Its replicas have the highest weight possible with a single role.
Priority: replicas, then leaders among them. The total weight may be below the optimum.
Complexity: two min-cost flows: as in `pooled_program.disaggregate`, and over one arc per replica.
Source: phases one and two of Appier, "Kafka reassignment", with limits in place of means.
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.programs.placement_program import Cells, LimitScope, RoleAssignment, RoleProgram
from assignors.replicas.programs.pooled_program import disaggregate

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
