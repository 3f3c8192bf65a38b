"""References to assignors in Java: what they name, and what is wrong with those that are none."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from assignors import registry
from assignors.errors import UnknownAssignorError
from assignors.jvm.reference import COORDINATOR, STREAMS, JavaReference, KafkaArtifact, parse_reference


@pytest.mark.parametrize(
    ("text", "name", "paths", "kafka"),
    [
        ("java:org.example.Mine@mine.jar", "org.example.Mine", ("mine.jar",), None),
        ("java:Mine$Inner@a/b c.jar", "Mine$Inner", ("a/b c.jar",), None),
        (f"java:Mine@a.jar{os.pathsep}b/", "Mine", ("a.jar", "b/"), None),
        (
            f"java:Mine@a.jar{os.pathsep}kafka-streams@4.2.1",
            "Mine",
            ("a.jar",),
            KafkaArtifact(STREAMS, "4.2.1"),
        ),
        ("java:kafka-streams@3.8.1:sticky", "sticky", (), KafkaArtifact(STREAMS, "3.8.1")),
        ("java:kafka-streams@4.3.1:org.apache.X", "org.apache.X", (), KafkaArtifact(STREAMS, "4.3.1")),
        ("java:group-coordinator@4.4.0:sticky", "sticky", (), KafkaArtifact(COORDINATOR, "4.4.0")),
        ("java:kafka-group-coordinator@4.4.0:sticky", "sticky", (), KafkaArtifact(COORDINATOR, "4.4.0")),
    ],
)
def test_reference_names_class_and_jars(
    text: str, name: str, paths: tuple[str, ...], kafka: KafkaArtifact | None
) -> None:
    assert parse_reference(text) == JavaReference(text, name, paths, kafka)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("java:", "'' is not the name of a class"),
        ("java:org.example.Mine", "names no jar"),
        ("java:org.example.Mine@", "names no jar"),
        ("java:org.example.Mine@kafka-streams@4.3.1", "names no jar"),
        ("java:not a class@mine.jar", "'not a class' is not the name of a class"),
        ("java:kafka-streams@4.3.1", r"names no assignor of kafka-streams 4\.3\.1 .*:high_availability"),
        ("java:group-coordinator@4.4.0:", r"names no assignor of kafka-group-coordinator 4\.4\.0 .*:sticky"),
        ("java:kafka-streams@4.3:sticky", r"'4\.3' is not a release of Kafka"),
        ("java:kafka-streams@latest:sticky", "'latest' is not a release of Kafka"),
        ("java:kafka-streams@3.7.2:sticky", r"kafka-streams 3\.7\.2 is too old \(oldest supported: 3\.8\)"),
        ("java:group-coordinator@4.1.2:sticky", r"kafka-group-coordinator 4\.1\.2 is too old"),
        (
            f"java:M@a.jar{os.pathsep}kafka-streams@4.2.1{os.pathsep}kafka-streams@4.3.1",
            r"names two releases of Kafka, 4\.2\.1 and 4\.3\.1",
        ),
    ],
)
def test_wrong_reference_is_rejected(text: str, problem: str) -> None:
    with pytest.raises(UnknownAssignorError, match=problem) as caught:
        parse_reference(text)
    assert f"'{text}'" in str(caught.value)


def test_missing_jar_is_reported_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(UnknownAssignorError, match=r"there is no jar or folder .*mine\.jar"):
        registry.load(f"java:org.example.Mine@{tmp_path / 'mine.jar'}")


def test_file_that_is_no_jar_is_reported(tmp_path: Path) -> None:
    (tmp_path / "mine.jar").write_text("nothing", encoding="utf-8")
    with pytest.raises(UnknownAssignorError, match=r"mine\.jar is not a jar"):
        registry.load(f"java:org.example.Mine@{tmp_path / 'mine.jar'}")


def test_class_that_the_jar_does_not_have_is_reported(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "mine.jar", "w") as jar:
        jar.writestr("org/example/Other.class", b"")
    with pytest.raises(UnknownAssignorError, match=r"its jars have no class org\.example\.Mine"):
        registry.load(f"java:org.example.Mine@{tmp_path / 'mine.jar'}")


def test_unknown_assignor_of_kafka_is_reported_with_the_known_ones() -> None:
    with pytest.raises(UnknownAssignorError, match=r"kafka-streams has no assignor 'best' .*high_availability, ha"):
        registry.load("java:kafka-streams@4.3.1:best")


def test_scenario_never_loads_java() -> None:
    with pytest.raises(UnknownAssignorError, match="name it on the command line: --assignor java:"):
        registry.find("java:kafka-streams@4.3.1:sticky")
