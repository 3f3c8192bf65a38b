"""Kafka's answers to the recorded problems never cost less than the proven optimum."""

from __future__ import annotations

import pytest

from assignors.model.assignment import AssignmentColumns
from assignors.model.state import ApplicationState
from assignors.objective import CostAndBound, Weights
from assignors.optimum.proof import prove_bound
from tools.optimality_gap import answer_costs

pytestmark = pytest.mark.answers


def proven(state: ApplicationState, columns: AssignmentColumns, weights: Weights) -> CostAndBound | None:
    return prove_bound(state, columns, weights, 60.0)


@pytest.mark.parametrize(("name", "every"), [("public", 30), ("extras", 4), ("rare", 4)])
def test_kafka_is_never_below_the_proven_optimum(name: str, every: int) -> None:
    costs = [entry.cost for entry in answer_costs(name, proven, every)]
    proofs = [cost.proof for cost in costs if cost.proof is not None]
    assert len(proofs) == len(costs) > 10
    assert all(cost.bound == proof.best_known_cost <= cost.cost for cost, proof in zip(costs, proofs, strict=True))
    assert any(cost.bound > proof.relaxed_bound for cost, proof in zip(costs, proofs, strict=True))
