"""Find the class that a reference names, and describe it as an assignor.

The jars of released artifacts: from the local Maven repository, or downloaded by Maven.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from assignors.built_in_assignors import BUILT_IN, NOT_PASSED_TO_BROKERS, AssignorInfo
from assignors.errors import UnknownAssignorError
from assignors.jvm.assignor import JavaClass, MakeCoordinatorAssignor, MakeJavaAssignor
from assignors.jvm.reference import COORDINATOR, NEWEST, STREAMS, JavaReference, KafkaArtifact, parse_reference

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
      <version>{2}</version>{classifier}
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
        classifier: which of the artifact's jars, such as `test`; empty for the main one.
    """

    coordinates: str
    without: tuple[str, ...] = ()
    classifier: str = ""

    def __str__(self) -> str:
        return " ".join(self.coordinates.split(":")[1:])


def released_jars(kafka: KafkaArtifact) -> tuple[str, ...]:
    """Return the jars of a release with their dependencies, as `jars_of` does."""
    return jars_of([Dependency(f"org.apache.kafka:{kafka.name}:{kafka.version}", _NOT_FOR_ASSIGNORS)])


def jars_of(dependencies: Sequence[Dependency]) -> tuple[str, ...]:
    """Return the jars of artifacts and of all that they depend on; Maven runs only the first time.

    `dependencies`: artifacts; of two versions of another one, the first artifact's counts. Returns paths of jars in the
    local Maven repository. Raises UnknownAssignorError if the jars are not there, and Maven is missing or cannot
    download them.
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
    classifier = f"\n      <classifier>{dependency.classifier}</classifier>" if dependency.classifier else ""
    return _DEPENDENCY.format(*dependency.coordinates.split(":"), exclusions=exclusions, classifier=classifier)


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


_COORDINATOR_PACKAGE: Final = b"org/apache/kafka/coordinator/group/api/streams/assignor/"
_SHORT_NAMES: Final = {"sticky": "streams_group_sticky"}
"""Names of assignors of a coordinator, in addition to those of this project."""


def load_java(text: str) -> AssignorInfo:
    """Return the assignor that a reference names; starts the JVM of this process to check it.

    `text`: the reference; see `assignors.jvm.reference`. Returns the description; its name is the reference, so that
    another process can load the assignor again. Kafka's own has the default costs and the ignored configs of its
    equivalent in this project. Raises UnknownAssignorError if the text is not a reference, a jar or a class is missing,
    or the class is no assignor.
    """
    reference = parse_reference(text)
    try:
        java, equivalent = _find(reference)
        java.load()
    except UnknownAssignorError as error:
        raise UnknownAssignorError(f"cannot load assignor '{text}': {error}") from error
    make = MakeCoordinatorAssignor(java) if java.interface == "coordinator" else MakeJavaAssignor(java)
    if equivalent is not None and java.is_released:
        version = "" if reference.kafka is None else reference.kafka.version
        return replace(
            equivalent,
            name=text,
            make=make,
            summary=f"{equivalent.kafka_class} of Kafka {version}, run in Java",
            kafka_version=version,
            aliases=(),
            releases=(),
            release="",
            identical=False,
        )
    in_streams_groups = java.interface == "coordinator"
    return AssignorInfo(
        text,
        make,
        summary=f"{java.name}, run in Java",
        in_streams_groups=in_streams_groups,
        ignored_configs=NOT_PASSED_TO_BROKERS if in_streams_groups else (),
    )


def _find(reference: JavaReference) -> tuple[JavaClass, AssignorInfo | None]:
    """Return the class with its class path, and Kafka's assignor of this project that it is."""
    paths = tuple(_absolute(reference.paths))
    artifact = reference.kafka.name if reference.kafka else _artifact(paths, reference.name)
    kafka = reference.kafka or KafkaArtifact(artifact, NEWEST[artifact])
    equivalent = _built_in(reference.name, artifact)
    if reference.is_released and equivalent is None and "." not in reference.name:
        names = ", ".join(_names(artifact))
        raise UnknownAssignorError(f"{artifact} has no assignor '{reference.name}' (expected: a class, or {names})")
    name = equivalent.qualified_class if equivalent is not None and reference.is_released else reference.name
    classes = (*paths, *released_jars(kafka))
    interface = "coordinator" if artifact == COORDINATOR else "streams"
    key = "|".join((name, interface, *classes, *map(_version, paths)))
    return JavaClass(reference.text, name, interface, classes, key, reference.is_released), equivalent


def _built_in(name: str, artifact: str) -> AssignorInfo | None:
    """Return Kafka's assignor by its name in this project, or by its class."""
    plain = _SHORT_NAMES.get(name, name) if artifact == COORDINATOR else name
    for info in _of_artifact(artifact):
        if plain in (info.name, *info.aliases, *info.class_names):
            return info
    return None


def _of_artifact(artifact: str) -> Iterator[AssignorInfo]:
    for info in BUILT_IN:
        if info.kafka_class and info.in_streams_groups == (artifact == COORDINATOR):
            yield info


def _names(artifact: str) -> Iterator[str]:
    if artifact == COORDINATOR:
        yield from _SHORT_NAMES
    else:
        for info in _of_artifact(artifact):
            yield from (info.name, *info.aliases)


def _absolute(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        absolute = os.path.abspath(os.path.expanduser(path))
        if not os.path.exists(absolute):
            raise UnknownAssignorError(f"there is no jar or folder {path}")
        if not os.path.isdir(absolute) and not zipfile.is_zipfile(absolute):
            raise UnknownAssignorError(f"{path} is not a jar")
        yield absolute


def _version(path: str) -> str:
    """Return what changes when a jar or the classes in a folder change."""
    files = sorted(Path(path).rglob("*.class")) if os.path.isdir(path) else [Path(path)]
    return ",".join(f"{file.stat().st_mtime_ns}:{file.stat().st_size}" for file in files)


def _artifact(paths: Sequence[str], name: str) -> str:
    """Return the artifact with the interface of a class: its code names the types that its methods take."""
    file = name.replace(".", "/") + ".class"
    for path in paths:
        with suppress(KeyError, OSError, zipfile.BadZipFile):
            if os.path.isdir(path):
                code = Path(path, file).read_bytes()
            else:
                with zipfile.ZipFile(path) as jar:
                    code = jar.read(file)
            return COORDINATOR if _COORDINATOR_PACKAGE in code else STREAMS
    raise UnknownAssignorError(f"its jars have no class {name}")
