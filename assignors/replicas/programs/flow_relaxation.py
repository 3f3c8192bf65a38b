"""What no placement is worth more than, found fast by one flow.

Guarantees: every placement is a flow here that costs what the placement is worth; so the cheapest flow is a bound.
What a flow cannot say is left out: that a broker has one role of a partition, and that a rack's share of a partition
is shared by roles. With one role there is nothing left out, and the flow is as good as the pooled programme.
Complexity: a min-cost flow over P·(W + 2R)·K + 2·B·K arcs.
Source: the network relaxation of an integer programme with side constraints, as in R. K. Ahuja, T. L. Magnanti and
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
        worth: what no placement is worth more than.
        values: what is carried, as the variables of the pooled programme have it.
    """

    worth: float
    values: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _BoundedArcs:
    """Arcs, of whose capacity so much is carried in any case."""

    arcs: Arcs
    lower: IntArray

    @classmethod
    def between(cls, tail: IntArray, head: IntArray, lower: FloatArray, upper: FloatArray) -> _BoundedArcs:
        arcs = Arcs(tail, head, upper.astype(np.int64), np.zeros(len(tail), dtype=np.int64))
        return cls(arcs, lower.astype(np.int64))

    @classmethod
    def free(cls, tail: IntArray, head: IntArray, capacity: IntArray, cost: IntArray) -> _BoundedArcs:
        return cls(Arcs(tail, head, capacity, cost), np.zeros(len(tail), dtype=np.int64))


def relax_to_flow(programme: RoleProgram) -> FlowRelaxation | None:
    """Relax a programme whose limits count one for each replica; None if there is no placement."""
    nodes = _Nodes(len(programme.held), programme.num_racks, programme.num_brokers, programme.num_roles)
    roles = range(programme.num_roles)
    parts = [
        *(_kept(programme, nodes, role) for role in roles),
        *(_into_pools(programme, nodes, role) for role in roles),
        *(_out_of_pools(programme, nodes, role) for role in roles),
    ]
    num_values = sum(len(part.lower) for part in parts)
    parts += [*(_apart(programme, nodes, role) for role in roles), *_to_sink(programme, nodes)]
    supply = np.zeros(nodes.count, dtype=np.int64)
    for role in roles:
        supply[nodes.partition(role)] = _factors(programme, role)
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
    """Numbers of nodes; partitions, their racks, pools and takers are there once a role."""

    partitions: int
    racks: int
    brokers: int
    roles: int

    def partition(self, role: int) -> IntArray:
        return role * self._of_a_role + np.arange(self.partitions)

    def split(self, role: int) -> IntArray:
        return role * self._of_a_role + self.partitions + np.arange(self.partitions * self.racks)

    def pool(self, role: int) -> IntArray:
        return role * self._of_a_role + self.partitions * (1 + self.racks) + np.arange(self.racks)

    def taker(self, role: int) -> IntArray:
        first: int = role * self._of_a_role + self.partitions * (1 + self.racks) + self.racks
        return first + np.arange(self.brokers)

    def broker(self) -> IntArray:
        return self.roles * self._of_a_role + np.arange(self.brokers)

    def rack(self) -> IntArray:
        return self.roles * self._of_a_role + self.brokers + np.arange(self.racks)

    @property
    def count(self) -> int:
        """All of them; the last is the sink."""
        return self.roles * self._of_a_role + self.brokers + self.racks + 1

    @property
    def _of_a_role(self) -> int:
        return self.partitions * (1 + self.racks) + self.racks + self.brokers


def _kept(programme: RoleProgram, nodes: _Nodes, role: int) -> _BoundedArcs:
    """A partition's replicas in a rack, to the brokers that hold it."""
    cells = programme.held_cells()
    worth, lowest = (
        np.rint(values.reshape(nodes.roles, len(cells))[role]).astype(np.int64)
        for values in (programme.objective(cells), programme.lowest(cells))
    )
    tail = nodes.split(role)[cells.partition * nodes.racks + programme.rack[cells.broker]]
    return _BoundedArcs(Arcs(tail, nodes.taker(role)[cells.broker], np.ones_like(worth), -worth), lowest)


def _into_pools(programme: RoleProgram, nodes: _Nodes, role: int) -> _BoundedArcs:
    """A partition's replicas in a rack, to the rack's pool."""
    cost = -np.repeat(np.rint(programme.new_worth).astype(np.int64), nodes.racks)
    head = np.tile(nodes.pool(role), nodes.partitions)
    return _BoundedArcs.free(nodes.split(role), head, np.full(len(cost), nodes.brokers), cost)


def _out_of_pools(programme: RoleProgram, nodes: _Nodes, role: int) -> _BoundedArcs:
    """A rack's pool, to its brokers."""
    many = np.full(nodes.brokers, nodes.partitions)
    return _BoundedArcs.free(nodes.pool(role)[programme.rack], nodes.taker(role), many, np.zeros_like(many))


def _apart(programme: RoleProgram, nodes: _Nodes, role: int) -> _BoundedArcs:
    """A partition's replicas, to its racks."""
    num_splits = nodes.partitions * nodes.racks
    ends = _ends(programme, LimitScope.PARTITION_AND_RACK, _every_role(programme), num_splits)
    return _BoundedArcs.between(np.repeat(nodes.partition(role), nodes.racks), nodes.split(role), *ends)


def _to_sink(programme: RoleProgram, nodes: _Nodes) -> list[_BoundedArcs]:
    """A broker in each role, to the broker, to its rack, to the sink."""
    every_role = _every_role(programme)
    of_broker = _ends(programme, LimitScope.BROKER, every_role, nodes.brokers)
    of_rack = _ends(programme, LimitScope.RACK, every_role, nodes.racks)
    parts = [
        _BoundedArcs.between(nodes.broker(), nodes.rack()[programme.rack], *of_broker),
        _BoundedArcs.between(nodes.rack(), np.full(nodes.racks, nodes.count - 1), *of_rack),
    ]
    for role in every_role:
        ends = of_broker if nodes.roles == 1 else _ends(programme, LimitScope.BROKER, (role,), nodes.brokers)
        parts.append(_BoundedArcs.between(nodes.taker(role), nodes.broker(), *ends))
    return parts


def _every_role(programme: RoleProgram) -> tuple[int, ...]:
    return tuple(range(programme.num_roles))


def _factors(programme: RoleProgram, role: int) -> IntArray:
    """How many replicas of each partition have a role: what is asked for it, or what other roles leave."""
    every_role = _every_role(programme)
    asked = {limit.roles: limit.lower for limit in programme.limits if limit.group is LimitScope.PARTITION}
    if (role,) in asked:
        return asked[role,].astype(np.int64)
    rest: FloatArray = asked[every_role] - sum(lower for roles, lower in asked.items() if roles != every_role)
    return rest.astype(np.int64)


def _ends(
    programme: RoleProgram, group: LimitScope, roles: tuple[int, ...], size: int
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends of the limit on a group for these roles; no limits if there is none."""
    for limit in programme.limits:
        if limit.group is group and limit.roles == roles:
            return limit.lower, limit.upper
    return np.zeros(size), np.full(size, float(len(programme.held) * programme.num_brokers))
