"""What a group sees of clients that take time to close, or are killed while they close."""

from __future__ import annotations

import dataclasses

import pytest

from simulator.world.disturbances import Join, Leave, RollingBounce
from simulator.world.pod_events import Closing, DeploymentUpdate, StatefulSetUpdate, Volume
from simulator.world.world import World
from tests.simulator.small_world_runs import SECOND, members, round_times, run, with_streams_protocol
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_group, with_late_clients, world

LEAVING = Closing(leaves_group=True)
SESSION_15_S = with_group(world(), session_timeout_ms=15 * SECOND)


def test_default_close_costs_a_session_timeout() -> None:
    """Observed on Kafka 4.3.1 with a session of 15 s: the next rebalance ends 18 s after the close."""
    for event in (Leave(HOUR, ("c1",)), RollingBounce(HOUR, ("c1",), 5 * MINUTE, 0)):
        second = run(SESSION_15_S, event).rounds[1]
        assert HOUR + 12 * SECOND <= second.requested_at_ms <= HOUR + 15 * SECOND
        assert HOUR + 15 * SECOND <= second.at_ms <= HOUR + 18 * SECOND


@pytest.mark.parametrize("is_static", [True, False])
def test_leave_group_takes_effect_within_a_heartbeat_even_for_static_members(is_static: bool) -> None:
    """Observed on Kafka 4.3.1: 2 s."""
    for event in (Leave(HOUR, ("c1",), closing=LEAVING), RollingBounce(HOUR, ("c1",), 5 * MINUTE, 0, closing=LEAVING)):
        second = run(with_clients(world(), is_static=is_static), event).rounds[1]
        assert second.requested_at_ms == HOUR
        assert second.at_ms <= HOUR + 3 * SECOND


def test_stateless_scale_in_without_and_with_leave_group() -> None:
    """Published for real applications: more than 45 s, and about 0.1 s (apache/kafka#23492)."""
    stateless = dataclasses.replace(
        world(),
        application=dataclasses.replace(world().application, subtopologies=world().application.subtopologies[:1]),
    )
    waits = []
    for closing in (Closing(), LEAVING):
        trace = run(with_group(stateless, heartbeat_interval_ms=100), Leave(HOUR, ("c1",), closing=closing))
        waits.append(trace.rounds[1].at_ms - HOUR)
    assert 44.9 * SECOND <= waits[0] <= 46 * SECOND
    assert waits[1] <= 200


@pytest.mark.parametrize("base", [world(), with_streams_protocol(world())])
def test_members_leave_when_they_have_closed(base: World) -> None:
    slow = Closing(leaves_group=True, close_ms=20 * SECOND, pre_stop_ms=7 * SECOND)
    trace = run(base, Leave(HOUR, ("c1",), closing=slow))
    second = trace.rounds[1]
    assert second.requested_at_ms >= HOUR + 27 * SECOND
    assert second.at_ms <= HOUR + 33 * SECOND
    assert members(trace)[1] == [0, 2, 3]


def test_tasks_run_until_the_client_begins_to_close() -> None:
    """The hook costs no downtime, closing does."""

    def downtime_ms(closing: Closing) -> int:
        return int(run(world(), Leave(HOUR, ("c1",), closing=closing)).downtime_ms.max())

    # State that grows in the meantime has to be restored.
    at_once = downtime_ms(LEAVING)
    assert downtime_ms(dataclasses.replace(LEAVING, pre_stop_ms=9 * SECOND)) == pytest.approx(at_once, abs=200)
    after_closing = downtime_ms(dataclasses.replace(LEAVING, close_ms=9 * SECOND))
    assert after_closing == pytest.approx(at_once + 9 * SECOND, abs=200)


def test_killed_client_does_not_leave_and_its_session_starts_with_the_kill() -> None:
    killed = Closing(leaves_group=True, close_ms=MINUTE, grace_ms=30 * SECOND)
    trace = run(world(), Leave(HOUR, ("c1",), closing=killed))
    assert trace.rounds[1].reason == "c1: session timed out"
    assert HOUR + (30 + 42) * SECOND <= trace.rounds[1].requested_at_ms <= HOUR + (30 + 45) * SECOND


def test_stateful_set_of_static_members_within_their_session_causes_no_rebalance() -> None:
    base = with_clients(world(), is_static=True)
    closing = Closing(close_ms=5 * SECOND, pre_stop_ms=5 * SECOND, grace_ms=30 * SECOND)
    update = StatefulSetUpdate(
        HOUR, ("c0", "c1", "c2", "c3"), closing, Volume.ZONAL, start_ms=10 * SECOND, ready_ms=20 * SECOND
    )
    assert round_times(run(base, update)) == round_times(run(base))
    slow = dataclasses.replace(update, start_ms=50 * SECOND)
    assert len(run(base, slow).rounds) >= 5


def test_new_pods_of_a_deployment_have_new_process_ids_and_empty_disks() -> None:
    base = with_late_clients(world(), "n0", "n1", "n2", "n3")
    update = DeploymentUpdate(
        HOUR,
        ("c0", "c1", "c2", "c3"),
        LEAVING,
        successors=("n0", "n1", "n2", "n3"),
        start_ms=10 * SECOND,
        ready_ms=MINUTE,
        max_surge=1,
        max_unavailable=0,
    )
    trace = run(base, update)
    assert members(trace)[0] == [0, 1, 2, 3]
    assert members(trace)[-1] == [4, 5, 6, 7]
    assert trace.final_totals.restored_bytes >= 6 * 600_000_000
    again = dataclasses.replace(update, at_ms=4 * HOUR, clients=update.successors, successors=update.clients)
    back = run(base, update, again)
    assert members(back)[-1] == [0, 1, 2, 3]
    assert back.final_totals.restored_bytes >= 2 * 6 * 600_000_000, "their old disks are gone"


def test_client_cannot_be_started_while_it_closes_but_right_after() -> None:
    slow = Closing(leaves_group=True, close_ms=20 * SECOND)
    trace = run(world(), Leave(HOUR, ("c1",), closing=slow), Join(HOUR + 20 * SECOND, ("c1",)))
    assert members(trace)[-1] == [0, 1, 2, 3]
