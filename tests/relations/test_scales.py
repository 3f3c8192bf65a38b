"""The same world in other units, at another time, at another price."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from simulator.world.disturbances import Disturbance, Join, Reassignment, TrafficChange
from simulator.world.world import Price, Start, Topic, World
from tests.relations.figures import EVENT_NUMBERS, Figures, check_same, figures
from tests.relations.relation import relation
from tests.relations.worlds import EVERY_EVENT, WorldLimits, assignors, worlds
from tests.simulator.world_builders import MINUTE

BYTES = (
    ("runs", "restored_bytes"),
    ("runs", "restored_again_bytes"),
    ("runs", "cross_rack_bytes"),
    ("runs", "cross_rack_bytes_per_s"),
    ("runs", "cross_rack_usd"),
    ("rounds", "restored_bytes"),
    ("rounds", "cross_rack_bytes"),
    ("rounds", "cross_rack_bytes_per_s"),
    ("traffic", "bytes"),
)
"""The columns that count bytes, or dollars for bytes."""


def with_topics(world: World, **changes: int) -> World:
    """Multiply rates, sizes or records of all topics."""
    topics = {name: _scaled(topic, changes) for name, topic in world.cluster.topics.items()}
    return dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, topics=topics))


def _scaled(topic: Topic, by: dict[str, int]) -> Topic:
    rate, size, record = (by.get(name, 1) for name in ("rate", "size", "record"))
    return dataclasses.replace(
        topic,
        bytes_per_s=tuple(rate * each for each in topic.bytes_per_s),
        hourly_bytes_per_s=tuple(tuple(rate * each for each in hour) for hour in topic.hourly_bytes_per_s),
        size_bytes=tuple(size * each for each in topic.size_bytes),
        record_bytes=record * topic.record_bytes,
    )


def in_units(tables: Figures, factor: float, columns: Sequence[tuple[str, str]] = BYTES) -> Figures:
    """Multiply the columns that count bytes."""
    chosen = set(columns)
    return {
        name: [
            {
                column: value * factor if (name, column) in chosen and value is not None else value
                for column, value in row.items()
            }
            for row in rows
        ]
        for name, rows in tables.items()
    }


@relation(80)
@given(worlds(), assignors(), st.sampled_from((2, 10)))
def test_a_unit_of_bytes_does_not_matter(world: World, assignor: TaskAssignor, factor: int) -> None:
    """With k times the rates, sizes, record sizes, bandwidths and throttles, bytes alone are k times as many."""
    larger = with_topics(world, rate=factor, size=factor, record=factor)
    brokers = tuple(
        dataclasses.replace(each, restore_bytes_per_s=each.restore_bytes_per_s and factor * each.restore_bytes_per_s)
        for each in world.cluster.brokers
    )
    larger = dataclasses.replace(
        larger,
        cluster=dataclasses.replace(larger.cluster, brokers=brokers),
        clients=tuple(
            dataclasses.replace(each, restore_bytes_per_s=factor * each.restore_bytes_per_s) for each in world.clients
        ),
        disturbances=tuple(_with_throttle(each, factor) for each in world.disturbances),
    )
    expected = in_units(figures(world, assignor), factor)
    check_same(figures(larger, assignor), expected, exact=False)


def _with_throttle(event: Disturbance, factor: int) -> Disturbance:
    if isinstance(event, Reassignment) and event.throttle_bytes_per_s is not None:
        return dataclasses.replace(event, throttle_bytes_per_s=factor * event.throttle_bytes_per_s)
    return event


STATELESS = WorldLimits(
    has_state=False, is_limited=False, events=tuple(e for e in EVERY_EVENT if e is not Reassignment)
)


@relation(60)
@given(worlds(STATELESS), assignors(), st.sampled_from((2, 7)))
def test_twice_the_rate_is_twice_the_bytes(world: World, assignor: TaskAssignor, factor: int) -> None:
    """Without state, limits and copied replicas, k times the rates are k times the bytes and change no time."""
    larger = with_topics(world, rate=factor)
    check_same(figures(larger, assignor), in_units(figures(world, assignor), factor), exact=False)


@relation(40)
@given(worlds(STATELESS), assignors(), st.sampled_from((2.0, 0.25)))
def test_twice_the_traffic_is_twice_the_bytes(world: World, assignor: TaskAssignor, factor: float) -> None:
    """Without state, limits and copied replicas, traffic that is k times the usual all along is k times the bytes."""
    scaled = (TrafficChange(0, factor), *(_with_factor(each, factor) for each in world.disturbances))
    larger = dataclasses.replace(world, disturbances=scaled)
    usual = dataclasses.replace(world, disturbances=(TrafficChange(0, 1.0), *world.disturbances))
    columns = [each for each in BYTES if each[1] != "cross_rack_bytes_per_s"]
    waiting = ("runs.max_processing_delay_ms", "tasks.max_processing_delay_ms", "events")
    check_same(figures(larger, assignor), in_units(figures(usual, assignor), factor, columns), but=waiting, exact=False)


def _with_factor(event: Disturbance, factor: float) -> Disturbance:
    return dataclasses.replace(event, factor=factor * event.factor) if isinstance(event, TrafficChange) else event


LATER = WorldLimits(
    starts=(Start.WARM,), events=tuple(e for e in EVERY_EVENT if e is not Reassignment), has_hours=False
)


@relation(60)
@given(worlds(LATER), assignors(), st.integers(1, 3).map(lambda n: n * 5 * MINUTE))
def test_a_later_time_of_day_does_not_matter(world: World, assignor: TaskAssignor, later_ms: int) -> None:
    """A world in which everything, the first start included, happens later has the same durations and bytes."""
    names = tuple(each.name for each in world.clients if each.starts) or (world.clients[0].name,)
    late = tuple(dataclasses.replace(each, starts=False) for each in world.clients)
    events = [Join(0, names), *world.disturbances]
    now = dataclasses.replace(world, clients=late, disturbances=tuple(events))
    shifted = tuple(dataclasses.replace(each, at_ms=each.at_ms + later_ms) for each in events)
    then = dataclasses.replace(now, disturbances=shifted, duration_ms=world.duration_ms + later_ms)
    expected = figures(now, assignor)
    # A warm start lets input wait from the first rebalance on; without one, input waits from the beginning of the run.
    but = () if expected["rounds"] else ("runs.max_processing_delay_ms", "tasks.max_processing_delay_ms")
    # A partition that no event makes unavailable is so from the beginning of the run, however long that is.
    if any(outage["from_ms"] == 0 for outage in expected["unavailable_partitions"]):
        but = (*but, "unavailable_partitions", "runs.worst_unavailable_ms")
    check_same(earlier(figures(then, assignor), later_ms), expected, but=but)


def earlier(tables: Figures, by_ms: int) -> Figures:
    """Subtract a time from every moment."""
    moments = ("at_ms", "requested_at_ms", "from_ms", "until_ms")
    return {
        name: [{column: value - by_ms if column in moments else value for column, value in row.items()} for row in rows]
        for name, rows in tables.items()
    }


@relation(40)
@given(worlds(), assignors(), st.sampled_from((2.0, 0.5)))
def test_twice_the_price_is_twice_the_dollars(world: World, assignor: TaskAssignor, factor: float) -> None:
    """A price k times as high makes dollars k times as many and changes nothing else."""
    cheap = dataclasses.replace(world, price=Price("mine", 0.01, "2025"))
    dear = dataclasses.replace(world, price=Price("mine", 0.01 * factor, "2025"))
    expected = in_units(figures(cheap, assignor), factor, [("runs", "cross_rack_usd")])
    check_same(figures(dear, assignor), expected)


def measured(topic: Topic) -> Topic:
    """Give a topic the usual rates as those of every hour of the day."""
    return dataclasses.replace(topic, hourly_bytes_per_s=(topic.bytes_per_s,) * 24)


CONSTANT = WorldLimits(has_hours=False)


@relation(80)
@given(worlds(CONSTANT), assignors(), st.data())
def test_constant_traffic_is_the_same_every_hour(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """Topics whose rate is the usual one in each hour have the figures of topics without hourly rates."""
    chosen = data.draw(st.sets(st.sampled_from(sorted(world.cluster.topics)), min_size=1))
    topics = {name: measured(topic) if name in chosen else topic for name, topic in world.cluster.topics.items()}
    first, starts_at_ms = data.draw(st.integers(0, 23)), data.draw(st.integers(0, 39)) * MINUTE
    events = list(world.disturbances)
    changes = [each for each in events if isinstance(each, TrafficChange)]
    before = max((each for each in changes if each.at_ms <= starts_at_ms), key=lambda each: each.at_ms, default=None)
    factor = 1.0 if before is None else before.factor
    in_hours = [
        dataclasses.replace(each, hour=first if each.at_ms < starts_at_ms else (first + 1) % 24)
        if isinstance(each, TrafficChange)
        else each
        for each in events
    ]
    hourly = (TrafficChange(0, 1.0, first), *in_hours, TrafficChange(starts_at_ms, factor, (first + 1) % 24))
    other = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, topics=topics), disturbances=hourly)
    check_same(figures(other, assignor), figures(world, assignor), but=EVENT_NUMBERS, exact=False)
