"""The jars of released artifacts: from the local Maven repository, or downloaded by Maven."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assignors.errors import UnknownAssignorError
from assignors.jvm.reference import KafkaArtifact

DEPENDENCY_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_GOAL: Final = f"{DEPENDENCY_PLUGIN}:build-classpath"
_TIMEOUT_S: Final = 600.0
"""Enough to download the jars of a Kafka with brokers, 200 MB."""

_MAX_CHARS: Final = 300

# RocksDB is 70 MB, and no assignor opens a store.
_NOT_FOR_ASSIGNORS: Final = ("org.rocksdb:*",)

_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>assignor-sim</groupId>
  <artifactId>class-path</artifactId>
  <version>1</version>
  <dependencies>{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY: Final = """
    <dependency>
      <groupId>{0}</groupId>
      <artifactId>{1}</artifactId>
      <version>{2}</version>
      <exclusions>{exclusions}
      </exclusions>
    </dependency>"""
_EXCLUSION: Final = """
        <exclusion>
          <groupId>{0}</groupId>
          <artifactId>{1}</artifactId>
        </exclusion>"""


@dataclass(frozen=True, slots=True)
class Dependency:
    """An artifact on Maven Central, with its own dependencies.

    Attributes:
        coordinates: `group:artifact:version`.
        without: dependencies of its own that are left out, as `group:artifact`; `*` is any.
    """

    coordinates: str
    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(self.coordinates.split(":")[1:])


def released_jars(kafka: KafkaArtifact) -> tuple[str, ...]:
    """Return the jars of a release with their dependencies, as `jars_of` does."""
    return jars_of([Dependency(f"org.apache.kafka:{kafka.name}:{kafka.version}", _NOT_FOR_ASSIGNORS)])


def jars_of(dependencies: Sequence[Dependency]) -> tuple[str, ...]:
    """Return the jars of artifacts and of all that they depend on; Maven runs only the first time.

    Args:
        dependencies: artifacts; of two versions of another one, the first artifact's counts.

    Returns:
        Paths of jars in the local Maven repository.

    Raises:
        UnknownAssignorError: the jars are not there, and Maven is missing or cannot download them.
    """
    pom = _POM.format(dependencies="".join(map(_entry, dependencies)))
    name = "-".join(dependencies[0].coordinates.split(":")[1:])
    listing = _cache_folder() / f"{name}-{hashlib.sha256(pom.encode()).hexdigest()[:12]}.classpath"
    with contextlib.suppress(OSError):
        jars = tuple(listing.read_text(encoding="utf-8").split(os.pathsep))
        if all(map(os.path.isfile, jars)):
            return jars
    jars = _ask_maven(pom, ", ".join(map(str, dependencies)))
    with contextlib.suppress(OSError):  # Without the listing, Maven runs again next time.
        listing.parent.mkdir(parents=True, exist_ok=True)
        temporary = listing.with_suffix(f".{os.getpid()}")
        temporary.write_text(os.pathsep.join(jars), encoding="utf-8")
        temporary.replace(listing)
    return jars


def _entry(dependency: Dependency) -> str:
    exclusions = "".join(_EXCLUSION.format(*name.split(":")) for name in dependency.without)
    return _DEPENDENCY.format(*dependency.coordinates.split(":"), exclusions=exclusions)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache"), "assignor-sim", "java")


def _ask_maven(pom: str, what: str) -> tuple[str, ...]:
    maven = shutil.which("mvn")
    if maven is None:
        raise UnknownAssignorError(
            f"the jars of {what} were not used here before, and Maven (mvn), which finds them, is not on PATH"
        )
    with tempfile.TemporaryDirectory(prefix="assignor-sim-") as folder:
        project, output = Path(folder, "pom.xml"), Path(folder, "class-path")
        project.write_text(pom, encoding="utf-8")
        command = [
            maven,
            "-B",
            "-ntp",
            "-q",
            "-f",
            str(project),
            f"{DEPENDENCY_PLUGIN}:build-classpath",
            f"-Dmdep.outputFile={output}",
        ]
        try:
            done = subprocess.run(
                [*command, "-DincludeScope=runtime"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_TIMEOUT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UnknownAssignorError(f"Maven could not provide {what}: {error}") from error
        if done.returncode != 0 or not output.is_file():
            raise UnknownAssignorError(f"Maven could not provide {what}: {_reason(done.stdout + done.stderr)}")
        return tuple(output.read_text(encoding="utf-8").strip().split(os.pathsep))


def _reason(log: str) -> str:
    """Return the first error in Maven's output, without colors, level and the names of the temporary project."""
    lines = [line.partition("[ERROR]")[2].strip() for line in log.splitlines() if "[ERROR]" in line]
    reason = next((line for line in lines if line), log.strip() or "no output")
    reason = re.sub(r"^Failed to execute goal .*?class-path:jar:1: | -> \[Help \d+\].*$", "", reason)
    return reason if len(reason) <= _MAX_CHARS else f"{reason[:_MAX_CHARS]} …"
