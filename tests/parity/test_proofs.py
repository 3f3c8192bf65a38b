"""No recorded assignment of Kafka costs less than the proven optimum."""

from __future__ import annotations

import pytest

from assignors.model.assignment import AssignmentColumns
from assignors.model.state import ApplicationState
from assignors.objective.cost import CostAndBound, Weights
from assignors.optimum.proof import prove_bound
from tools.optimality_gap import appraised


def proven(state: ApplicationState, columns: AssignmentColumns, weights: Weights) -> CostAndBound | None:
    return prove_bound(state, columns, weights, 60.0)


@pytest.mark.parametrize(("name", "every"), [("public", 30), ("extras", 4), ("rare", 4)])
def test_kafka_is_never_below_the_proven_optimum(name: str, every: int) -> None:
    found = [each.appraisal for each in appraised(name, proven, every)]
    proofs = [each.proof for each in found if each.proof is not None]
    assert len(proofs) == len(found) > 10
    assert all(each.bound == proof.best_known_cost <= each.cost for each, proof in zip(found, proofs, strict=True))
    assert any(each.bound > proof.relaxed_bound for each, proof in zip(found, proofs, strict=True))
