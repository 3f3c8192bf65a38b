"""Traffic with measured hourly rates of each partition."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from simulator.flows.traffic import TrafficKind
from simulator.flows.traffic_record import HourlyRates, HourlyTraffic
from simulator.results.trace import Trace
from simulator.world.changes import Disk, Disturbance
from simulator.world.disturbances import BrokerBounce, ConfigChange, Crash, TrafficChange
from simulator.world.layout import FloatArray, lay_out, row_of_values
from simulator.world.world import Start, Store, Subtopology, World
from tests.simulator.small_world_runs import run
from tests.simulator.world_builders import HOUR, MINUTE, client, topic, with_configs, world

Rates = Sequence[Sequence[int]]


def with_hourly_rates(base: World, rates: Mapping[str, Rates]) -> World:
    """Return the world with measured rates of some topics; the last entry is for all remaining hours."""
    topics = dict(base.cluster.topics)
    for name, measured in rates.items():
        hourly = tuple(tuple(measured[min(hour, len(measured) - 1)]) for hour in range(24))
        usual = tuple(
            max(1, round(sum(rates_of_day) / 24)) if any(rates_of_day) else 0
            for rates_of_day in zip(*hourly, strict=True)
        )
        topics[name] = dataclasses.replace(topics[name], bytes_per_s=usual, hourly_bytes_per_s=hourly)
    return dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics))


def chained_world(**rates: Rates) -> World:
    """Return a world with two subtopologies of two tasks: orders -> repartition topic -> changelog and results."""
    topics = [
        topic("orders", 2, 1, rate=1_000),
        topic("repartition", 2, 1, rate=600),
        topic("log", 2, 2, rate=300),
        topic("results", 3, 2, rate=200),
    ]
    application = world().application
    parts = (
        Subtopology(0, ("orders",), written_topics=("repartition",)),
        Subtopology(1, ("repartition",), (Store("counts", "log"),), ("results",)),
    )
    base = world(
        cluster=dataclasses.replace(world().cluster, topics={topic.name: topic for topic in topics}),
        application=dataclasses.replace(application, subtopologies=parts),
    )
    return with_hourly_rates(base, rates)


def world_with_join() -> World:
    """Return a world with twelve tasks that read clicks, six of which join them with views."""
    application = dataclasses.replace(world().application, subtopologies=(Subtopology(0, ("clicks", "views")),))
    return world(application=application)


def hourly_rates(built: World, hour: int | None) -> HourlyRates:
    return HourlyTraffic(built, lay_out(built)).rates(hour)


def read_rates(rates_of_hour: HourlyRates, name: str) -> list[float]:
    """Return the bytes per second that tasks without backlog read from each partition of a topic."""
    layout = rates_of_hour.layout
    reads = {
        layout.partitions[partition]: rates_of_hour.factor[task] * layout.bytes_per_s[partition]
        for task, partition in zip(row_of_values(layout.tasks.source), layout.tasks.source.values, strict=True)
    }
    return [float(rate) for partition, rate in sorted(reads.items()) if partition.topic == name]


def changelog_write_rates(rates_of_hour: HourlyRates) -> list[float]:
    """Return the bytes per second that tasks without backlog write to each changelog partition."""
    log = rates_of_hour.layout.changelogs
    return (rates_of_hour.factor[log.task] * log.written_bytes_per_s).tolist()


def write_rates(rates_of_hour: HourlyRates, name: str) -> list[float]:
    """Return the bytes per second that tasks without backlog write to each partition of a topic."""
    outputs = rates_of_hour.layout.outputs
    topic_row = outputs.topics.index(name)
    entries = outputs.topic == topic_row
    total = float((rates_of_hour.factor[outputs.task] * outputs.bytes_per_s)[entries].sum())
    shares: FloatArray = outputs.partition_share[row_of_values(outputs.partitions) == topic_row]
    return (total * shares).tolist()


UNEVEN = ((10, 5_000), (7_000, 0), (300, 300), (0, 0), (1_234, 4_321))


@pytest.mark.parametrize("hour", range(5))
def test_reads_follow_measured_hourly_rates(hour: int) -> None:
    assert read_rates(hourly_rates(chained_world(orders=UNEVEN), hour), "orders") == pytest.approx(UNEVEN[hour])


@pytest.mark.parametrize("hour", range(5))
def test_joined_topics_are_read_at_their_own_hourly_rates(hour: int) -> None:
    clicks = [[1_000 * (p + 1) * (hour + 1) for p in range(12)] for hour in range(5)]
    views = [[50_000 - 9_000 * hour - p for p in range(6)] for hour in range(5)]
    rates_of_hour = hourly_rates(with_hourly_rates(world_with_join(), {"clicks": clicks, "views": views}), hour)
    assert read_rates(rates_of_hour, "clicks") == pytest.approx(clicks[hour])
    assert read_rates(rates_of_hour, "views") == pytest.approx(views[hour])


def test_topic_without_hourly_rates_keeps_its_usual_rate() -> None:
    base = world()
    rates_of_hour = hourly_rates(with_hourly_rates(base, {"clicks": [[1] * 12, [9] * 12]}), 0)
    assert read_rates(rates_of_hour, "views") == [500_000] * 6


def test_writes_without_hourly_rates_are_proportional_to_input() -> None:
    built = chained_world(orders=[(500, 500), (1_500, 1_500)])
    usual = built.cluster.topics["orders"].bytes_per_s[0]
    rates_of_hour, share = hourly_rates(built, 0), 500 / usual
    assert read_rates(rates_of_hour, "repartition") == pytest.approx([600 * share] * 2)
    assert changelog_write_rates(rates_of_hour) == pytest.approx([300 * share] * 2)
    assert write_rates(rates_of_hour, "results") == pytest.approx([200 * share] * 3)


def test_writes_follow_measured_hourly_rates() -> None:
    measured: dict[str, Rates] = {
        "orders": UNEVEN,
        "repartition": [(50, 70), (90, 10)],
        "log": [(5, 6), (0, 40)],
        "results": [(1, 2, 3), (4, 0, 0)],
    }
    for hour in (0, 1, 2):
        rates_of_hour = hourly_rates(chained_world(**measured), hour)
        at = min(hour, 1)
        assert read_rates(rates_of_hour, "repartition") == pytest.approx(measured["repartition"][at])
        assert write_rates(rates_of_hour, "repartition") == pytest.approx(measured["repartition"][at])
        assert changelog_write_rates(rates_of_hour) == pytest.approx(measured["log"][at])
        assert write_rates(rates_of_hour, "results") == pytest.approx(measured["results"][at])


def test_topic_that_feeds_itself_has_finite_rates() -> None:
    application = world().application
    parts = (Subtopology(0, ("clicks", "views"), written_topics=("views",)),)
    base = world(application=dataclasses.replace(application, subtopologies=parts))
    rates_of_hour = hourly_rates(with_hourly_rates(base, {"clicks": [[2_000_000] * 12, [1_000_000] * 12]}), 0)
    assert (np.array(read_rates(rates_of_hour, "views")) > 500_000).all()


def test_hourly_input_is_counted_in_records() -> None:
    rates_of_hour = hourly_rates(chained_world(orders=UNEVEN), 0)
    records = rates_of_hour.layout.input_records_per_s * rates_of_hour.factor
    assert records[:2] == pytest.approx([10 / 1_000, 5_000 / 1_000])


def run_hours(base: World, *disturbances: Disturbance, hours: int = 3, starts: int = 0) -> Trace:
    changes = [TrafficChange(hour * HOUR, 1.0, (starts + hour) % 24) for hour in range(hours)]
    return run(dataclasses.replace(base, duration_ms=hours * HOUR, start=Start.COLD), *changes, *disturbances)


def total_bytes(trace: Trace, kind: TrafficKind = TrafficKind.SOURCE_READ) -> float:
    return sum(float(round_.traffic[kind].sum()) for round_ in trace.rounds)


def world_with_clicks(rates: Sequence[int]) -> World:
    return with_hourly_rates(world(), {"clicks": [[rate + p for p in range(12)] for rate in rates], "views": [[0] * 6]})


def test_all_measured_bytes_are_read_over_several_hours() -> None:
    built = world_with_clicks((1_000, 50_000, 200, 7))
    for starts in (0, 1):
        produced = sum(3_600 * sum(built.cluster.topics["clicks"].hourly_bytes_per_s[starts + h]) for h in range(3))
        assert total_bytes(run_hours(built, starts=starts)) == pytest.approx(produced, rel=1e-9)


def test_traffic_change_multiplies_hourly_rates() -> None:
    built = world_with_clicks((1_000, 50_000, 200))
    hourly = [3_600 * sum(rates) for rates in built.cluster.topics["clicks"].hourly_bytes_per_s]
    trace = run_hours(built, TrafficChange(HOUR + HOUR // 2, 3.0, 1))
    assert total_bytes(trace) == pytest.approx(hourly[0] + 2 * hourly[1] + hourly[2], rel=1e-9)
    assert [str(timed.change) for timed in trace.changes if timed.at_ms == HOUR * 3 // 2] == [
        "traffic is 3 times that of 01:00"
    ]


def test_backlog_from_an_earlier_hour_is_read_later() -> None:
    built = world_with_clicks((40_000, 10, 2_000))
    produced = sum(3_600 * sum(built.cluster.topics["clicks"].hourly_bytes_per_s[hour]) for hour in range(3))
    all_clients = tuple(client.name for client in built.clients)
    trace = run_hours(built, Crash(50 * MINUTE, all_clients, down_ms=30 * MINUTE, disk=Disk.KEPT))
    assert trace.max_processing_delay_s.max() > 600
    assert total_bytes(trace) == pytest.approx(produced, rel=1e-9)


def test_backlog_is_read_in_an_hour_without_input() -> None:
    rates = [40_000 + partition for partition in range(12)]
    built = with_hourly_rates(world(), {"clicks": [rates, [0] * 12], "views": [[0] * 6]})
    trace = run_hours(
        built, Crash(50 * MINUTE, tuple(client.name for client in built.clients), down_ms=30 * MINUTE, disk=Disk.KEPT)
    )
    assert total_bytes(trace) == pytest.approx(3_600 * sum(rates), rel=1e-9)


def test_broker_bounce_does_not_change_the_hour() -> None:
    log = [[100 + p for p in range(6)], [20_000] * 6, [0] * 6]
    built = with_hourly_rates(world(), {"views": [[600] * 6, [70] * 6, [1_000] * 6], "app-counts-changelog": log})
    bounced = run_hours(built, BrokerBounce(HOUR + MINUTE, (0, 1), 5 * MINUTE, MINUTE))
    written = total_bytes(bounced, TrafficKind.CHANGELOG_WRITE)
    assert written == pytest.approx(total_bytes(run_hours(built), TrafficKind.CHANGELOG_WRITE), rel=1e-9)


def test_standby_share_of_each_changelog_follows_hourly_rates() -> None:
    application = world().application
    stores = (Store("counts", "app-counts-changelog"), Store("copy", "views"))
    base = world(application=dataclasses.replace(application, subtopologies=(Subtopology(0, ("views",), stores),)))
    rates_of_hour = hourly_rates(
        with_hourly_rates(base, {"views": [[300] * 6, [5] * 6], "app-counts-changelog": [[100] * 6, [95] * 6]}), 0
    )
    assert rates_of_hour.layout.changelogs.followed_share.reshape(6, 2).tolist() == [pytest.approx([0.25, 0.75])] * 6


def test_standbys_read_changelogs_at_hourly_rates() -> None:
    log = [[100 + p for p in range(6)], [20_000] * 6, [0] * 6]
    base = with_configs(world(), num_standby_replicas=1)
    built = with_hourly_rates(base, {"views": [[600] * 6, [70] * 6, [1_000] * 6], "app-counts-changelog": log})
    built = dataclasses.replace(built, duration_ms=3 * HOUR)
    trace = run(built, *(TrafficChange(hour * HOUR, 1.0, hour) for hour in range(3)))
    since_s = trace.rounds[0].at_ms / 1000
    expected = (3_600 - since_s) * sum(log[0]) + 3_600 * sum(log[1])
    assert total_bytes(trace, TrafficKind.STANDBY_READ) == pytest.approx(expected, rel=1e-6)
    assert total_bytes(trace, TrafficKind.CHANGELOG_WRITE) == pytest.approx(expected, rel=1e-6)


def test_thread_limit_in_records_holds_in_every_hour() -> None:
    # In hour 0, half of the tasks get 41 records per second, 40 of them small; two threads process 50 per second each.
    base = world_with_join()
    small = dataclasses.replace(base.cluster.topics["views"], record_bytes=100)
    topics = {**base.cluster.topics, "views": small}
    base = dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics))
    built = with_hourly_rates(base, {"clicks": [[1_000] * 12, [100_000] * 12], "views": [[4_000] * 6, [0] * 6]})
    slow = dataclasses.replace(built, clients=(client("c0", "az1", threads=2, records_per_s=50),))
    trace = run_hours(slow, hours=1)
    waiting_bytes = float((trace.final_totals.backlog_s * trace.layout.input_bytes_per_s).sum())
    assert waiting_bytes == pytest.approx((252 - 100) * 3_600 * 5_000 / 41, rel=0.02)


def test_steady_state_rates_are_those_of_usual_traffic_in_every_hour() -> None:
    built = world_with_clicks((1_000, 50_000, 200))
    configs = built.application.assignment_configs
    trace = run_hours(built, *(ConfigChange(minute * MINUTE, configs) for minute in (30, 90, 150)))
    steady = [float(round_.steady_state[TrafficKind.SOURCE_READ].sum()) for round_ in trace.rounds]
    usual = built.cluster.topics["clicks"]
    assert len(steady) >= 4
    assert steady == pytest.approx([sum(usual.bytes_per_s)] * len(steady))


def test_traffic_change_names_its_hour() -> None:
    trace = run_hours(world_with_clicks((1, 2, 3)), hours=2, starts=8)
    descriptions = [str(timed.change) for timed in trace.changes]
    assert descriptions == ["traffic is that of 08:00", "traffic is that of 09:00"]
