"""Counts that a file claims cost no memory before they are checked."""

from __future__ import annotations

import tracemalloc

import pytest

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topics import parse_topics
from scenarios.load import ScenarioError, loads

CLUSTER = "cluster: {brokers: {count: 3}, topics: [{name: t, partitions: 9, bytes_per_s: 1}]}\n"
PARTITION = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
MANY = 999_999_999


@pytest.fixture(autouse=True)
def little_memory() -> object:
    """Check that less than 50 MB is in use at any time."""
    tracemalloc.start()
    yield None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000


def test_partition_count_of_described_topics() -> None:
    text = f"Topic: t\tPartitionCount: {MANY}\tReplicationFactor: 1\tConfigs: \n{PARTITION}"
    with pytest.raises(FormatError, match="but partition 1, 2, 3, 4, 5 is missing"):
        parse_topics(text)


@pytest.mark.parametrize(
    "subject",
    [
        f"application: {{id: a, subtopologies: [{{sources: [t]}}]}}\nclients: [{{name: c, count: {MANY}}}]",
        f"consumers: [{{group: g, topics: [t], clients: [{{name: c, count: {MANY}}}]}}]",
    ],
)
def test_number_of_clients(subject: str) -> None:
    with pytest.raises(ScenarioError, match="more than 10,000 clients"):
        loads(CLUSTER + subject, "claimed")


@pytest.mark.parametrize(
    ("clients", "configs"),
    [
        ("[{name: c, count: 9000, threads: 1000}]", ""),
        ("[{name: c, count: 9000}]", ", configs: {num.stream.threads: 1000}"),
        ("[{name: c, count: 9000, threads: 2}, {name: d, count: 900, threads: 3}]", ""),
    ],
)
def test_number_of_threads(clients: str, configs: str) -> None:
    application = f"application: {{id: a, subtopologies: [{{sources: [t]}}]{configs}}}\n"
    with pytest.raises(
        ScenarioError, match=r"clients\[[01]\]: more than 20,000 threads: the maximum that can be simulated"
    ):
        loads(f"{CLUSTER}{application}clients: {clients}", "claimed")
