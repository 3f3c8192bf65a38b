"""What is filled in after the event must count in the prediction, or ties would be won by luck."""

from __future__ import annotations

import pytest

from tools.fidelity.prediction import forecast, simulate_document
from tools.fidelity.scenario_edits import EVENT_AT_MS, LONG_MS, with_members

ASSIGNOR = "streams_group_sticky"
FIRST = "00000000-0000-0000-0000-000000000001"
FIFTH = "00000000-0000-0000-0000-000000000005"
"""Falls into one bin with the first, in Kafka's map of processes."""

DOCUMENT = {
    "name": "two-of-a-bin",
    "cluster": {"brokers": {"count": 1}, "topics": [{"name": "orders", "partitions": 1}]},
    "application": {
        "id": "shop",
        "configs": {"group.protocol": "streams"},
        "subtopologies": [{"sources": ["orders"]}],
    },
    "clients": [{"name": name, "process_id": name, "starts": False} for name in (FIRST, FIFTH)],
    "events": [{"at": EVENT_AT_MS, "join": {"clients": [FIRST, FIFTH]}}],
    "assignors": [ASSIGNOR],
    "duration": LONG_MS,
}


@pytest.mark.parametrize(("members", "has_it"), [({"a": FIRST, "b": FIFTH}, FIRST), ({"a": FIFTH, "b": FIRST}, FIFTH)])
def test_a_prediction_that_is_told_the_members_breaks_ties_by_them(members: dict[str, str], has_it: str) -> None:
    trace, _ = simulate_document(with_members(DOCUMENT, ASSIGNOR, members), ASSIGNOR, "a test")
    assert forecast(trace, EVENT_AT_MS, LONG_MS).shares.active == {has_it: frozenset({"0_0"})}
