"""Traffic that was measured partition by partition, hour by hour."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from simulator.flows.hourly_traffic import HourlyRates, HourlyTraffic
from simulator.flows.traffic import TrafficKind
from simulator.results.trace import Trace
from simulator.world.disturbances import BrokerBounce, ConfigChange, Crash, Disturbance, TrafficChange
from simulator.world.layout import FloatArray, lay_out, row_of_values
from simulator.world.world import Start, Store, Subtopology, World
from tests.simulator.small_world_runs import run
from tests.simulator.world_builders import HOUR, MINUTE, client, topic, with_configs, world

Rates = Sequence[Sequence[int]]


def _measured(base: World, rates: Mapping[str, Rates]) -> World:
    """The world with measured rates of some topics: the first entry is for hour 0, the last for all that are left."""
    topics = dict(base.cluster.topics)
    for name, given in rates.items():
        hourly = tuple(tuple(given[min(hour, len(given) - 1)]) for hour in range(24))
        usual = tuple(max(1, round(sum(each) / 24)) if any(each) else 0 for each in zip(*hourly, strict=True))
        topics[name] = dataclasses.replace(topics[name], bytes_per_s=usual, hourly_bytes_per_s=hourly)
    return dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics))


def _chain(**rates: Rates) -> World:
    """Two tasks that read orders and write a repartition topic, which two others read: they log and write results."""
    topics = [
        topic("orders", 2, 1, rate=1_000),
        topic("again", 2, 1, rate=600),
        topic("log", 2, 2, rate=300),
        topic("results", 3, 2, rate=200),
    ]
    application = world().application
    parts = (
        Subtopology(0, ("orders",), written_topics=("again",)),
        Subtopology(1, ("again",), (Store("counts", "log"),), ("results",)),
    )
    base = world(
        cluster=dataclasses.replace(world().cluster, topics={each.name: each for each in topics}),
        application=dataclasses.replace(application, subtopologies=parts),
    )
    return _measured(base, rates)


def _joined() -> World:
    """Twelve tasks that read clicks, six of which join them with views."""
    application = dataclasses.replace(world().application, subtopologies=(Subtopology(0, ("clicks", "views")),))
    return world(application=application)


def _flow(built: World, hour: int | None) -> HourlyRates:
    return HourlyTraffic(built, lay_out(built)).rates(hour)


def _rates(flow: HourlyRates, name: str) -> list[float]:
    """What tasks that keep up read of a topic's partitions, in bytes per second."""
    layout = flow.layout
    reads = {
        layout.partitions[partition]: flow.factor[task] * layout.bytes_per_s[partition]
        for task, partition in zip(row_of_values(layout.tasks.source), layout.tasks.source.values, strict=True)
    }
    return [float(rate) for partition, rate in sorted(reads.items()) if partition.topic == name]


def _logged(flow: HourlyRates) -> list[float]:
    """What tasks that keep up write to their changelogs."""
    log = flow.layout.changelogs
    return (flow.factor[log.task] * log.written_bytes_per_s).tolist()


def _written(flow: HourlyRates, name: str) -> list[float]:
    """What tasks that keep up write to each partition of a topic."""
    written = flow.layout.outputs
    row = written.topics.index(name)
    entries = written.topic == row
    amount = float((flow.factor[written.task] * written.bytes_per_s)[entries].sum())
    shares: FloatArray = written.partition_share[row_of_values(written.partitions) == row]
    return (amount * shares).tolist()


UNEVEN = ((10, 5_000), (7_000, 0), (300, 300), (0, 0), (1_234, 4_321))


@pytest.mark.parametrize("hour", range(5))
def test_a_task_that_keeps_up_reads_in_each_hour_what_was_measured(hour: int) -> None:
    assert _rates(_flow(_chain(orders=UNEVEN), hour), "orders") == pytest.approx(UNEVEN[hour])


@pytest.mark.parametrize("hour", range(5))
def test_joined_topics_that_change_differently_are_each_read_as_measured(hour: int) -> None:
    clicks = [[1_000 * (p + 1) * (hour + 1) for p in range(12)] for hour in range(5)]
    views = [[50_000 - 9_000 * hour - p for p in range(6)] for hour in range(5)]
    flow = _flow(_measured(_joined(), {"clicks": clicks, "views": views}), hour)
    assert _rates(flow, "clicks") == pytest.approx(clicks[hour])
    assert _rates(flow, "views") == pytest.approx(views[hour])


