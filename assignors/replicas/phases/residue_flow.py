"""The flow that evens bins out: from those that hold too much, over what they may hand on, to those with too little.

Guarantees: no bin that is over its share ends below it rounded down, none that is under ends above it rounded up. With
costs `fixed` and the residue, every bin ends even where that is possible at all.

Priority: the size of the flow; what bins must give and take, before what only rounding left over (`fixed`); few hops.

Complexity: one largest and one cheapest flow over the arcs given, and O(bins) more.

Source: Pinterest, "Using graph algorithms to optimize Kafka operations, part 2". With its costs a unit by way of the
residue saves a hop at the price of one, so where the flow cannot fill all arcs, it may leave a bin with too much that
only a longer chain would have relieved. A residue dearer than any chain (`fixed`) never does: growing a flow never
empties an arc at the source or the sink, so a largest flow exists that fills as many of the others as can be filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from assignors.flow.min_cost import Arcs, max_flow, max_flow_min_cost
from assignors.model.columns import IntArray
from assignors.replicas.phases.even_shares import EvenShares
from assignors.replicas.phases.pruning import prune_by_component, prune_by_path

Costs = Literal["none", "published", "fixed"]
Pruning = Literal["none", "component", "path"]


@dataclass(frozen=True, slots=True)
class BalancingMethod:
    """How bins are evened out; each part can be left out, to see what it is good for.

    Attributes:
        residue: whether what is lost by rounding flows by way of two nodes that a group shares.
        costs: none: any largest flow will do; published: a hop and a unit of the residue cost 1 each; fixed: a unit of
            the residue costs more than any chain of hops.
        pruning: which part of the flow is taken; none: all; component: the weakly connected components that make
            something more even; path: the fewest hops that make it as even.
        checks: whether groups that are even stay out, and the flow is taken only if it makes something more even, and
            then repeated until none does. Otherwise it is taken once.

    Raises:
        ValueError: costs or pruning is none of these.
    """

    residue: bool = True
    costs: Costs = "fixed"
    pruning: Pruning = "path"
    checks: bool = True

    def __post_init__(self) -> None:
        for name, value, known in (("costs", self.costs, Costs), ("pruning", self.pruning, Pruning)):
            if value not in get_args(known):
                raise ValueError(f"{name} '{value}' is none of {', '.join(get_args(known))}")


@dataclass(frozen=True, slots=True, eq=False)
class BalancingFlow:
    """A flow from bin to bin.

    Attributes:
        flows: what each arc carries.
        is_full: whether nothing more could flow, whatever the arcs between bins: all that can leave bins does.
    """

    flows: IntArray
    is_full: bool


def balance_bins(
    shares: EvenShares, arcs: Arcs, num_nodes: int, longest: int, method: BalancingMethod
) -> BalancingFlow:
    """Find the flow.

    Args:
        shares: the bins, which are the first nodes.
        arcs: what may go from bins to others, by way of the other nodes; those that cost are the hops.
        num_nodes: how many nodes they have, bins included.
        longest: how many bins one chain of hops can leave.
        method: how.
    """
    residue_cost = 1 if method.costs == "published" else longest + 1
    ends = _ends(shares, num_nodes, residue_cost if method.residue else None)
    whole = Arcs.joined(arcs, ends)
    source, sink, last = num_nodes, num_nodes + 1, num_nodes + 2 + 2 * shares.num_groups
    if method.costs == "none":
        everything = max_flow(whole, source, sink)
    else:
        everything = max_flow_min_cost(whole, source, sink, last)
    is_full = bool((everything == whole.capacity)[whole.tail == source].all())
    flows = everything[: len(arcs.tail)]
    if method.pruning == "component":
        flows = prune_by_component(shares, arcs, num_nodes, flows)
    elif method.pruning == "path":
        flows = prune_by_path(shares, arcs, num_nodes, flows)
    return BalancingFlow(flows, is_full)


def _ends(shares: EvenShares, source: int, residue_cost: int | None) -> Arcs:
    """The arcs at source and sink; with the residue, if it has a cost: two nodes a group, one at either end."""
    sink, first = source + 1, source + 2
    groups = np.arange(shares.num_groups)
    spares, spaces = first + groups, first + shares.num_groups + groups
    over, under = np.flatnonzero(shares.is_over), np.flatnonzero(shares.is_under)
    direct = (arcs_between(source, over, shares.must_give[over]), arcs_between(under, sink, shares.must_take[under]))
    if residue_cost is None:
        return Arcs.joined(*direct)
    return Arcs.joined(
        *direct,
        arcs_between(source, spares, shares.residue(shares.is_over), residue_cost),
        arcs_between(spares[shares.group[over]], over),
        arcs_between(under, spaces[shares.group[under]]),
        arcs_between(spaces, sink, shares.residue(shares.is_under), residue_cost),
    )


def arcs_between(tail: IntArray | int, head: IntArray | int, capacity: IntArray | int = 1, cost: int = 0) -> Arcs:
    """Arcs that share what is given as one number."""
    columns = np.broadcast_arrays(*(np.asarray(column, dtype=np.int64) for column in (tail, head, capacity, cost)))
    return Arcs(*(np.ascontiguousarray(column) for column in columns))
