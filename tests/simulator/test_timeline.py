"""Disturbances break down into changes that know nothing of assignors."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.model.configs import AssignmentConfigs
from simulator.timeline import timeline
from simulator.world.changes import ClientDown, ClientUp
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    ConfigChange,
    Crash,
    Disturbance,
    Join,
    Leave,
    RackOutage,
    ReplicaMove,
    RollingBounce,
    TrafficChange,
)
from simulator.world.world import GroupProtocol, World
from tests.simulator.world_builders import HOUR, MINUTE, with_group, with_late, world


def told(*disturbances: Disturbance, base: World | None = None) -> list[tuple[int, str]]:
    disturbed = dataclasses.replace(base or world(), disturbances=disturbances)
    return [(timed.at_ms, str(timed.change)) for timed in timeline(disturbed)]


def downs(base: World, *disturbances: Disturbance) -> list[ClientDown]:
    changes = [timed.change for timed in timeline(dataclasses.replace(base, disturbances=disturbances))]
    return [change for change in changes if isinstance(change, ClientDown)]


def test_a_crash_without_return_is_one_change() -> None:
    assert told(Crash(HOUR, ("c1",), None, keeps_state=False)) == [(HOUR, "c1 goes down, its state is lost")]


def test_clients_that_crash_come_back_together() -> None:
    assert told(Crash(HOUR, ("c1", "c2"), MINUTE)) == [
        (HOUR, "c1 goes down"),
        (HOUR, "c2 goes down"),
        (HOUR + MINUTE, "c1 starts"),
        (HOUR + MINUTE, "c2 starts"),
    ]


def test_clients_join_at_once_or_one_by_one() -> None:
    late = with_late(world(), "d", "e")
    assert told(Join(HOUR, ("d", "e")), base=late) == [(HOUR, "d starts"), (HOUR, "e starts")]
    assert told(Join(HOUR, ("d", "e"), MINUTE), base=late) == [(HOUR, "d starts"), (HOUR + MINUTE, "e starts")]


def test_clients_close_at_once_or_one_by_one() -> None:
    assert told(Leave(HOUR, ("c0", "c1"))) == [
        (HOUR, "c0 closes without LeaveGroup"),
        (HOUR, "c1 closes without LeaveGroup"),
    ]
    assert told(Leave(HOUR, ("c1", "c0"), MINUTE, leaves_group=True)) == [
        (HOUR, "c1 leaves"),
        (HOUR + MINUTE, "c0 leaves"),
    ]


def test_a_rolling_bounce_takes_one_client_after_the_other() -> None:
    bounce = RollingBounce(HOUR, ("c0", "c1"), down_ms=MINUTE, pause_ms=2 * MINUTE, keeps_state=False)
    assert told(bounce) == [
        (HOUR, "c0 closes without LeaveGroup, its state is lost"),
        (HOUR + MINUTE, "c0 starts"),
        (HOUR + 3 * MINUTE, "c1 closes without LeaveGroup, its state is lost"),
        (HOUR + 4 * MINUTE, "c1 starts"),
    ]


def test_a_client_that_crashes_goes_down() -> None:
    base = with_group(world(), protocol=GroupProtocol.STREAMS, leave_group_on_close=True)
    assert not any(down.leaves_group for down in downs(base, Crash(HOUR, ("c0",), MINUTE), RackOutage(2 * HOUR, "az1")))


def test_a_rollout_brings_new_configs_with_each_start() -> None:
    configs = AssignmentConfigs(num_standby_replicas=1)
    rollout = RollingBounce(HOUR, ("c0", "c1"), MINUTE, MINUTE, configs=configs, announces_rack=False)
    changes = [timed.change for timed in timeline(dataclasses.replace(world(), disturbances=(rollout,)))]
    ups = [change for change in changes if isinstance(change, ClientUp)]
    assert ups == [ClientUp("c0", configs, False), ClientUp("c1", configs, False)]
    assert str(ups[0]) == "c0 starts with new configs"


def test_a_rack_outage_takes_its_brokers_and_its_clients() -> None:
    assert told(RackOutage(HOUR, "az1", MINUTE)) == [
        (HOUR, "brokers 0, 3 go down"),
        (HOUR, "c0 goes down"),
        (HOUR, "c3 goes down"),
        (HOUR + MINUTE, "brokers 0, 3 are back"),
        (HOUR + MINUTE, "c0 starts"),
        (HOUR + MINUTE, "c3 starts"),
    ]


def test_a_rack_outage_may_last() -> None:
    assert [at_ms for at_ms, _ in told(RackOutage(HOUR, "az2"))] == [HOUR, HOUR]


def test_brokers_are_lost_together_and_bounce_one_by_one() -> None:
    assert told(BrokerLoss(HOUR, (1, 2), MINUTE)) == [
        (HOUR, "brokers 1, 2 go down"),
        (HOUR + MINUTE, "brokers 1, 2 are back"),
    ]
    assert told(BrokerBounce(HOUR, (2, 1), MINUTE, 2 * MINUTE)) == [
        (HOUR, "brokers 2 go down"),
        (HOUR + MINUTE, "brokers 2 are back"),
        (HOUR + 3 * MINUTE, "brokers 1 go down"),
        (HOUR + 4 * MINUTE, "brokers 1 are back"),
    ]


def test_what_concerns_nobody_in_particular_is_one_change() -> None:
    changed = (ReplicaMove(1, "views", 0, (1, 2)), ConfigChange(2, AssignmentConfigs()), TrafficChange(3, 2.5))
    assert told(*changed) == [
        (1, "views-0 moves to brokers 1, 2"),
        (2, "assignment configs change"),
        (3, "traffic is 2.5 times the usual"),
    ]


def test_disturbances_come_in_the_order_of_time_and_of_the_scenario() -> None:
    changes = told(Crash(2 * HOUR, ("c1",)), Crash(HOUR, ("c2",)), Crash(HOUR, ("c0",)))
    assert changes == [(HOUR, "c2 goes down"), (HOUR, "c0 goes down"), (2 * HOUR, "c1 goes down")]


@pytest.mark.parametrize(
    "disturbance",
    [RackOutage(HOUR, "az1", MINUTE), Crash(HOUR, ("late",), MINUTE), RollingBounce(HOUR, ("late",), MINUTE, MINUTE)],
)
def test_a_client_that_was_not_there_does_not_come_back(disturbance: Disturbance) -> None:
    assert all("late" not in what for _, what in told(disturbance, base=with_late(world(), "late")))


def test_a_client_that_left_does_not_come_back() -> None:
    changes = told(Crash(HOUR, ("c1",), 2 * MINUTE), Leave(HOUR + MINUTE, ("c1",)), Crash(2 * HOUR, ("c1",), MINUTE))
    assert changes == [(HOUR, "c1 goes down")]


def test_a_client_that_two_things_keep_down_comes_back_from_the_last() -> None:
    changes = told(Crash(HOUR, ("c1",), HOUR), Crash(HOUR + MINUTE, ("c1",), MINUTE))
    assert changes == [(HOUR, "c1 goes down"), (2 * HOUR, "c1 starts")]


def test_a_client_that_joins_is_there_whatever_kept_it_down() -> None:
    changes = told(Crash(HOUR, ("c1",), HOUR), Join(HOUR + MINUTE, ("c1", "c2")))
    assert changes == [(HOUR, "c1 goes down"), (HOUR + MINUTE, "c1 starts")]
