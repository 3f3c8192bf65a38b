"""Records that keep arriving on a real cluster."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.kafka_cluster.cluster import KafkaCluster

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaProducer


@contextmanager
def producing(
    cluster: KafkaCluster,
    partitions: Mapping[str, int],
    interval_s: float,
    record: Callable[[int, int], tuple[bytes, bytes]] = lambda number, _: (b"key", b"%d" % number),
) -> Iterator[None]:
    """Write a record to each partition at an interval, for the duration of the block.

    Args:
        cluster: the cluster.
        partitions: number of partitions by topic.
        interval_s: time between two records of a partition.
        record: returns key and value from the number of the record, from 1, and the partition.
    """
    stop = threading.Event()

    def produce() -> None:
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
        number = 0
        while not stop.wait(interval_s):
            number += 1
            for topic, count in partitions.items():
                for partition in range(count):
                    key, value = record(number, partition)
                    producer.send(topic, key=key, value=value, partition=partition)
            producer.flush()
        producer.close()

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
