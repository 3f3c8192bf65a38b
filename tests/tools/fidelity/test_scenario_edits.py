"""Member ids that become known only after an event decide ties in the prediction."""

from __future__ import annotations

import pytest

from tools.fidelity.prediction import predict_period, simulate_document
from tools.fidelity.scenario_edits import EVENT_AT_MS, STEP_DURATION_MS, with_members

ASSIGNOR = "streams_group_sticky@4.3"
"""Without offsets, 4.4 breaks this tie by another order of its map."""
FIRST = "00000000-0000-0000-0000-000000000001"
FIFTH = "00000000-0000-0000-0000-000000000005"
"""Falls into the same bin as FIRST in Kafka's map of processes."""

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
    "duration": STEP_DURATION_MS,
}


@pytest.mark.parametrize(("members", "has_it"), [({"a": FIRST, "b": FIFTH}, FIRST), ({"a": FIFTH, "b": FIRST}, FIFTH)])
def test_member_ids_break_ties_in_a_prediction(members: dict[str, str], has_it: str) -> None:
    trace, _ = simulate_document(with_members(DOCUMENT, ASSIGNOR, members), ASSIGNOR, "a test")
    assert predict_period(trace, EVENT_AT_MS, STEP_DURATION_MS).tasks.active == {has_it: frozenset({"0_0"})}
