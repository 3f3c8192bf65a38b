"""What an import does not know: member ids, which decide ties, and what was on disk when stores were opened."""

from __future__ import annotations

import pytest

from tests.fidelity.prediction import predict_period, simulate_document
from tests.fidelity.scenario_edits import EVENT_AT_MS, STEP_DURATION_MS, with_members, with_opened_stores

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


def test_only_assigned_tasks_get_what_was_on_disk_when_they_were_opened() -> None:
    tasks = {"active": [["0_0"], ["0_1"]], "standby": ["0_2"], "lags": {"0_2": 30, "0_3": 0}}
    document = {"clients": [{"process_id": FIRST, "tasks": tasks}, {"process_id": FIFTH, "starts": False}]}
    edited = with_opened_stores(document, {FIRST: {"0_0": 5, "0_2": 20, "0_3": 0}, FIFTH: {"0_1": 1}})
    assert edited["clients"] == [
        {"process_id": FIRST, "tasks": {**tasks, "lags_when_opened": {"0_0": 5, "0_2": 30}}},
        {"process_id": FIFTH, "starts": False},
    ]
