"""Traffic over the day, and autoscaling with it."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.sampling.traffic_profile import TrafficProfile
from simulator.world.changes import Disturbance
from simulator.world.disturbances import Crash, Join, Leave, RollingBounce, TrafficChange
from tests.scenarios.scenario_texts import load_text, with_events

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = "[0.5, 0.5, 0.5, 0.5, 0.5, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0.5, 0.5]"
APP = tuple(f"app-{i}" for i in range(6))


def _disturbances(*entries: str, hourly: str | None = None, duration: str = "24h") -> tuple[Disturbance, ...]:
    text = with_events(*entries).replace("duration: 2h", f"duration: {duration}")
    text += "" if hourly is None else f"traffic: {{hourly: {hourly}}}\n"
    return load_text(text, ("clients[0].count", "6")).world(1).disturbances


def test_hourly_factors_change_traffic_every_day() -> None:
    day = 24 * HOUR
    first_day = [(0, 0.5), (5 * HOUR, 1), (9 * HOUR, 2), (17 * HOUR, 1), (22 * HOUR, 0.5)]
    two_days = [*first_day, (day + 5 * HOUR, 1), (day + 9 * HOUR, 2), (day + 17 * HOUR, 1)]
    assert _disturbances("{at: 1h, leave: {clients: app-0}}", hourly=DAY, duration="40h30m")[1:] == tuple(
        TrafficChange(at_ms, factor) for at_ms, factor in two_days if at_ms < 41 * HOUR
    )


def test_constant_hourly_factors_cause_no_changes() -> None:
    assert _disturbances("{at: 1h, leave: {clients: app-0}}", hourly=str([1] * 24))[1:] == ()


def test_traffic_event_multiplies_the_hourly_factor() -> None:
    disturbances = _disturbances(
        "{at: 16h30m, traffic: {factor: 2.5}}", "{at: 17h30m, traffic: {factor: 1}}", "{at: 5h, traffic: {factor: 1}}"
    )
    assert disturbances == (
        TrafficChange(33 * HOUR // 2, 2.5),
        TrafficChange(35 * HOUR // 2, 1),
        TrafficChange(5 * HOUR, 1),
    )
    disturbances = _disturbances(
        "{at: 16h30m, traffic: {factor: 2.5}}", "{at: 17h30m, traffic: {factor: 1}}", "{at: 5h, traffic: {factor: 1}}",
        hourly=DAY,
    )  # fmt: skip
    assert disturbances == (
        TrafficChange(33 * HOUR // 2, 5),
        TrafficChange(35 * HOUR // 2, 1),
        TrafficChange(5 * HOUR, 1),
        TrafficChange(0, 0.5),
        TrafficChange(9 * HOUR, 2),
        TrafficChange(17 * HOUR, 2.5),
        TrafficChange(22 * HOUR, 0.5),
    )


def test_last_traffic_event_at_one_time_applies() -> None:
    twice = _disturbances("{at: 1h, traffic: {factor: 3}}", "{at: 1h, traffic: {factor: 2}}")
    assert twice == (TrafficChange(HOUR, 2), TrafficChange(HOUR, 2))


def test_decimal_factors_are_multiplied_exactly() -> None:
    assert TrafficProfile([1.1] * 24, [(0, 1.1)]).factor_at(0) * 100 == 121


FACTORS = st.floats(0, 1_000, allow_nan=False)


@given(
    st.lists(FACTORS, min_size=24, max_size=24),
    st.lists(st.tuples(st.integers(0, 40 * HOUR), FACTORS), max_size=5),
    st.integers(0, 40 * HOUR),
)
def test_changes_agree_with_the_profile_at_any_time(
    hourly: list[float], entries: list[tuple[int, float]], at_ms: int
) -> None:
    profile = TrafficProfile(hourly, entries)
    changes = [
        *profile.hourly_changes(41 * HOUR),
        *(TrafficChange(at, float(profile.factor_at(at))) for at, _ in entries),
    ]
    before = [change for change in sorted(changes, key=lambda change: change.at_ms) if change.at_ms <= at_ms]
    assert (before[-1].factor if before else 1) == float(profile.factor_at(at_ms))


@pytest.mark.parametrize(
    ("hourly", "entries", "changes"),
    [
        ([1.0] * 24, [], []),
        ([0.5] * 24, [], [(0, 0.5)]),
        ([0.5] * 24, [(90 * MINUTE, 3.0)], [(0, 0.5), (90 * MINUTE, 1.5)]),
        ([1.0, 2.0], [(90 * MINUTE, 0.0)], [(HOUR, 2.0), (90 * MINUTE, 0.0)]),
        ([1.0, 2.0], [(HOUR, 0.0), (HOUR, 0.0)], [(HOUR, 0.0), (HOUR, 0.0)]),
    ],
)
def test_changes_end_if_the_traffic_stays_the_same(
    hourly: list[float], entries: list[tuple[int, float]], changes: list[tuple[int, float]]
) -> None:
    computed = islice(TrafficProfile(hourly, entries).changes(), 100)
    assert [(change.at_ms, change.factor) for change in computed] == changes


def test_restarts_of_brokers_without_traffic_are_checked() -> None:
    """Whether they are safe depends on all changes of the traffic until the last restart."""
    restart = "{at: 30m, broker_bounce: {brokers: [0, 1], down: 1m, pause: 2m}}"
    stop, bounce, start = _disturbances("{at: 10m, traffic: {factor: 0}}", restart, hourly=DAY)
    assert (start, stop) == (TrafficChange(0, 0.5), TrafficChange(10 * MINUTE, 0))
    assert _disturbances(restart, hourly=str([1] * 24)) == (bounce,)


def test_autoscaling_follows_traffic() -> None:
    # 4 MB/s of orders: what is produced to the repartition topic comes from the application itself.
    disturbances = _disturbances("{at: 0, autoscale: {clients: app, bytes_per_s: 1.5 MB/s}}", hourly=DAY)
    assert [event for event in disturbances if not isinstance(event, TrafficChange)] == [
        Leave(0, ("app-5", "app-4", "app-3", "app-2")),
        Join(5 * HOUR, ("app-2",)),
        Join(9 * HOUR, ("app-3", "app-4", "app-5")),
        Leave(17 * HOUR, ("app-5", "app-4", "app-3")),
        Leave(22 * HOUR, ("app-2",)),
    ]


def test_autoscaling_acts_at_its_next_evaluation() -> None:
    disturbances = _disturbances(
        "{at: 7m, autoscale: {clients: app, bytes_per_s: 1 MB/s, every: 25m}}", "{at: 32m1s, traffic: {factor: 1.25}}"
    )
    assert disturbances[:2] == (Leave(7 * MINUTE, ("app-5", "app-4")), Join(57 * MINUTE, ("app-4",)))


def test_autoscaling_respects_minimum_and_maximum() -> None:
    disturbances = _disturbances("{at: 0, autoscale: {clients: app, bytes_per_s: 1 MB/s, min: 3, max: 5}}", hourly=DAY)
    assert [event for event in disturbances if not isinstance(event, TrafficChange)] == [
        Leave(0, ("app-5", "app-4", "app-3")),
        Join(5 * HOUR, ("app-3",)),
        Join(9 * HOUR, ("app-4",)),
        Leave(17 * HOUR, ("app-4",)),
        Leave(22 * HOUR, ("app-3",)),
    ]


def test_autoscaled_pool_may_include_absent_clients() -> None:
    disturbances = _disturbances("{at: 0, autoscale: {clients: [late, app], bytes_per_s: 600 kB/s}}")
    assert disturbances == (Join(0, ("late",)),)


def test_required_clients_are_computed_exactly() -> None:
    disturbances = _disturbances(
        "{at: 0, traffic: {factor: 1.1}}", "{at: 0, autoscale: {clients: app, bytes_per_s: 1466666, min: 0}}"
    )
    assert disturbances[1] == Leave(0, ("app-5", "app-4"))
    disturbances = _disturbances(
        "{at: 0, traffic: {factor: 1.1}}", "{at: 0, autoscale: {clients: app, bytes_per_s: 1100000, min: 0}}"
    )
    assert disturbances[1] == Leave(0, ("app-5", "app-4"))


@pytest.mark.parametrize("minimum", [0, 1])
def test_without_traffic_the_minimum_of_clients_remains(minimum: int) -> None:
    disturbances = _disturbances(
        "{at: 0, traffic: {factor: 0}}", f"{{at: 0, autoscale: {{clients: app, bytes_per_s: 1, min: {minimum}}}}}"
    )
    assert disturbances[1] == Leave(0, APP[minimum:][::-1])


def test_random_events_skip_clients_removed_by_autoscaling() -> None:
    scale = "{at: 0, autoscale: {clients: app, bytes_per_s: 2 MB/s}}"
    disturbances = _disturbances(
        scale, "{at: 1h, rolling_bounce: {clients: app}}", "{at: 2h, crash: {clients: app, pick: 3, down: 1m}}"
    )
    assert disturbances[1:] == (
        RollingBounce(HOUR, APP[:2], 30_000, 60_000),
        Crash(2 * HOUR, APP[:2], MINUTE),
    )


def test_autoscaling_brings_back_a_permanently_crashed_client() -> None:
    disturbances = _disturbances(
        "{at: 0, autoscale: {clients: app, bytes_per_s: 2 MB/s, max: 2}}",
        "{at: 1h, crash: {clients: app, pick: 2}}",
        "{at: 2h, traffic: {factor: 0}}",
        "{at: 3h, traffic: {factor: 1}}",
        "{at: 2h30m, rolling_bounce: {clients: app}}",
        "{at: 4h, rolling_bounce: {clients: app}}",
    )
    assert [event for event in disturbances if isinstance(event, Crash | RollingBounce)] == [
        Crash(HOUR, APP[:2]),
        RollingBounce(4 * HOUR, ("app-1",), 30_000, 60_000),
    ]
