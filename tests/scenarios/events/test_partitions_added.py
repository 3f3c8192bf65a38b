"""Events that add partitions: what Kafka and applications reject."""

from __future__ import annotations

import pytest

from scenarios.load import ScenarioError, loads
from simulator.world.disturbances import PartitionsAdded

TEXT = """
cluster:
  brokers: {count: 3}
  topics:
    - {name: orders, partitions: 4, replication_factor: 2}
    - {name: joined, partitions: 4}
    - {name: unread, partitions: 4}
application:
  id: shop
  subtopologies:
SUBTOPOLOGIES
clients:
  - {name: app, count: 2}
duration: 1h
events:
EVENTS
"""
STATELESS = "    - sources: [orders]"
ADDED = "  - {at: 10m, partitions_added: {topic: orders, partitions: 6}}"


def text(subtopologies: str = STATELESS, events: str = ADDED) -> str:
    return TEXT.replace("SUBTOPOLOGIES", subtopologies).replace("EVENTS", events)


def mistake(subtopologies: str = STATELESS, events: str = ADDED) -> str:
    with pytest.raises(ScenarioError) as error:
        loads(text(subtopologies, events))
    [line] = str(error.value).splitlines()
    return line


def test_placement_continues_that_of_the_topic() -> None:
    scenario = loads(text())
    grown = loads(text(events="  []").replace("orders, partitions: 4", "orders, partitions: 6"))
    [event] = scenario.world(3).disturbances
    assert event == PartitionsAdded(600_000, "orders", 4, grown.world(3).cluster.topics["orders"].replicas[4:])
    assert scenario.world(3).cluster.topics["orders"].num_partitions == 4


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("{topic: order, partitions: 6}", "partitions_added.topic: unknown topic 'order' (did you mean 'orders'?"),
        (
            "{topic: orders, partitions: 4}",
            "partitions_added.partitions: 4 is not an increase: 'orders' has 4 partitions",
        ),
        ("{topic: orders, partitions: 3}", "Kafka cannot remove partitions"),
        ("{topic: unread, partitions: 6}", "partitions_added.topic: nothing reads 'unread', so that nothing changes"),
        ("{topic: orders, partitions: 6, replicas: [[0]]}", "replicas: lists 1 partitions, but 2 are added"),
        ("{topic: orders, partitions: 6, replicas: [[0], [7]]}", "replicas[1]"),
    ],
)
def test_impossible_increases_are_reported(event: str, message: str) -> None:
    assert message in mistake(events=f"  - {{at: 10m, partitions_added: {event}}}")


def test_later_increase_must_exceed_the_earlier_one() -> None:
    events = "  - {at: 20m, partitions_added: {topic: orders, partitions: 6}}\n" + ADDED
    assert "events[0].partitions_added.partitions: 6 is not an increase: 'orders' has 6 partitions at 20m" in mistake(
        events=events
    )


@pytest.mark.parametrize(
    ("subtopologies", "message"),
    [
        (
            "    - {sources: [orders], stores: [{name: totals, size: 1 GB}]}",
            "would stop every client: changelog 'shop-totals-changelog' has 4 partitions and would need 6",
        ),
        (
            "    - {sources: [orders, joined], stores: [{name: totals, size: 1 GB}]}",
            "would stop every client: changelog 'shop-totals-changelog' has 4 partitions and would need 6",
        ),
        (
            "    - {sources: [orders], repartition: [{name: by-key}]}\n    - {sources: [shop-by-key-repartition]}",
            "would stop every client: repartition topic 'shop-by-key-repartition' has 4 partitions and would need 6",
        ),
    ],
)
def test_application_that_kafka_streams_would_stop_is_rejected(subtopologies: str, message: str) -> None:
    reported = mistake(subtopologies)
    assert message in reported
    assert "events[0].partitions_added.topic" in reported
    assert reported.endswith(
        "reset the application with kafka-streams-application-reset.sh, or let it read a new topic"
    )


def test_repartition_topic_keeps_a_stated_number() -> None:
    loads(
        text(
            "    - {sources: [orders], repartition: [{name: by-key, partitions: 8}]}\n"
            "    - {sources: [shop-by-key-repartition]}"
        )
    )
