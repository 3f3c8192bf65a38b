"""The bridge, built from its sources, and a jar of assignors for tests."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from assignors.jvm import process
from assignors.jvm.loading import released_jars
from assignors.jvm.reference import NEWEST, STREAMS, KafkaArtifact
from tools import bridge

HERE = Path(__file__).parent


@pytest.fixture(scope="session", autouse=True)
def built_bridge() -> None:
    """Build the bridge if a source is newer."""
    newest = max(file.stat().st_mtime_ns for file in bridge.SOURCES.rglob("*.java"))
    if not bridge.JAR.is_file() or bridge.JAR.stat().st_mtime_ns < newest:
        bridge.main()
        process.bridge_jar.cache_clear()


def compile_jar(sources: Sequence[Path], folder: Path, artifact: str = STREAMS) -> Path:
    """Compile source files against Kafka, and return a jar."""
    classes = folder / "classes"
    classes.mkdir()
    bridge.compile_files(sources, classes, released_jars(KafkaArtifact(artifact, NEWEST[artifact])))
    jar = folder / "assignors.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for file in classes.rglob("*.class"):
            archive.write(file, file.relative_to(classes).as_posix())
    return jar


@pytest.fixture(scope="session")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a jar of assignors that go wrong."""
    return compile_jar([HERE / "Misbehaving.java"], tmp_path_factory.mktemp("jar"))