def test_a_topic_that_was_not_measured_keeps_the_usual_rate() -> None:
    base = world()
    flow = _flow(_measured(base, {"clicks": [[1] * 12, [9] * 12]}), 0)
    assert _rates(flow, "views") == [500_000] * 6


def test_what_a_task_writes_and_was_not_measured_goes_up_and_down_with_what_it_reads() -> None:
    built = _chain(orders=[(500, 500), (1_500, 1_500)])
    usual = built.cluster.topics["orders"].bytes_per_s[0]
    flow, share = _flow(built, 0), 500 / usual
    assert _rates(flow, "again") == pytest.approx([600 * share] * 2)
    assert _logged(flow) == pytest.approx([300 * share] * 2)
    assert _written(flow, "results") == pytest.approx([200 * share] * 3)


def test_what_was_measured_of_topics_that_tasks_write_is_written() -> None:
    measured: dict[str, Rates] = {
        "orders": UNEVEN,
        "again": [(50, 70), (90, 10)],
        "log": [(5, 6), (0, 40)],
        "results": [(1, 2, 3), (4, 0, 0)],
    }
    for hour in (0, 1, 2):
        flow = _flow(_chain(**measured), hour)
        at = min(hour, 1)
        assert _rates(flow, "again") == pytest.approx(measured["again"][at])
        assert _written(flow, "again") == pytest.approx(measured["again"][at])
        assert _logged(flow) == pytest.approx(measured["log"][at])
        assert _written(flow, "results") == pytest.approx(measured["results"][at])


def test_a_topic_that_feeds_itself_comes_to_an_end() -> None:
    application = world().application
    parts = (Subtopology(0, ("clicks", "views"), written_topics=("views",)),)
    base = world(application=dataclasses.replace(application, subtopologies=parts))
    flow = _flow(_measured(base, {"clicks": [[2_000_000] * 12, [1_000_000] * 12]}), 0)
    assert (np.array(_rates(flow, "views")) > 500_000).all()


def test_input_of_an_hour_is_counted_in_records_too() -> None:
    flow = _flow(_chain(orders=UNEVEN), 0)
    records = flow.layout.input_records_per_s * flow.factor
    assert records[:2] == pytest.approx([10 / 1_000, 5_000 / 1_000])


def _run(base: World, *happens: Disturbance, hours: int = 3, starts: int = 0) -> Trace:
    changes = [TrafficChange(hour * HOUR, 1.0, (starts + hour) % 24) for hour in range(hours)]
    return run(dataclasses.replace(base, duration_ms=hours * HOUR, start=Start.COLD), *changes, *happens)


def _read(trace: Trace, kind: TrafficKind = TrafficKind.SOURCE_READ) -> float:
    return sum(float(each.traffic[kind].sum()) for each in trace.rounds)


def _clicks(rates: Sequence[int]) -> World:
    return _measured(world(), {"clicks": [[rate + p for p in range(12)] for rate in rates], "views": [[0] * 6]})


def test_over_the_hours_all_is_read_that_was_measured() -> None:
    built = _clicks((1_000, 50_000, 200, 7))
    for starts in (0, 1):
        produced = sum(3_600 * sum(built.cluster.topics["clicks"].hourly_bytes_per_s[starts + h]) for h in range(3))
        assert _read(_run(built, starts=starts)) == pytest.approx(produced, rel=1e-9)


