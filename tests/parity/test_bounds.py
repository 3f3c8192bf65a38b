"""Kafka's assignments of the recorded problems never cost less than the lower bound."""

from __future__ import annotations

import pytest

from tests.counts import few_or
from tools.optimality_gap import answer_costs

pytestmark = pytest.mark.answers


@pytest.mark.parametrize(("name", "every"), [("public", few_or(1, 4)), ("extras", 1), ("rare", 1)])
def test_kafka_is_never_below_the_bound(name: str, every: int) -> None:
    recorded = list(answer_costs(name, every=every))
    assert len(recorded) > 30
    assert [entry.id for entry in recorded if entry.cost.cost < entry.cost.bound] == []
    assert any(entry.cost.cost > entry.cost.bound for entry in recorded)
