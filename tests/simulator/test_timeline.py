"""The elementary changes of disturbances."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.model.configs import AssignmentConfigs
from simulator.timeline import timeline
from simulator.world.changes import BrokersDown, BrokersUp, ClientDown, ClientUp, Disk, Disturbance, ReplicationStep
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    ConfigChange,
    Crash,
    Join,
    Leave,
    RackOutage,
    ReplicaMove,
    RollingBounce,
    TrafficChange,
)
from simulator.world.group_configs import GroupProtocol
from simulator.world.pod_events import Closing
from simulator.world.world import World
from tests.simulator.world_builders import HOUR, MINUTE, with_group, with_late_clients, world


def descriptions(*disturbances: Disturbance, base: World | None = None) -> list[tuple[int, str]]:
    """Return the changes without the steps of replication that follow from them."""
    disturbed = dataclasses.replace(base or world(), disturbances=disturbances)
    changes = [timed for timed in timeline(disturbed) if not isinstance(timed.change, ReplicationStep)]
    return [(timed.at_ms, str(timed.change)) for timed in changes]


def client_stops(base: World, *disturbances: Disturbance) -> list[ClientDown]:
    changes = [timed.change for timed in timeline(dataclasses.replace(base, disturbances=disturbances))]
    return [change for change in changes if isinstance(change, ClientDown)]


def test_crash_without_return_is_one_change() -> None:
    assert descriptions(Crash(HOUR, ("c1",), None, disk=Disk.LOST)) == [(HOUR, "c1 goes down, its state is lost")]


def test_crashed_clients_restart_together() -> None:
    assert descriptions(Crash(HOUR, ("c1", "c2"), MINUTE, disk=Disk.KEPT)) == [
        (HOUR, "c1 goes down"),
        (HOUR, "c2 goes down"),
        (HOUR + MINUTE, "c1 starts"),
        (HOUR + MINUTE, "c2 starts"),
    ]


def test_clients_join_together_or_staggered() -> None:
    late = with_late_clients(world(), "d", "e")
    assert descriptions(Join(HOUR, ("d", "e")), base=late) == [(HOUR, "d starts"), (HOUR, "e starts")]
    assert descriptions(Join(HOUR, ("d", "e"), MINUTE), base=late) == [(HOUR, "d starts"), (HOUR + MINUTE, "e starts")]


def test_clients_close_together_or_staggered() -> None:
    assert descriptions(Leave(HOUR, ("c0", "c1"))) == [
        (HOUR, "c0 closes without LeaveGroup"),
        (HOUR, "c1 closes without LeaveGroup"),
    ]
    assert descriptions(Leave(HOUR, ("c1", "c0"), MINUTE, closing=Closing(leaves_group=True))) == [
        (HOUR, "c1 leaves"),
        (HOUR + MINUTE, "c0 leaves"),
    ]


def test_rolling_bounce_restarts_clients_in_sequence() -> None:
    bounce = RollingBounce(HOUR, ("c0", "c1"), down_ms=MINUTE, pause_ms=2 * MINUTE, disk=Disk.LOST)
    assert descriptions(bounce) == [
        (HOUR, "c0 closes without LeaveGroup, its state is lost"),
        (HOUR + MINUTE, "c0 starts"),
        (HOUR + 3 * MINUTE, "c1 closes without LeaveGroup, its state is lost"),
        (HOUR + 4 * MINUTE, "c1 starts"),
    ]


def test_crashed_clients_never_leave_the_group() -> None:
    base = with_group(world(), protocol=GroupProtocol.STREAMS, leave_group_on_close=True)
    assert not any(
        down.leaves_group
        for down in client_stops(
            base, Crash(HOUR, ("c0",), MINUTE, disk=Disk.KEPT), RackOutage(2 * HOUR, "az1", disk=Disk.KEPT)
        )
    )


def test_rollout_sets_configs_at_each_start() -> None:
    configs = AssignmentConfigs(num_standby_replicas=1)
    rollout = RollingBounce(HOUR, ("c0", "c1"), MINUTE, MINUTE, configs=configs, announces_rack=False)
    changes = [timed.change for timed in timeline(dataclasses.replace(world(), disturbances=(rollout,)))]
    client_starts = [change for change in changes if isinstance(change, ClientUp)]
    assert client_starts == [ClientUp("c0", configs, False), ClientUp("c1", configs, False)]
    assert str(client_starts[0]) == "c0 starts with new configs"


def test_rack_outage_stops_brokers_and_clients() -> None:
    assert descriptions(RackOutage(HOUR, "az1", MINUTE, disk=Disk.KEPT)) == [
        (HOUR, "brokers 0, 3 go down"),
        (HOUR, "c0 goes down"),
        (HOUR, "c3 goes down"),
        (HOUR + MINUTE, "brokers 0, 3 are back"),
        (HOUR + MINUTE, "c0 starts"),
        (HOUR + MINUTE, "c3 starts"),
    ]


def test_rack_outage_without_end() -> None:
    assert [at_ms for at_ms, _ in descriptions(RackOutage(HOUR, "az2", disk=Disk.KEPT))] == [HOUR, HOUR]


def test_brokers_are_lost_together_and_bounce_in_sequence() -> None:
    assert descriptions(BrokerLoss(HOUR, (1, 2), MINUTE)) == [
        (HOUR, "brokers 1, 2 go down"),
        (HOUR + MINUTE, "brokers 1, 2 are back"),
    ]
    assert descriptions(BrokerBounce(HOUR, (2, 1), MINUTE, 2 * MINUTE)) == [
        (HOUR, "brokers 2 go down"),
        (HOUR + MINUTE, "brokers 2 are back"),
        (HOUR + 3 * MINUTE, "brokers 1 go down"),
        (HOUR + 4 * MINUTE, "brokers 1 are back"),
    ]


@pytest.mark.parametrize(
    ("outages", "returns"),
    [
        ((BrokerLoss(10 * MINUTE, (1,)), BrokerBounce(20 * MINUTE, (0, 1, 2), MINUTE, MINUTE)), []),
        ((RackOutage(10 * MINUTE, "az2", HOUR), BrokerBounce(12 * MINUTE, (1,), MINUTE, 0)), [70 * MINUTE]),
        ((RackOutage(10 * MINUTE, "az2", 40 * MINUTE), BrokerLoss(15 * MINUTE, (1,), MINUTE)), [50 * MINUTE]),
        ((BrokerLoss(10 * MINUTE, (1,), MINUTE), BrokerLoss(11 * MINUTE, (1,), MINUTE)), [12 * MINUTE]),
        ((BrokerLoss(10 * MINUTE, (1,), MINUTE), BrokerLoss(12 * MINUTE, (1,), MINUTE)), [11 * MINUTE, 13 * MINUTE]),
    ],
)
def test_broker_is_up_when_no_outage_lasts_any_more(outages: tuple[Disturbance, ...], returns: list[int]) -> None:
    base = dataclasses.replace(world(), disturbances=outages)
    changes = [(timed.at_ms, timed.change) for timed in timeline(base)]
    ups = [at_ms for at_ms, change in changes if isinstance(change, BrokersUp) and 1 in change.brokers]
    downs = [at_ms for at_ms, change in changes if isinstance(change, BrokersDown) and 1 in change.brokers]
    assert ups == returns
    assert len(downs) == max(1, len(returns))


def test_moves_configs_and_traffic_are_single_changes() -> None:
    changed = (ReplicaMove(1, "views", 0, (1, 2)), ConfigChange(2, AssignmentConfigs()), TrafficChange(3, 2.5))
    assert descriptions(*changed) == [
        (1, "views-0 moves to brokers 1, 2"),
        (2, "assignment configs change"),
        (3, "traffic is 2.5 times the usual"),
    ]


def test_changes_are_ordered_by_time_and_scenario_order() -> None:
    changes = descriptions(
        Crash(2 * HOUR, ("c1",), disk=Disk.KEPT),
        Crash(HOUR, ("c2",), disk=Disk.KEPT),
        Crash(HOUR, ("c0",), disk=Disk.KEPT),
    )
    assert changes == [(HOUR, "c2 goes down"), (HOUR, "c0 goes down"), (2 * HOUR, "c1 goes down")]


@pytest.mark.parametrize(
    "disturbance",
    [
        RackOutage(HOUR, "az1", MINUTE, disk=Disk.KEPT),
        Crash(HOUR, ("late",), MINUTE, disk=Disk.KEPT),
        RollingBounce(HOUR, ("late",), MINUTE, MINUTE),
    ],
)
def test_absent_client_is_not_restarted_by_an_outage(disturbance: Disturbance) -> None:
    assert all(
        "late" not in description
        for _, description in descriptions(disturbance, base=with_late_clients(world(), "late"))
    )


def test_client_that_left_is_not_restarted_by_an_earlier_crash() -> None:
    changes = descriptions(
        Crash(HOUR, ("c1",), 2 * MINUTE, disk=Disk.KEPT),
        Leave(HOUR + MINUTE, ("c1",)),
        Crash(2 * HOUR, ("c1",), MINUTE, disk=Disk.KEPT),
    )
    assert changes == [(HOUR, "c1 goes down")]


def test_client_with_overlapping_crashes_returns_after_the_last() -> None:
    changes = descriptions(
        Crash(HOUR, ("c1",), HOUR, disk=Disk.KEPT), Crash(HOUR + MINUTE, ("c1",), MINUTE, disk=Disk.KEPT)
    )
    assert changes == [(HOUR, "c1 goes down"), (2 * HOUR, "c1 starts")]


def test_join_starts_a_client_that_is_down() -> None:
    changes = descriptions(Crash(HOUR, ("c1",), HOUR, disk=Disk.KEPT), Join(HOUR + MINUTE, ("c1", "c2")))
    assert changes == [(HOUR, "c1 goes down"), (HOUR + MINUTE, "c1 starts")]
