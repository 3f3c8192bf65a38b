"""Properties files of frameworks."""

from __future__ import annotations

import random

import pytest

from scenarios.kafka.dumps.files import PROPERTIES, detect_kind
from scenarios.kafka.formats.properties import parse_streams_properties

CONFIGS = {"application.id": "shop", "num.standby.replicas": "1", "session.timeout.ms": "30000"}
UNRELATED = ("server.port=8080", "logging.level.root=INFO", "listeners=http://0.0.0.0:8088", "ksql.service.id=one_")


@pytest.mark.parametrize(
    ("prefix", "framework"),
    [
        ("spring.kafka.streams.properties", "Spring Boot"),
        ("spring.kafka.properties", "Spring Boot"),
        ("spring.cloud.stream.kafka.streams.binder.configuration", "Spring Cloud Stream"),
        ("kafka-streams", "Quarkus"),
        ("quarkus.kafka-streams", "Quarkus"),
        ("ksql.streams", "ksqlDB"),
    ],
)
def test_configs_behind_the_prefix_of_a_framework_are_those_of_kafka(prefix: str, framework: str) -> None:
    lines = [f"{prefix}.{key}={value}" for key, value in CONFIGS.items()]
    random.Random(prefix).shuffle(lines)
    text = "\r\n".join([*UNRELATED, *lines])
    assert detect_kind(text) == PROPERTIES
    properties = parse_streams_properties(text)
    assert properties.configs == CONFIGS
    assert properties.prefixes == {f"{prefix}.": framework}
    assert properties.remarks("a") == (f"a: read without the prefix of its keys: {prefix}. ({framework}).",)


def test_files_of_kafka_are_read_as_they_are() -> None:
    properties = parse_streams_properties("application.id=shop\nany.key=1\nspring.application.name=shop\n")
    assert properties.configs == {"application.id": "shop", "any.key": "1", "spring.application.name": "shop"}
    assert properties.remarks("a") == ()


@pytest.mark.parametrize(
    ("text", "configs"),
    [
        (
            "spring.kafka.streams.application-id=shop\nspring.kafka.streams.replication-factor=3\n"
            "spring.kafka.streams.cleanup.on-startup=true\nspring.kafka.bootstrap-servers=b:9092\n",
            {"application.id": "shop", "replication.factor": "3"},
        ),
        (
            "spring.kafka.streams.properties[num.standby.replicas]=2\nspring.kafka.properties.num.standby.replicas=1\n"
            "spring.kafka.properties.max.warmup.replicas=4\n",
            {"num.standby.replicas": "2", "max.warmup.replicas": "4"},
        ),
        (
            "spring.cloud.stream.kafka.streams.binder.applicationId=shop\n"
            "spring.cloud.stream.kafka.streams.binder.functions.a.applicationId=other\n",
            {"application.id": "shop"},
        ),
        (
            "%prod.kafka-streams.num.stream.threads=8\nkafka-streams.num.stream.threads=1\n"
            "%dev.kafka-streams.num.stream.threads=2\nquarkus.kafka-streams.application-id=shop\n"
            "quarkus.kafka-streams.topics=a,b\nquarkus.kafka-streams.health.enabled=true\n",
            {"num.stream.threads": "8", "application.id": "shop"},
        ),
        (
            "num.standby.replicas=1\nksql.streams.num.standby.replicas=2\nmax.warmup.replicas=5\n"
            "ksql.streams.producer.acks=all\n",
            {"num.standby.replicas": "2", "max.warmup.replicas": "5", "producer.acks": "all"},
        ),
    ],
)
def test_fields_and_precedence_are_those_of_the_framework(text: str, configs: dict[str, str]) -> None:
    assert parse_streams_properties(text).configs == configs
