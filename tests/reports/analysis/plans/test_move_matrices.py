"""Matrices of moved replicas."""

from __future__ import annotations

from reports.analysis.plans.broker_tables import move_matrices, pair_grid
from tests.reports.sample_plans import results


def test_heat_scale_is_common_to_all_plans() -> None:
    matrices = move_matrices(results(), "move")
    numbers = [number for matrix in matrices for row in matrix.replicas for number in row]
    heat = [step for matrix in matrices for row in matrix.heat for step in row]
    assert max(zip(numbers, heat, strict=True)) == (max(numbers), 10)
    assert all((number == 0) == (step == 0) for number, step in zip(numbers, heat, strict=True))


def test_many_brokers_are_shown_by_rack_and_as_pairs() -> None:
    plans = {"spread": [(10 + n, 20 + n) for n in range(6)], "other": [(30 + n, 40 + n) for n in range(6)]}
    matrices = move_matrices(results(plans=plans, extra=40), "move")
    assert [(matrix.level, matrix.sources, matrix.targets) for matrix in matrices] == [
        ("rack", ("az1", "az2", "no rack"), ("az1", "az2"))
    ] * 2
    assert move_matrices(results(plans=plans, extra=40, racks=False), "move") == []
    pairs = pair_grid(results(plans=plans, extra=40), "spread")
    assert sum(cells[0].value or 0 for _, cells in pairs.lines) == 12
