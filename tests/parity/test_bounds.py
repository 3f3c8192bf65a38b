"""No recorded assignment of Kafka costs less than its bound."""

from __future__ import annotations

import pytest

from tools.optimality_gap import appraised


@pytest.mark.parametrize("name", ["public", "extras", "rare"])
def test_kafka_is_never_below_the_bound(name: str) -> None:
    found = list(appraised(name))
    assert len(found) > 30
    assert [each.id for each in found if each.appraisal.cost < each.appraisal.bound] == []
    assert any(each.appraisal.cost > each.appraisal.bound for each in found)
