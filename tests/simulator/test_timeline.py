"""Disturbances break down into changes that know nothing of assignors."""

from __future__ import annotations

import dataclasses

from simulator.disturbances import Crash, Disturbance, RackOutage, RollingBounce
from simulator.timeline import timeline
from tests.simulator.worlds import HOUR, MINUTE, world


def told(*disturbances: Disturbance, num_clients: int = 4) -> list[tuple[int, str]]:
    base = dataclasses.replace(world(num_clients), disturbances=disturbances)
    return [(timed.at_ms, str(timed.change)) for timed in timeline(base)]


def test_a_crash_without_return_is_one_change() -> None:
    assert told(Crash(HOUR, ("c1",), None, keeps_state=False)) == [(HOUR, "c1 goes down, its state is lost")]


def test_a_rolling_bounce_takes_one_client_after_the_other() -> None:
    assert told(RollingBounce(HOUR, ("c0", "c1"), down_ms=MINUTE, pause_ms=2 * MINUTE)) == [
        (HOUR, "c0 goes down"),
        (HOUR + MINUTE, "c0 starts"),
        (HOUR + 3 * MINUTE, "c1 goes down"),
        (HOUR + 4 * MINUTE, "c1 starts"),
    ]


def test_a_rack_outage_takes_its_brokers_and_its_clients() -> None:
    assert told(RackOutage(HOUR, "az1", MINUTE)) == [
        (HOUR, "brokers 0, 3 go down"),
        (HOUR, "c0 goes down"),
        (HOUR, "c3 goes down"),
        (HOUR + MINUTE, "brokers 0, 3 are back"),
        (HOUR + MINUTE, "c0 starts"),
        (HOUR + MINUTE, "c3 starts"),
    ]


def test_disturbances_come_in_the_order_of_time() -> None:
    changes = told(Crash(2 * HOUR, ("c1",)), Crash(HOUR, ("c2",)))
    assert [at_ms for at_ms, _ in changes] == [HOUR, 2 * HOUR]
