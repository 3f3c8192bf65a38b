"""Partitions that events add to topics while a run lasts.

The layout of a run has all partitions that ever exist, and their tasks; until they are added, these have no traffic.
The rate of a topic does not change when it gets partitions: each new one gets the mean, and the old ones share the rest
in proportion to their rates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assignors.model.columns import IntArray
from simulator.world.disturbances import PartitionsAdded
from simulator.world.layout import FloatArray, Layout
from simulator.world.world import Topic, World


def with_added_partitions(world: World) -> World:
    """Return the world with the partitions that events add, as if they existed from the start."""
    topics = dict(world.cluster.topics)
    for event in _additions(world):
        topics[event.topic] = _with_partitions(topics[event.topic], event)
    if topics == world.cluster.topics:
        return world
    return replace(world, cluster=replace(world.cluster, topics=topics))


def partitions_added_at_ms(world: World, layout: Layout) -> IntArray:
    """Return when each partition is added, shape (P,); 0 if it exists from the start."""
    at_ms = {
        (event.topic, event.first + number): event.at_ms
        for event in _additions(world)
        for number in range(len(event.replicas))
    }
    return np.array([at_ms.get((name.topic, name.partition), 0) for name in layout.partitions], dtype=np.int64)


def added_at_ms(world: World, layout: Layout) -> IntArray:
    """Return when each task begins to exist, shape (T,): 0, or when the partition is added that makes it necessary."""
    of_partition = partitions_added_at_ms(world, layout)
    rows = (layout.tasks.source.row(task) for task in range(len(layout.tasks)))
    return np.array([of_partition[row].min() for row in rows], dtype=np.int64)


def rate_shares(world: World, layout: Layout, at_ms: int) -> FloatArray | None:
    """Return the rate of each partition at a time as a fraction of its rate in the layout, shape (P,).

    The result is None if no event adds partitions.
    """
    first = {event.topic: event.first for event in reversed(_additions(world))}
    if not first:
        return None
    exists = partitions_added_at_ms(world, layout) <= at_ms
    topics = [name.topic for name in layout.partitions]
    count = dict.fromkeys(first, 0)
    for topic in (topic for topic, present in zip(topics, exists.tolist(), strict=True) if present and topic in first):
        count[topic] += 1
    fractions = [first[topic] / count[topic] if topic in first else 1.0 for topic in topics]
    return np.where(exists, np.array(fractions, dtype=np.float64), 0.0)


def _additions(world: World) -> list[PartitionsAdded]:
    events = [event for event in world.disturbances if isinstance(event, PartitionsAdded)]
    return sorted(events, key=lambda event: (event.at_ms, event.first))


def _with_partitions(topic: Topic, event: PartitionsAdded) -> Topic:
    if topic.num_partitions != event.first:
        return topic
    count = len(event.replicas)
    return replace(
        topic,
        replicas=topic.replicas + event.replicas,
        leaders=topic.leaders + tuple(replicas[0] for replicas in event.replicas),
        bytes_per_s=_with_means(topic.bytes_per_s, count),
        size_bytes=topic.size_bytes + (0,) * count,
        hourly_bytes_per_s=tuple(_with_means(hour, count) for hour in topic.hourly_bytes_per_s),
        in_sync=topic.in_sync and topic.in_sync + event.replicas,
    )


def _with_means(rates: tuple[int, ...], count: int) -> tuple[int, ...]:
    return rates + (round(sum(rates) / len(rates)),) * count
