"""Finding Java: its release as printed, whatever a program named java prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assignors.errors import UnknownAssignorError
from assignors.jvm.process import find_java, java_release


@pytest.fixture(autouse=True)
def forgets_java() -> Iterator[None]:
    find_java.cache_clear()
    yield
    find_java.cache_clear()


@pytest.mark.parametrize(
    ("printed", "release"),
    [
        ('openjdk version "17.0.15" 2025-04-15', (17, "17.0.15")),
        ('java version "1.8.0_452"', (8, "8.0_452")),
        ('openjdk version "21" 2023-09-19', (21, "21")),
        ('openjdk version "25-ea" 2025-09-16', (25, "25-ea")),
        ("Unrecognized option: -version", None),
        (f'version "{"9" * 5_000}"', None),
    ],
)
def test_release_is_read(printed: str, release: tuple[int, str] | None) -> None:
    assert java_release(printed) == release


def test_program_with_an_endless_version_is_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{'9' * 5_000}\"' >&2\n", encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UnknownAssignorError, match="prints no version"):
        find_java()
