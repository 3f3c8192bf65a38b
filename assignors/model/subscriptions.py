"""Which clients of a consumer group subscribe to the topic of each task: there, a task reads a single partition."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import BoolArray, ClientTable, PartitionTable, TaskTable


def subscribers_of_tasks(clients: ClientTable, tasks: TaskTable, partitions: PartitionTable) -> BoolArray | None:
    """Return which clients subscribe to the topic of each task; None if all subscribe to all topics.

    Returns:
        Shape (T, C).
    """
    subscriptions = [consumer.topics for consumer in clients.consumers]
    if all(topics is None for topics in subscriptions):
        return None
    topic_of_task = [partitions.names[int(tasks.source.row(task)[0])].topic for task in range(len(tasks))]
    row_of_topic = {topic: row for row, topic in enumerate(dict.fromkeys(topic_of_task))}
    by_topic = np.array([[topics is None or topic in topics for topics in subscriptions] for topic in row_of_topic])
    return by_topic[[row_of_topic[topic] for topic in topic_of_task]]
