"""A placement within the limits of a placement programme, found fast by flows: replicas first, then who leads.

Guarantees: what is found meets every limit; the replicas are those worth most, were there only one role.
Priority: replicas, then leaders among them; so the whole may be worth less than it could.
Complexity: two min-cost flows: as in `pooled.spread`, and over an arc for every replica.
Source: phases one and two of Appier, "Kafka reassignment", with limits for means.
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.programs.placement_program import Cells, LimitScope, RoleAssignment, RoleProgram
from assignors.replicas.programs.pooled_program import disaggregate

LEADER = 0
"""The first role; whoever does not have it, has the second."""


def place_by_flow(programme: RoleProgram, carried: IntArray) -> RoleAssignment | None:
    """Find a placement; None if flows find none.

    Args:
        programme: one or two roles, whose limits count one for each replica.
        carried: what the relaxation of the programme of one role carries.
    """
    placed = disaggregate(programme.of_one_role(), carried)
    if placed is None or programme.num_roles == 1:
        return placed
    leads = _carry_leaders(programme, placed.cells)
    return None if leads is None else RoleAssignment(placed.cells, np.where(leads, LEADER, LEADER + 1))


def _carry_leaders(programme: RoleProgram, cells: Cells) -> BoolArray | None:
    """Which of the cells lead: partition to broker to sink."""
    num_partitions, num_brokers = len(programme.held), programme.num_brokers
    of_broker = [limit for limit in programme.limits if limit.group is LimitScope.BROKER and limit.roles == (LEADER,)]
    worth = programme.objective(cells).reshape(programme.num_roles, len(cells))
    gain = np.rint(worth[LEADER] - worth[LEADER + 1]).astype(np.int64)
    lower, upper = of_broker[0].lower.astype(np.int64), of_broker[0].upper.astype(np.int64)
    brokers = num_partitions + np.arange(num_brokers)
    sink = np.full(num_brokers, num_partitions + num_brokers)
    to_broker = Arcs(cells.partition, num_partitions + cells.broker, np.ones_like(gain), -gain)
    to_sink = Arcs(brokers, sink, upper - lower, np.zeros_like(lower))
    supply = np.concatenate([np.ones(num_partitions, dtype=np.int64), -lower, [lower.sum() - num_partitions]])
    flows = min_cost_flow(Arcs.joined(to_broker, to_sink), supply)
    if flows is None:
        return None
    leads: BoolArray = flows[: len(cells)] > 0
    return leads
