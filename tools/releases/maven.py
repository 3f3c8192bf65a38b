"""Releases on Maven Central that this project does not know."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from assignors.jvm.loading import DEPENDENCY_PLUGIN
from assignors.kafka_releases import BROKERS, CLIENTS
from tools.artifacts import HELP_PLUGIN
from tools.java import ClusterError, find_executable

ARTIFACTS: Final[Mapping[str, Mapping[str, str]]] = {"kafka-streams": CLIENTS, "kafka-group-coordinator": BROKERS}
"""Artifacts whose releases are followed, with the known patch of each minor release."""

LIMIT_S: Final = 300

_RELEASE = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_GET = f"{DEPENDENCY_PLUGIN}:get"
_EVALUATE = f"{HELP_PLUGIN}:evaluate"


def run_new() -> int:
    """List releases on Maven Central that the project does not know; return 1 if there are any."""
    repository = local_repository()
    unknown = [
        f"{artifact} {release}"
        for artifact, known in ARTIFACTS.items()
        for release in unknown_releases(released_versions(repository, artifact), known)
    ]
    if unknown:
        print(f"Not known to this project: {', '.join(unknown)} (see docs/reference/releases.md).")
        return 1
    known_patches = "; ".join(f"{artifact} {', '.join(known.values())}" for artifact, known in ARTIFACTS.items())
    print(f"No unknown release ({known_patches}).")
    return 0


def released_versions(repository: Path, artifact: str) -> list[str]:
    """Return all versions of an artifact of Kafka, after Maven has updated its metadata.

    `repository`: Maven's local repository, where Maven keeps the metadata; `artifact`: artifact of the group
    `org.apache.kafka`. Raises ClusterError if Maven fails, or stores no metadata.
    """
    _run_maven("-U", _GET, f"-Dartifact=org.apache.kafka:{artifact}:LATEST:pom", "-Dtransitive=false")
    folder = repository / "org" / "apache" / "kafka" / artifact
    # The file name has the id of the repository, which a mirror may change; "local" are versions built here.
    sources = [path for path in sorted(folder.glob("maven-metadata-*.xml")) if path.stem != "maven-metadata-local"]
    versions = [version for path in sources for version in parse_versions(path.read_text(encoding="utf-8"), str(path))]
    if not versions:
        raise ClusterError(f"{folder}: Maven stored no metadata of {artifact}")
    return list(dict.fromkeys(versions))


def parse_versions(text: str, name: str) -> list[str]:
    """Return the versions in a `maven-metadata.xml`.

    `text`: content of the file; `name`: name of the file, for messages. Raises ClusterError if the text is not such a
    file.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ClusterError(f"{name}: not XML: {error}") from None
    versions = [(element.text or "").strip() for element in root.findall("./versioning/versions/version")]
    if root.tag != "metadata" or not versions:
        raise ClusterError(f"{name}: no versions (expected: metadata/versioning/versions/version)")
    return versions


def unknown_releases(versions: Iterable[str], known: Mapping[str, str]) -> list[str]:
    """Return the releases that are newer than the known patch of their minor release, oldest first.

    Release candidates, and minor releases before the oldest known one, do not count.
    """
    patches = {patch[:2]: patch for patch in sorted(_numbers(patch) for patch in known.values())}
    oldest = min(patches)
    numbers = sorted({_numbers(version) for version in versions if _RELEASE.fullmatch(version)})
    return [".".join(map(str, number)) for number in _newer(numbers, patches, oldest)]


def _newer(
    numbers: Iterable[tuple[int, ...]], patches: Mapping[tuple[int, ...], tuple[int, ...]], oldest: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    for number in numbers:
        minor = number[:2]
        if minor >= oldest and (minor not in patches or number > patches[minor]):
            yield number


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def local_repository() -> Path:
    """Return Maven's local repository; raise ClusterError if Maven is missing or fails."""
    return Path(_run_maven("-q", _EVALUATE, "-Dexpression=settings.localRepository", "-DforceStdout").strip())


def _run_maven(*arguments: str) -> str:
    command = [find_executable("mvn", "Maven"), "-B", "-ntp", *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise ClusterError(f"mvn {' '.join(arguments)}: timeout after {LIMIT_S} s") from None
    if done.returncode != 0:
        output = "\n".join(done.stdout.splitlines()[-20:])
        raise ClusterError(f"mvn {' '.join(arguments)}: exit code {done.returncode}:\n{output}")
    return _COLOR.sub("", done.stdout)  # Maven resets the color even if it prints none.
