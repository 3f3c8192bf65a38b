"""Output of kafka-topics.sh --describe in all releases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topics import DescribedTopic, parse_topics

DIALECTS = Path(__file__).with_name("dialects")
CAPTURED = Path(__file__).parents[4] / "scenarios" / "library" / "captured"
HEADER = "Topic: orders\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: \n"
FIRST = "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
SECOND = "\tTopic: orders\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\n"


def _parse_dialect(name: str) -> DescribedTopic:
    [topic] = parse_topics((DIALECTS / name).read_bytes().decode())
    return topic


@pytest.mark.parametrize("name", ["topics_2_3_old_colons.txt", "topics_2_8.txt", "topics_3_9.txt", "topics_pasted.txt"])
def test_all_dialects_give_the_same_topic(name: str) -> None:
    topic = _parse_dialect(name)
    assert topic.name == "orders"
    assert topic.replicas == ((1, 2), (2, 1))
    assert topic.leaders == (1, -1)
    assert topic.moving == ()


@pytest.mark.parametrize(
    ("name", "configs"),
    [
        ("topics_2_3_old_colons.txt", {"cleanup.policy": "compact", "retention.ms": "1000"}),
        ("topics_2_8.txt", {"segment.bytes": "1073741824"}),
        ("topics_3_9.txt", {}),
        ("topics_pasted.txt", {"cleanup.policy": "compact,delete", "retention.ms": "1000"}),
        (
            "topics_moving.txt",
            {
                "leader.replication.throttled.replicas": "0:1,0:2",
                "follower.replication.throttled.replicas": "0:3",
            },
        ),
    ],
)
def test_config_values_may_contain_commas(name: str, configs: dict[str, str]) -> None:
    assert _parse_dialect(name).configs == configs


def test_replicas_include_those_being_added() -> None:
    topic = _parse_dialect("topics_moving.txt")
    assert topic.replicas == ((3, 1, 2), (2, 1))
    assert topic.leaders == (1, 2)
    assert topic.moving == (0,)


def test_captured_output_is_read_completely() -> None:
    topics = {topic.name: topic for topic in parse_topics((CAPTURED / "topics.txt").read_text())}
    assert len(topics) == 25
    assert sum(len(topic.replicas) for topic in topics.values()) == 584
    assert len(topics["orders"].replicas) == 48
    assert {len(replicas) for replicas in topics["page-views"].replicas} == {1}
    assert topics["orders"].leaders == tuple(replicas[0] for replicas in topics["orders"].replicas)
    assert topics["order-processing-product-demand-store-changelog"].configs["cleanup.policy"] == "compact,delete"


def test_topic_header_is_optional() -> None:
    [topic] = parse_topics(SECOND + FIRST)
    assert topic.replicas == ((1,), (1,))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no topics; expected the output of kafka-topics.sh --describe"),
        (HEADER + FIRST + "hello\n", 3, "'hello' is not a line of kafka-topics.sh --describe"),
        (HEADER + FIRST, 1, "topic 'orders' has 2 partitions, but partition 1 is missing; describe whole topics"),
        (SECOND, 1, "topic 'orders' has 1 partition, but partition 0 is missing"),
        (HEADER + FIRST + FIRST, 3, "duplicate partition 0 of topic 'orders'"),
        (HEADER + FIRST + SECOND + HEADER, 4, "duplicate topic 'orders' (first in line 1)"),
        (HEADER.replace("2", "two"), 1, "PartitionCount: 'two' is not a number of partitions"),
        (HEADER + FIRST.replace("n: 0", "n: x"), 2, "Partition: 'x' is not a partition number"),
        (HEADER + FIRST.replace("Leader: 1", "Leader: kafka-1"), 2, "Leader: 'kafka-1' is not a broker id or none"),
        (HEADER + FIRST.replace("Replicas: 1", "Replicas: 1,b"), 2, "Replicas: '1,b' is not a list of broker ids"),
        (HEADER + FIRST.replace("Replicas: 1", "Replicas: "), 2, "partition 0 of topic 'orders' has no Replicas"),
        (HEADER + FIRST.replace("Replicas: 1", "Replicas: 1,1"), 2, "Replicas: duplicate broker in '1,1'"),
        (
            HEADER + FIRST + SECOND + SECOND.replace("n: 1", "n: 2"),
            1,
            "topic 'orders' has 2 partitions, but 3 partitions are described",
        ),
    ],
)
def test_malformed_text_is_rejected_with_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as raised:
        parse_topics(text)
    assert raised.value.line == line


def test_topic_id() -> None:
    described = HEADER.replace("Topic: orders\t", "Topic: orders\tTopicId: kz4igi_zRnaMlpvOWHGD8Q\t") + FIRST + SECOND
    [topic] = parse_topics(described)
    assert str(topic.topic_id) == "kz4igi_zRnaMlpvOWHGD8Q"
    assert parse_topics(HEADER + FIRST + SECOND)[0].topic_id is None
