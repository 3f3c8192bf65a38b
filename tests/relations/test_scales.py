"""The same world in other units, at another time, at another price."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from simulator.world.changes import Disturbance
from simulator.world.disturbances import Join, Reassignment, TrafficChange
from simulator.world.world import Controller, Price, Start, Topic, World
from tests.relations.figures import EVENT_NUMBERS, Figures, check_same, figures
from tests.relations.relation import relation
from tests.relations.worlds import EVERY_EVENT, WorldLimits, assignors, worlds
from tests.simulator.world_builders import MINUTE

pytestmark = pytest.mark.answers

BYTE_COLUMNS = (
    ("runs", "restored_bytes"),
    ("runs", "restored_again_bytes"),
    ("runs", "cross_rack_bytes"),
    ("runs", "cross_rack_bytes_per_s"),
    ("runs", "cross_rack_usd"),
    ("runs", "cross_rack_usd_per_day"),
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


def _scaled(topic: Topic, factors: dict[str, int]) -> Topic:
    rate_factor, size_factor, record_factor = (factors.get(name, 1) for name in ("rate", "size", "record"))
    return dataclasses.replace(
        topic,
        bytes_per_s=tuple(rate_factor * rate for rate in topic.bytes_per_s),
        hourly_bytes_per_s=tuple(tuple(rate_factor * rate for rate in hour) for hour in topic.hourly_bytes_per_s),
        size_bytes=tuple(size_factor * size for size in topic.size_bytes),
        record_bytes=record_factor * topic.record_bytes,
    )


def scaled_columns(tables: Figures, factor: float, columns: Sequence[tuple[str, str]] = BYTE_COLUMNS) -> Figures:
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


@relation(40)
@given(worlds(), assignors(), st.sampled_from((2, 10)))
def test_unit_of_bytes_does_not_matter(world: World, assignor: TaskAssignor, factor: int) -> None:
    """With k times the rates, sizes, write buffers, bandwidths and throttles, only bytes change, to k times as many."""
    larger = _with_write_buffers(with_topics(world, rate=factor, size=factor, record=factor), factor)
    brokers = tuple(
        dataclasses.replace(
            broker,
            restore_bytes_per_s=broker.restore_bytes_per_s and factor * broker.restore_bytes_per_s,
            replication_bytes_per_s=factor * broker.replication_bytes_per_s,
        )
        for broker in world.cluster.brokers
    )
    larger = dataclasses.replace(
        larger,
        cluster=dataclasses.replace(larger.cluster, brokers=brokers),
        clients=tuple(
            dataclasses.replace(client, restore_bytes_per_s=factor * client.restore_bytes_per_s)
            for client in world.clients
        ),
        disturbances=tuple(_with_throttle(event, factor) for event in world.disturbances),
    )
    expected = scaled_columns(figures(world, assignor), factor)
    check_same(figures(larger, assignor), expected, exact=False)


def _with_write_buffers(world: World, factor: int) -> World:
    subtopologies = tuple(
        dataclasses.replace(
            part,
            stores=tuple(
                dataclasses.replace(store, write_buffer_bytes=factor * store.write_buffer_bytes)
                for store in part.stores
            ),
        )
        for part in world.application.subtopologies
    )
    return dataclasses.replace(world, application=dataclasses.replace(world.application, subtopologies=subtopologies))


def _with_throttle(event: Disturbance, factor: int) -> Disturbance:
    if isinstance(event, Reassignment) and event.throttle_bytes_per_s is not None:
        return dataclasses.replace(event, throttle_bytes_per_s=factor * event.throttle_bytes_per_s)
    return event


STATELESS = WorldLimits(
    has_state=False, is_limited=False, events=tuple(e for e in EVERY_EVENT if e is not Reassignment)
)


@relation(38)
@given(worlds(STATELESS), assignors(), st.sampled_from((2, 7)))
def test_bytes_are_proportional_to_rates(world: World, assignor: TaskAssignor, factor: int) -> None:
    """Without state, limits and replica reassignments, k times the rates are k times the bytes, at the same times."""
    larger = _with_replication(with_topics(world, rate=factor), factor)
    check_same(figures(larger, assignor), scaled_columns(figures(world, assignor), factor), exact=False)


@relation(40)
@given(worlds(STATELESS), assignors(), st.sampled_from((2.0, 0.25)))
def test_bytes_are_proportional_to_traffic(world: World, assignor: TaskAssignor, factor: float) -> None:
    """Without state, limits and replica reassignments, k times the usual traffic leads to k times the bytes."""
    scaled = (TrafficChange(0, factor), *(_with_factor(event, factor) for event in world.disturbances))
    larger = _with_replication(dataclasses.replace(world, disturbances=scaled), factor)
    usual = dataclasses.replace(world, disturbances=(TrafficChange(0, 1.0), *world.disturbances))
    columns = [column for column in BYTE_COLUMNS if column[1] != "cross_rack_bytes_per_s"]
    waiting = ("runs.max_processing_delay_ms", "tasks.max_processing_delay_ms", "events")
    check_same(
        figures(larger, assignor), scaled_columns(figures(usual, assignor), factor, columns), but=waiting, exact=False
    )


def _with_factor(event: Disturbance, factor: float) -> Disturbance:
    return dataclasses.replace(event, factor=factor * event.factor) if isinstance(event, TrafficChange) else event


def _with_replication(world: World, factor: float) -> World:
    """Return the world with brokers that replicate k times as fast, so that replicas catch up in the same time."""
    brokers = tuple(
        dataclasses.replace(broker, replication_bytes_per_s=int(factor * broker.replication_bytes_per_s))
        for broker in world.cluster.brokers
    )
    return dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, brokers=brokers))


LATER = WorldLimits(
    starts=(Start.WARM,), events=tuple(e for e in EVERY_EVENT if e is not Reassignment), has_hours=False
)


@relation(38)
@given(worlds(LATER), assignors(), st.integers(1, 3).map(lambda n: n * 5 * MINUTE))
def test_later_start_shifts_all_times(world: World, assignor: TaskAssignor, later_ms: int) -> None:
    """A world in which all events, the first start included, happen later has the same durations and bytes."""
    names = tuple(client.name for client in world.clients if client.starts) or (world.clients[0].name,)
    not_started = tuple(dataclasses.replace(client, starts=False) for client in world.clients)
    events = [Join(0, names), *world.disturbances]
    # The phase of the controller's checks is a time of the run, which no event shifts.
    cluster = dataclasses.replace(world.cluster, controller=Controller(check_interval_ms=None))
    original = dataclasses.replace(world, cluster=cluster, clients=not_started, disturbances=tuple(events))
    shifted = tuple(dataclasses.replace(event, at_ms=event.at_ms + later_ms) for event in events)
    later = dataclasses.replace(original, disturbances=shifted, duration_ms=world.duration_ms + later_ms)
    expected = figures(original, assignor)
    # With a warm start, lag counts from the first rebalance on; without one, from the beginning of the run.
    but = () if expected["rounds"] else ("runs.max_processing_delay_ms", "tasks.max_processing_delay_ms")
    # A partition that no event makes unavailable is unavailable from the beginning of the run.
    if any(outage["from_ms"] == 0 for outage in expected["unavailable_partitions"]):
        but = (*but, "unavailable_partitions", "runs.worst_unavailable_ms")
    check_same(shifted_back(figures(later, assignor), later_ms), expected, but=but)


def shifted_back(tables: Figures, by_ms: int) -> Figures:
    """Subtract a duration from all times."""
    moments = ("at_ms", "requested_at_ms", "from_ms", "until_ms", "delay_at_ms", "behind_since_ms")
    return {
        name: [
            {
                column: value - by_ms if column in moments and value is not None else value
                for column, value in row.items()
            }
            for row in rows
        ]
        for name, rows in tables.items()
    }


@relation(40)
@given(worlds(), assignors(), st.sampled_from((2.0, 0.5)))
def test_dollars_are_proportional_to_the_price(world: World, assignor: TaskAssignor, factor: float) -> None:
    """A price k times as high leads to k times the dollars, and nothing else changes."""
    cheap = dataclasses.replace(world, price=Price("mine", 0.01, "2025"))
    expensive = dataclasses.replace(world, price=Price("mine", 0.01 * factor, "2025"))
    dollars = [("runs", "cross_rack_usd"), ("runs", "cross_rack_usd_per_day")]
    expected = scaled_columns(figures(cheap, assignor), factor, dollars)
    check_same(figures(expensive, assignor), expected)


def with_constant_hourly_rates(topic: Topic) -> Topic:
    """Set the hourly rates of a topic to its usual rates."""
    return dataclasses.replace(topic, hourly_bytes_per_s=(topic.bytes_per_s,) * 24)


CONSTANT = WorldLimits(has_hours=False)


@relation(38)
@given(worlds(CONSTANT), assignors(), st.data())
def test_constant_hourly_rates_equal_usual_rates(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """Topics with the usual rate in each hour have the same figures as topics without hourly rates."""
    chosen = data.draw(st.sets(st.sampled_from(sorted(world.cluster.topics)), min_size=1))
    topics = {
        name: with_constant_hourly_rates(topic) if name in chosen else topic
        for name, topic in world.cluster.topics.items()
    }
    first_hour, starts_at_ms = data.draw(st.integers(0, 23)), data.draw(st.integers(0, 39)) * MINUTE
    events = list(world.disturbances)
    changes = [event for event in events if isinstance(event, TrafficChange)]
    last_change = max(
        (event for event in changes if event.at_ms <= starts_at_ms), key=lambda event: event.at_ms, default=None
    )
    factor = 1.0 if last_change is None else last_change.factor
    events_with_hours = [
        dataclasses.replace(event, hour=first_hour if event.at_ms < starts_at_ms else (first_hour + 1) % 24)
        if isinstance(event, TrafficChange)
        else event
        for event in events
    ]
    hourly_events = (
        TrafficChange(0, 1.0, first_hour),
        *events_with_hours,
        TrafficChange(starts_at_ms, factor, (first_hour + 1) % 24),
    )
    other = dataclasses.replace(
        world, cluster=dataclasses.replace(world.cluster, topics=topics), disturbances=hourly_events
    )
    check_same(figures(other, assignor), figures(world, assignor), but=EVENT_NUMBERS, exact=False)
