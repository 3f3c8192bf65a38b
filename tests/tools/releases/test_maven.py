"""Releases on Maven Central that the project does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignors.kafka_releases import BROKERS, CLIENTS
from tools.java import ClusterError
from tools.releases import maven
from tools.releases.maven import ARTIFACTS, parse_versions, released_versions, run_new, unknown_releases

METADATA = """<?xml version="1.0" encoding="UTF-8"?>
<metadata>
  <groupId>org.apache.kafka</groupId>
  <artifactId>kafka-streams</artifactId>
  <versioning>
    <latest>4.4.0</latest>
    <release>4.4.0</release>
    <versions>%s</versions>
  </versioning>
</metadata>
"""


def metadata(*versions: str) -> str:
    return METADATA % "".join(f"<version>{version}</version>" for version in versions)


def test_versions_are_those_of_the_list() -> None:
    assert parse_versions(metadata("3.9.0", " 4.4.0\n", "4.5.0-rc1"), "a.xml") == ["3.9.0", "4.4.0", "4.5.0-rc1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<metadata>", "a.xml: not XML"),
        (metadata(), "a.xml: no versions"),
        ("<html><versioning><versions><version>4.4.0</version></versions></versioning></html>", "a.xml: no versions"),
    ],
)
def test_other_files_are_errors(text: str, message: str) -> None:
    with pytest.raises(ClusterError, match=message):
        parse_versions(text, "a.xml")


def test_unknown_releases_are_newer_patches_and_new_minor_releases() -> None:
    known = {"3.9": "3.9.2", "4.2.1": "4.2.1", "4.2": "4.2.2"}
    older = ["0.10.0.0", "2.8.2", "3.8.5", "3.9.0", "3.9.2", "4.2.0", "4.2.1", "4.2.2", "4.3.0-rc1"]
    assert unknown_releases(older, known) == []
    assert unknown_releases([*older, "4.10.0", "4.3.0", "3.9.10", "4.2.3"], known) == [
        "3.9.10",
        "4.2.3",
        "4.3.0",
        "4.10.0",
    ]


@pytest.mark.parametrize("known", [CLIENTS, BROKERS])
def test_each_known_patch_belongs_to_its_release(known: dict[str, str]) -> None:
    assert all(patch == name or patch.startswith(f"{name}.") for name, patch in known.items())


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a local repository that Maven leaves as it is."""
    programs = tmp_path / "bin"
    programs.mkdir()
    script = programs / "mvn"
    script.write_text(f"#!/bin/sh\nprintf '\\033[0m%s\\033[0m\\n' '{tmp_path}'\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    return tmp_path


def write_metadata(repository: Path, artifact: str, *versions: str, source: str = "central") -> None:
    folder = repository / "org" / "apache" / "kafka" / artifact
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"maven-metadata-{source}.xml").write_text(metadata(*versions), encoding="utf-8")


def test_unknown_release_fails_with_the_list(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for artifact, known in ARTIFACTS.items():
        write_metadata(repository, artifact, *known.values())
    assert run_new() == 0
    assert "No unknown release" in capsys.readouterr().out
    write_metadata(repository, "kafka-streams", *CLIENTS.values(), "9.0.0", "9.0.1")
    assert run_new() == 1
    [line] = capsys.readouterr().out.splitlines()
    assert "kafka-streams 9.0.0, kafka-streams 9.0.1" in line


def test_versions_that_were_built_locally_do_not_count(repository: Path) -> None:
    write_metadata(repository, "kafka-streams", "9.9.9", source="local")
    with pytest.raises(ClusterError, match="Maven stored no metadata of kafka-streams"):
        released_versions(repository, "kafka-streams")
    write_metadata(repository, "kafka-streams", "4.3.1", source="mirror")
    assert released_versions(repository, "kafka-streams") == ["4.3.1"]


def test_failure_of_maven_is_an_error(repository: Path) -> None:
    (repository / "bin" / "mvn").write_text("#!/bin/sh\necho cannot resolve\nexit 1\n", encoding="utf-8")
    with pytest.raises(ClusterError, match="exit code 1:\ncannot resolve"):
        maven.local_repository()
