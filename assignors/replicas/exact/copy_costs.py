"""The cost of copying a replica, in integers that fit into a flow."""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import MAX_COST
from assignors.model.columns import IntArray
from assignors.replicas.exact.even_counts import replica_count_range
from assignors.replicas.normalized_problem import NormalizedProblem


def replica_copy_costs(problem: NormalizedProblem, by_bytes: bool) -> tuple[IntArray | None, int]:
    """Return the copy costs, shape (P,), and their unit in bytes; None and 1 if every replica costs the same.

    Costs times the unit are the sizes, or slightly less if the sizes vary too much for exact costs.
    """
    sizes = problem.canonical.state.size_bytes
    if not by_bytes or sizes is None:
        return None, 1
    unit = max(1, int(np.gcd.reduce(sizes)))
    replicas, count_range = int(problem.factors.sum()), replica_count_range(problem)
    nodes = problem.num_partitions * (1 + len(problem.rack_sizes)) + problem.num_brokers + 2
    all_copies = replicas * (count_range.most - count_range.least) if count_range.most - count_range.least > 1 else 1
    fits = MAX_COST // (2 * (replicas + 1) * nodes * all_copies)
    unit *= -(-int(sizes.max()) // (unit * max(fits, 1))) or 1
    return sizes // unit, unit
