"""Find the class that a reference names, and describe it as an assignor."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from assignors.built_in_assignors import BUILT_IN, NOT_PASSED_TO_BROKERS, AssignorInfo
from assignors.errors import UnknownAssignorError
from assignors.jvm.assignor import JavaClass, MakeCoordinatorAssignor, MakeJavaAssignor
from assignors.jvm.reference import COORDINATOR, NEWEST, STREAMS, JavaReference, KafkaArtifact, parse_reference
from assignors.jvm.released_jars import released_jars

_COORDINATOR_PACKAGE: Final = b"org/apache/kafka/coordinator/group/api/streams/assignor/"
_SHORT_NAMES: Final = {"sticky": "streams_group_sticky"}
"""Names of assignors of a coordinator, in addition to those of this project."""


def load_java(text: str) -> AssignorInfo:
    """Return the assignor that a reference names; starts the JVM of this process to check it.

    Args:
        text: the reference; see `assignors.jvm.reference`.

    Returns:
        The description; its name is the reference, so that another process can load the assignor again. Kafka's own
        has the default costs and the ignored configs of its equivalent in this project.

    Raises:
        UnknownAssignorError: the text is not a reference, a jar or a class is missing, or the class is no assignor.
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
