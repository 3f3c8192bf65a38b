"""Which partitions of a consumer group no member can read, because members subscribe to different topics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assignors.model.columns import BoolArray
from simulator.world.layout import Layout
from simulator.world.world import World


class Subscriptions:
    """The subscriptions of N clients to the topics of T partitions; of Kafka Streams, every client reads all tasks."""

    def __init__(self, world: World, layout: Layout) -> None:
        own = [client.consumer.topics for client in world.clients]
        self._row_of_topic: dict[str, int] = {}
        self._by_topic: BoolArray | None = None
        if any(listed is not None for listed in own):
            first = layout.tasks.source.values[layout.tasks.source.offsets[:-1]].tolist()
            topics = [layout.partitions[row].topic for row in first]
            self._row_of_topic = {name: row for row, name in enumerate(dict.fromkeys(topics))}
            self._by_topic = np.array(
                [[listed is None or name in listed for listed in own] for name in self._row_of_topic]
            )
            self._topic = np.array([self._row_of_topic[name] for name in topics], dtype=np.int64)

    def unread(self, up: Sequence[bool]) -> BoolArray:
        """Return to which partitions no client that is up subscribes, shape (T,), or () if that is none."""
        if self._by_topic is None:
            return np.zeros((), dtype=np.bool_)
        is_read = np.asarray(self._by_topic[:, np.array(up, dtype=np.bool_)].any(axis=1))
        unread: BoolArray = ~is_read[self._topic]
        return unread

    def is_read(self, topic: str, up: Sequence[bool]) -> bool:
        """Return whether a client that is up subscribes to a topic of the group."""
        if self._by_topic is None:
            return any(up)
        return bool(self._by_topic[self._row_of_topic[topic], np.array(up, dtype=np.bool_)].any())
