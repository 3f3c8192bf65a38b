"""What it weighs to copy a replica, in numbers that a flow can count with."""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import MAX_COST
from assignors.model.columns import IntArray
from assignors.replicas.exact.even_counts import replica_count_range
from assignors.replicas.normalized_problem import NormalizedProblem


def replica_copy_costs(question: NormalizedProblem, by_bytes: bool) -> tuple[IntArray | None, int]:
    """Shape (P,), and the unit: weights times the unit are bytes, or a little less where sizes are too diverse to count
    exactly; None and 1 if every replica weighs the same."""
    sizes = question.told.state.size_bytes
    if not by_bytes or sizes is None:
        return None, 1
    unit = max(1, int(np.gcd.reduce(sizes)))
    replicas, span = int(question.factors.sum()), replica_count_range(question)
    nodes = question.num_partitions * (1 + len(question.rack_sizes)) + question.num_brokers + 2
    all_copies = replicas * (span.most - span.least) if span.most - span.least > 1 else 1
    fits = MAX_COST // (2 * (replicas + 1) * nodes * all_copies)
    unit *= -(-int(sizes.max()) // (unit * max(fits, 1))) or 1
    return sizes // unit, unit
