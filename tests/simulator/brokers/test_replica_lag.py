"""Replicas that lag: when they leave and join the ISR, and how long they catch up while traffic changes by the hour."""

from __future__ import annotations

import dataclasses

import pytest

from simulator.brokers.safe_restarts import UnsafeRestart, unsafe_restarts
from simulator.world.disturbances import (
    BrokerBounce,
    LeaderElection,
    Reassignment,
    ReassignmentTarget,
    TrafficChange,
)
from tests.simulator.brokers.lagging_world import NAME, SECOND, clicks, isr_changes

HOUR_S = 3_600
MB = 1_000_000


@pytest.mark.parametrize("seed", range(1, 6))
def test_follower_leaves_and_joins_as_in_a_real_cluster(seed: int) -> None:
    """Brokers of Kafka 4.4.0 behaved like this.

    1.5 MB/s were produced for 40 s with acks=1 to a partition whose follower fetched through a proxy with 0.5 MB/s,
    `replica.lag.time.max.ms` was 10 s: the follower left the ISR after 12.3 s and joined it again after 135 s.
    """
    built = clicks(TrafficChange(40 * SECOND, 0.0), duration_s=300)
    [left, joined] = isr_changes(dataclasses.replace(built, seed=seed))
    assert left[1] == (0,)
    assert 10 < left[0] <= 15, "the leader checks every 5 s"
    assert joined == (pytest.approx(120, abs=0.01), (0, 1))


def test_times_of_leaving_depend_on_the_seed() -> None:
    built = clicks(duration_s=60)
    assert len({isr_changes(dataclasses.replace(built, seed=seed))[0][0] for seed in range(1, 6)}) > 1


def test_isr_keeps_its_minimum() -> None:
    """Below `min.insync.replicas`, 4.4.0 removed the follower at each check and added it again within 2 s."""
    assert isr_changes(clicks(duration_s=300, min_in_sync=2)) == []
    slow_last = clicks(duration_s=300, min_in_sync=2, replicas=(0, 1, 2), replication=(2 * MB, 500_000, 400_000))
    [left] = isr_changes(slow_last)
    assert left[1] == (0, 1), "the follower that lacks most leaves"


def test_producers_of_the_application_wait_for_followers() -> None:
    """With acks=all, 4.4.0 acknowledged what the follower fetched, and the ISR did not change."""
    assert isr_changes(clicks(duration_s=300, is_written=True)) == []


def test_follower_that_keeps_up_stays() -> None:
    assert isr_changes(clicks(duration_s=300, rate=500_000)) == []


def test_replica_that_lags_keeps_lagging_when_the_order_changes() -> None:
    """Broker 1 leaves 10 to 15 s after it began to lag, although its partition is reassigned in between."""
    reorder = Reassignment(8 * SECOND, (ReassignmentTarget(NAME, (0, 1)),), election=LeaderElection.NEVER)
    [left] = isr_changes(clicks(reorder, duration_s=60))
    assert 10 < left[0] <= 15


def test_lagging_follower_that_leads_makes_the_others_in_sync() -> None:
    """What it lacked is lost, so the old leader misses only what is produced after that."""
    built = clicks(
        TrafficChange(8 * SECOND, 0.2), BrokerBounce(9 * SECOND, (0,), 10 * SECOND, 0), duration_s=60, lag_s=30
    )
    # 0.3 MB/s for 10 s are 3 MB; 0.5 - 0.3 MB/s are left to catch up.
    assert isr_changes(built) == [(9, (1,)), (pytest.approx(34, abs=0.01), (0, 1))]


