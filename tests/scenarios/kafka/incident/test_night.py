"""A recorded night as an observation and its history."""

from __future__ import annotations

import pytest

from scenarios.kafka.dumps.files import Dumps
from scenarios.kafka.incident.night import NightOptions, observe_night, session_timeout_ms
from scenarios.kafka.incident.recorded import RecordedGroup
from scenarios.kafka.observation.observation import MembershipChange, ObservationError
from tests.scenarios.kafka.incident.test_causes import ONE, TWO, group, member, rebalance

SESSION_MS = 45_000


def changes(recorded: RecordedGroup) -> list[MembershipChange]:
    return list(observe_night(recorded, Dumps(), NightOptions()).history.changes)


def test_member_that_disappears_long_after_a_rebalance_timed_out() -> None:
    stays = member("s", TWO, "other", active=("0_0",))
    recorded = group(rebalance(1, stays, member("a")), rebalance(3, stays))
    assert changes(recorded) == [MembershipChange(120_000 - SESSION_MS, "leave", (ONE,))]


def test_member_that_disappears_soon_after_a_rebalance_left() -> None:
    stays = member("s", TWO, "other", active=("0_0",))
    recorded = group(rebalance(1, stays, member("a")), rebalance(1, stays, at_ms=70_000))
    assert changes(recorded) == [MembershipChange(10_000, "leave", (ONE,), leaves_group=True)]


def test_logged_leave_is_no_timeout() -> None:
    stays = member("s", TWO, "other", active=("0_0",))
    last = rebalance(3, stays, stated_causes=("app: left: the consumer is being closed",))
    assert changes(group(rebalance(1, stays, member("a")), last)) == [
        MembershipChange(120_000, "leave", (ONE,), leaves_group=True)
    ]


def test_restart_within_the_session_is_a_crash() -> None:
    recorded = group(rebalance(1, member("a", active=("0_0",))), rebalance(3, member("b", active=("0_0",))))
    assert changes(recorded) == [MembershipChange(75_000, "crash", (ONE,), down_ms=22_500)]


def test_new_process_id_is_another_client_that_joins() -> None:
    recorded = group(rebalance(1, member("a", active=("0_0",))), rebalance(3, member("b", TWO, active=("0_0",))))
    assert [(change.kind, change.process_ids) for change in changes(recorded)] == [("leave", (ONE,)), ("join", (TWO,))]


def test_session_timeout_is_stated_or_reported_or_that_of_kafka() -> None:
    reported = group(rebalance(1, member("a", session_timeout_ms=6_000)))
    assert session_timeout_ms(reported, {}) == 6_000
    assert session_timeout_ms(reported, {"session.timeout.ms": "9000"}) == 9_000
    assert session_timeout_ms(group(rebalance(1, member("a"))), {}) == SESSION_MS
    with pytest.raises(ObservationError, match=r"^session\.timeout\.ms: "):
        session_timeout_ms(reported, {"session.timeout.ms": "soon"})


def test_night_without_members_is_rejected() -> None:
    with pytest.raises(ObservationError, match="no recorded rebalance with members"):
        observe_night(group(rebalance(1)), Dumps(), NightOptions())
