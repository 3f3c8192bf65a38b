"""An upper bound on the weight of a placement, by one min-cost flow.

Guarantees: every placement is a flow whose negated cost is the weight of the placement, so the cheapest flow gives an
upper bound. A flow cannot express that a broker has at most one role of a partition, nor that roles share a rack's
limit for a partition. With one role nothing is relaxed, and the flow is as good as the pooled program.
Complexity: a min-cost flow over P·(W + 2R)·K + 2·B·K arcs.
Source: the network relaxation of an integer program with side constraints, as in R. K. Ahuja, T. L. Magnanti and
J. B. Orlin, "Network Flows" (1993), chapter 16.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.integer_program import FloatArray
from assignors.model.columns import IntArray
from assignors.replicas.programs.placement_program import LimitScope, RoleProgram


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