@pytest.mark.parametrize(
    ("down_s", "hourly"),
    [
        (3_000, (1_000_003, 3_000_017, 200_003)),
        (1_800, (900_007, 2_999_999, 1_100_009)),
        (7_000, (100_003, 500_009, 3_999_971)),
        (100, (3_999_971, 3_900_017, 1)),
    ],
)
@pytest.mark.parametrize("at_s", [600, 3_000, 3_599])
def test_broker_catches_up_at_the_rates_of_each_hour(down_s: int, hourly: tuple[int, ...], at_s: int) -> None:
    """The time equals that of adding up bytes second by second."""
    rates, limit, end_s = hourly * 8, 4 * MB, 23 * HOUR_S
    changes = [TrafficChange(hour * HOUR_S * SECOND, 1.0, hour) for hour in range(23)]
    built = clicks(
        *changes,
        BrokerBounce(at_s * SECOND, (1,), down_s * SECOND, 0),
        duration_s=end_s,
        replication=(limit, limit),
        hourly=rates,
        lag_s=30,
    )
    missing, now_s = 0.0, at_s
    while now_s < at_s + down_s or missing > 0:
        produced = rates[now_s // HOUR_S]
        missing += produced - (limit if now_s >= at_s + down_s else 0)
        now_s += 1
        assert now_s < end_s
    [left, joined] = isr_changes(built)
    assert left == (at_s, (0,))
    assert joined[1] == (0, 1)
    assert now_s - 1 <= joined[0] <= now_s


def test_follower_lags_in_the_busy_hours_only() -> None:
    """It leaves in the first minute of a busy hour, and catches up in the quiet ones, second by second."""
    rates, limit = (400_000, 600_000, 100_000, 700_000) * 6, 500_000
    changes = [TrafficChange(hour * HOUR_S * SECOND, 1.0, hour) for hour in range(8)]
    built = clicks(*changes, duration_s=8 * HOUR_S, hourly=rates, replication=(limit, limit), lag_s=30)
    expected, missing = [], 0.0
    for now_s in range(8 * HOUR_S):
        before, missing = missing, max(0.0, missing + rates[now_s // HOUR_S] - limit)
        if (before > 0) != (missing > 0):
            expected.append((now_s + 30, (0,)) if missing else (now_s + 1, (0, 1)))
    changed = isr_changes(built)
    assert [isr for _, isr in changed] == [isr for _, isr in expected]
    for (at_s, isr), (expected_s, _) in zip(changed, expected, strict=True):
        assert expected_s - 1 <= at_s <= expected_s + (0 if isr == (0, 1) else 15)


@pytest.mark.parametrize(
    ("factors", "pause_s"),
    [
        # At 1 MB/s, a broker misses 60 MB in a minute, and catches up at 10 - 1 MB/s in 6.7 s.
        ({}, 7),
        ({600: 3}, 7),
        # At 3 MB/s, it misses 180 MB, and catches up at 10 - 3 MB/s in 25.7 s.
        ({30: 3}, 26),
        # The first broker catches up for 5 s at 10 - 1 MB/s and for 2.1 s at 10 - 3 MB/s; the second one takes 25.7 s.
        ({125: 3}, 26),
        # From 128 s on, the second one misses 64 MB, and catches up at 10 - 1 MB/s in 7.1 s.
        ({125: 3, 130: 1}, 8),
    ],
)
def test_a_pause_is_judged_by_the_traffic_of_each_restart(factors: dict[int, int], pause_s: int) -> None:
    """Brokers 0, 1 and 2 restart from 60 s on, each within a minute; 0 and 1 have the replicas."""
    built = clicks(duration_s=60, rate=MB, replication=(10 * MB,) * 3)
    changes = [TrafficChange(at_s * SECOND, factor) for at_s, factor in factors.items()]

    def named_s(given_s: int) -> list[float | None]:
        bounces = [BrokerBounce(60 * SECOND, (0, 1, 2), 60 * SECOND, given_s * SECOND)]
        unsafe = unsafe_restarts(built, bounces, lambda: iter(changes))
        return [restart.safe_ms and restart.safe_ms / SECOND for restart in unsafe]

    assert named_s(0) == named_s(pause_s - 1) == [pause_s]
    assert named_s(pause_s) == []


def test_restarts_of_several_events_are_judged_together() -> None:
    """Broker 0 is in sync again at 126.7 s; then broker 1, which stops at 127 s, at 193.7 s."""
    built = clicks(duration_s=60, rate=MB, replication=(10 * MB,) * 3)

    def restarts(*at_s: int) -> list[UnsafeRestart]:
        bounces = [BrokerBounce(at * SECOND, (broker,), 60 * SECOND, 0) for broker, at in enumerate(at_s)]
        return unsafe_restarts(built, bounces, lambda: iter(()))

    assert restarts(60, 127, 194) == []
    assert restarts(60, 126, 194) == [UnsafeRestart(number=1, place=0, before=0, safe_ms=127 * SECOND)]
    assert restarts(60, 70, 80) == [
        UnsafeRestart(number=1, place=0, before=0, safe_ms=127 * SECOND),
        UnsafeRestart(number=2, place=0, before=1, safe_ms=194 * SECOND),
    ]


def test_replica_that_lags_before_the_first_restart_makes_the_next_one_unsafe() -> None:
    """For 2 s, twice as much is produced as replicated; what is missing then takes another 2 s after the restart."""
    built = clicks(duration_s=60, rate=600_000, replication=(300_000,) * 3)
    bounces = [BrokerBounce(2 * SECOND, (1,), SECOND, 0), BrokerBounce(4 * SECOND, (0,), SECOND, 0)]
    [unsafe] = unsafe_restarts(built, bounces, lambda: iter((TrafficChange(2 * SECOND, 0.0),)))
    assert (unsafe.number, unsafe.before) == (1, 1)
    assert unsafe.safe_ms == pytest.approx(5 * SECOND, abs=SECOND)
    later = [bounces[0], dataclasses.replace(bounces[1], at_ms=unsafe.safe_ms)]
    assert unsafe_restarts(built, later, lambda: iter((TrafficChange(2 * SECOND, 0.0),))) == []
