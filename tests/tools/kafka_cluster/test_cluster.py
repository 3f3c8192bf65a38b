"""The class path of brokers takes Kafka Streams of their release as soon as Maven Central has it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tools.kafka_cluster import cluster
from tools.kafka_cluster.java import ClusterError

BROKERS = "4.4.0"


class Maven:
    """Replaces Maven: writes the class path of a release whose Kafka Streams is published or not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_published = False
        self.failure = f"Could not find artifact org.apache.kafka:kafka-streams:jar:{BROKERS} in central"

    def build_classpath(self, kafka_version: str, properties: Mapping[str, str] = {}) -> str:
        listing = self.folder / "target" / kafka_version / "classpath.txt"
        if not listing.exists():
            clients = properties.get("clients.version", kafka_version)
            if clients == BROKERS and not self.is_published:
                raise ClusterError(self.failure)
            listing.parent.mkdir(parents=True, exist_ok=True)
            listing.write_text(f"kafka_2.13-{kafka_version}.jar:kafka-streams-{clients}.jar")
        return listing.read_text()


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maven:
    maven = Maven(tmp_path)
    monkeypatch.setattr(cluster, "HERE", tmp_path)
    monkeypatch.setattr(cluster, "build_classpath", maven.build_classpath)
    monkeypatch.setattr(cluster, "_WITHOUT_STREAMS", set())
    return maven


def streams_of(maven: Maven) -> str:
    return cluster._release_of_streams(cluster._classpath_of_brokers(BROKERS))


def test_older_clients_are_taken_while_there_are_no_others(maven: Maven) -> None:
    assert streams_of(maven) == cluster.LATEST_STREAMS
    assert streams_of(maven) == cluster.LATEST_STREAMS


def test_published_clients_replace_a_stored_class_path_in_the_next_process(
    maven: Maven, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert streams_of(maven) == cluster.LATEST_STREAMS
    maven.is_published = True
    monkeypatch.setattr(cluster, "_WITHOUT_STREAMS", set())
    assert streams_of(maven) == BROKERS
    assert streams_of(maven) == BROKERS


def test_another_failure_of_maven_is_reported(maven: Maven) -> None:
    maven.failure = "Could not resolve host"
    with pytest.raises(ClusterError, match="resolve host"):
        streams_of(maven)
