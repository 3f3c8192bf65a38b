"""Kafka's answers to the recorded problems never cost less than the lower bound."""

from __future__ import annotations

import pytest

from tools.optimality_gap import answer_costs


@pytest.mark.parametrize("name", ["public", "extras", "rare"])
def test_kafka_is_never_below_the_bound(name: str) -> None:
    answers = list(answer_costs(name))
    assert len(answers) > 30
    assert [answer.id for answer in answers if answer.cost.cost < answer.cost.bound] == []
    assert any(answer.cost.cost > answer.cost.bound for answer in answers)
