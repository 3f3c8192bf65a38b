"""The jars of Kafka releases: from the local Maven repository, or downloaded by Maven."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from assignors.errors import UnknownAssignorError
from assignors.jvm.reference import KafkaArtifact

_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
_TIMEOUT_S: Final = 600.0
"""Enough to download the jars of a release, 15 to 40 MB."""

_MAX_CHARS: Final = 300

# RocksDB is 70 MB, and no assignor opens a store.
_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>assignor-sim</groupId>
  <artifactId>class-path</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>{name}</artifactId>
      <version>{version}</version>
      <exclusions>
        <exclusion>
          <groupId>org.rocksdb</groupId>
          <artifactId>*</artifactId>
        </exclusion>
      </exclusions>
    </dependency>
  </dependencies>
</project>
"""


def released_jars(kafka: KafkaArtifact) -> tuple[str, ...]:
    """Return the jars of a release with their dependencies; Maven runs only the first time.

    Args:
        kafka: the release.

    Returns:
        Paths of jars in the local Maven repository.

    Raises:
        UnknownAssignorError: the jars are not there, and Maven is missing or cannot download them.
    """
    listing = _cache_folder() / f"{kafka.name}-{kafka.version}.classpath"
    with contextlib.suppress(OSError):
        jars = tuple(listing.read_text(encoding="utf-8").split(os.pathsep))
        if all(map(os.path.isfile, jars)):
            return jars
    jars = _ask_maven(kafka)
    with contextlib.suppress(OSError):  # Without the listing, Maven runs again next time.
        listing.parent.mkdir(parents=True, exist_ok=True)
        temporary = listing.with_suffix(f".{os.getpid()}")
        temporary.write_text(os.pathsep.join(jars), encoding="utf-8")
        temporary.replace(listing)
    return jars


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache"), "assignor-sim", "java")


def _ask_maven(kafka: KafkaArtifact) -> tuple[str, ...]:
    maven = shutil.which("mvn")
    if maven is None:
        raise UnknownAssignorError(
            f"the jars of {kafka} were not used here before, and Maven (mvn), which finds them, is not on PATH"
        )
    with tempfile.TemporaryDirectory(prefix="assignor-sim-") as folder:
        pom, output = Path(folder, "pom.xml"), Path(folder, "class-path")
        pom.write_text(_POM.format(name=kafka.name, version=kafka.version), encoding="utf-8")
        command = [maven, "-B", "-ntp", "-q", "-f", str(pom), _PLUGIN, f"-Dmdep.outputFile={output}"]
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
            raise UnknownAssignorError(f"Maven could not provide {kafka}: {error}") from error
        if done.returncode != 0 or not output.is_file():
            raise UnknownAssignorError(f"Maven could not provide {kafka}: {_reason(done.stdout + done.stderr)}")
        return tuple(output.read_text(encoding="utf-8").strip().split(os.pathsep))


def _reason(log: str) -> str:
    """Return the first error in Maven's output, without colors, level and the names of the temporary project."""
    lines = [line.partition("[ERROR]")[2].strip() for line in log.splitlines() if "[ERROR]" in line]
    reason = next((line for line in lines if line), log.strip() or "no output")
    reason = re.sub(r"^Failed to execute goal .*?class-path:jar:1: | -> \[Help \d+\].*$", "", reason)
    return reason if len(reason) <= _MAX_CHARS else f"{reason[:_MAX_CHARS]} …"