def test_an_event_multiplies_what_was_measured() -> None:
    built = _clicks((1_000, 50_000, 200))
    hourly = [3_600 * sum(rates) for rates in built.cluster.topics["clicks"].hourly_bytes_per_s]
    trace = _run(built, TrafficChange(HOUR + HOUR // 2, 3.0, 1))
    assert _read(trace) == pytest.approx(hourly[0] + 2 * hourly[1] + hourly[2], rel=1e-9)
    assert [str(timed.change) for timed in trace.changes if timed.at_ms == HOUR * 3 // 2] == [
        "traffic is 3 times that of 01:00"
    ]


def test_what_waits_from_one_hour_to_the_next_is_read_in_the_end() -> None:
    built = _clicks((40_000, 10, 2_000))
    produced = sum(3_600 * sum(built.cluster.topics["clicks"].hourly_bytes_per_s[hour]) for hour in range(3))
    everybody = tuple(each.name for each in built.clients)
    trace = _run(built, Crash(50 * MINUTE, everybody, down_ms=30 * MINUTE))
    assert trace.max_processing_delay_s.max() > 600
    assert _read(trace) == pytest.approx(produced, rel=1e-9)


def test_what_waits_into_an_hour_without_input_is_read_then() -> None:
    rates = [40_000 + partition for partition in range(12)]
    built = _measured(world(), {"clicks": [rates, [0] * 12], "views": [[0] * 6]})
    trace = _run(built, Crash(50 * MINUTE, tuple(each.name for each in built.clients), down_ms=30 * MINUTE))
    assert _read(trace) == pytest.approx(3_600 * sum(rates), rel=1e-9)


def test_an_hour_lasts_while_brokers_come_and_go() -> None:
    log = [[100 + p for p in range(6)], [20_000] * 6, [0] * 6]
    built = _measured(world(), {"views": [[600] * 6, [70] * 6, [1_000] * 6], "app-counts-changelog": log})
    bounced = _run(built, BrokerBounce(HOUR + MINUTE, (0, 1), 5 * MINUTE, MINUTE))
    written = _read(bounced, TrafficKind.CHANGELOG_WRITE)
    assert written == pytest.approx(_read(_run(built), TrafficKind.CHANGELOG_WRITE), rel=1e-9)


def test_standbys_follow_each_changelog_as_it_was_measured() -> None:
    application = world().application
    stores = (Store("counts", "app-counts-changelog"), Store("copy", "views"))
    base = world(application=dataclasses.replace(application, subtopologies=(Subtopology(0, ("views",), stores),)))
    flow = _flow(_measured(base, {"views": [[300] * 6, [5] * 6], "app-counts-changelog": [[100] * 6, [95] * 6]}), 0)
    assert flow.layout.changelogs.followed_share.reshape(6, 2).tolist() == [pytest.approx([0.25, 0.75])] * 6


def test_standbys_read_what_was_measured_of_changelogs() -> None:
    log = [[100 + p for p in range(6)], [20_000] * 6, [0] * 6]
    base = with_configs(world(), num_standby_replicas=1)
    built = _measured(base, {"views": [[600] * 6, [70] * 6, [1_000] * 6], "app-counts-changelog": log})
    built = dataclasses.replace(built, duration_ms=3 * HOUR)
    trace = run(built, *(TrafficChange(hour * HOUR, 1.0, hour) for hour in range(3)))
    since_s = trace.rounds[0].at_ms / 1000
    expected = (3_600 - since_s) * sum(log[0]) + 3_600 * sum(log[1])
    assert _read(trace, TrafficKind.STANDBY_READ) == pytest.approx(expected, rel=1e-6)
    assert _read(trace, TrafficKind.CHANGELOG_WRITE) == pytest.approx(expected, rel=1e-6)


def test_threads_are_as_fast_in_records_as_they_are_in_any_hour() -> None:
    # In hour 0 half of the tasks get 41 records a second, 40 of them small; two threads can do 50 each.
    base = _joined()
    small = dataclasses.replace(base.cluster.topics["views"], record_bytes=100)
    topics = {**base.cluster.topics, "views": small}
    base = dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics))
    built = _measured(base, {"clicks": [[1_000] * 12, [100_000] * 12], "views": [[4_000] * 6, [0] * 6]})
    slow = dataclasses.replace(built, clients=(client("c0", "az1", threads=2, records_per_s=50),))
    trace = _run(slow, hours=1)
    waiting_bytes = float((trace.final_totals.backlog_s * trace.layout.input_bytes_per_s).sum())
    assert waiting_bytes == pytest.approx((252 - 100) * 3_600 * 5_000 / 41, rel=0.02)


def test_rates_at_rest_are_those_of_the_usual_traffic_in_any_hour() -> None:
    built = _clicks((1_000, 50_000, 200))
    configs = built.application.assignment_configs
    trace = _run(built, *(ConfigChange(minute * MINUTE, configs) for minute in (30, 90, 150)))
    steady = [float(each.steady_state[TrafficKind.SOURCE_READ].sum()) for each in trace.rounds]
    usual = built.cluster.topics["clicks"]
    assert len(steady) >= 4
    assert steady == pytest.approx([sum(usual.bytes_per_s)] * len(steady))


def test_a_change_says_the_hour_whose_traffic_it_brings() -> None:
    trace = _run(_clicks((1, 2, 3)), hours=2, starts=8)
    told = [str(timed.change) for timed in trace.changes]
    assert told == ["traffic is that of 08:00", "traffic is that of 09:00"]
