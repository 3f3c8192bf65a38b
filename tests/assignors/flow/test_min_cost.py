from __future__ import annotations

import numpy as np
import pytest

from assignors.flow.min_cost import MAX_COST, Arcs, distances, max_flow_min_cost, min_cost_flow
from assignors.model.columns import IntArray


def arcs(*rows: tuple[int, int, int, int]) -> Arcs:
    """Return arcs from rows of tail, head, capacity and cost."""
    return Arcs(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def transport(seed: int) -> tuple[Arcs, IntArray]:
    """Return eight suppliers of one unit, four consumers of two, and random costs between them."""
    draw = np.random.default_rng(seed)
    tail, head = np.indices((8, 4)).reshape(2, -1)
    cost = draw.integers(0, 9, size=32)
    supply = np.array([1] * 8 + [-2] * 4)
    return Arcs(tail, 8 + head, np.ones(32, dtype=np.int64), cost), supply


def test_cheaper_path_is_taken_first() -> None:
    graph = arcs((0, 1, 1, 3), (0, 1, 1, 1), (0, 1, 1, 2))
    flows = min_cost_flow(graph, np.array([2, -2]))
    assert flows is not None
    assert flows.tolist() == [0, 1, 1]


def test_infeasible_supply_gives_no_flow() -> None:
    assert min_cost_flow(arcs((0, 1, 1, 0)), np.array([2, -2])) is None


def test_costs_above_the_limit_are_rejected() -> None:
    with pytest.raises(OverflowError, match="the solver failed"):
        min_cost_flow(arcs((0, 1, 1, 1 << 62), (1, 2, 1, 1 << 62)), np.array([1, 0, -1]))


def test_cheapest_of_the_maximum_flows_is_returned() -> None:
    graph = arcs((0, 1, 1, 1), (1, 3, 1, 1), (0, 2, 1, 5), (2, 3, 1, 5), (1, 2, 1, 0))
    assert max_flow_min_cost(graph, 0, 3, 4).tolist() == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("seed", range(5))
def test_costs_at_the_limit_are_exact(seed: int) -> None:
    graph, supply = transport(seed)
    scale = MAX_COST // (9 * len(supply))
    large = Arcs(graph.tail, graph.head, graph.capacity, graph.cost * scale)
    small_flows, large_flows = min_cost_flow(graph, supply), min_cost_flow(large, supply)
    assert small_flows is not None
    assert large_flows is not None
    assert (small_flows * graph.cost).sum() == (large_flows * graph.cost).sum()


@pytest.mark.parametrize("seed", range(10))
def test_distances_prove_that_a_flow_is_cheapest(seed: int) -> None:
    graph, supply = transport(seed)
    flows = min_cost_flow(graph, supply)
    assert flows is not None
    length = distances(graph, flows, len(supply))
    slack = length[graph.tail] + graph.cost - length[graph.head]
    assert (slack[flows < graph.capacity] >= 0).all()
    assert (slack[flows > 0] <= 0).all()
    assert (graph.cost * flows).sum() == -(length * supply).sum() + np.minimum(slack, 0).sum()


def test_saturated_arcs_give_no_shorter_distances() -> None:
    graph = arcs((0, 1, 0, -5))
    assert distances(graph, np.array([0]), 2).tolist() == [0, 0]
