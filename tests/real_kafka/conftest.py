"""A broker of Kafka 4.4 with a custom assignor, for all tests of streams groups without Kafka Streams."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_kafka.streams_group import SOURCE, coordinator
from tests.real_kafka.streams_members.protocol import ProtocolConnection, classpath
from tools.java import find_executable


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the predictions first: they take longest, and all other files can run beside them (`--dist=loadfile`)."""
    items.sort(key=lambda item: item.path.name != "test_predictions.py")


@pytest.fixture(scope="session")
def custom_classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a custom assignor in a temporary folder."""
    folder = tmp_path_factory.mktemp("classes")
    javac = find_executable("javac", "a JDK, version 17 or newer")
    command = [javac, "-Xlint:all,-classfile", "-d", str(folder), "-classpath", classpath(), str(SOURCE)]
    subprocess.run(command, check=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def connection(custom_classes: Path) -> Iterator[ProtocolConnection]:
    """Yield a connection to a broker, which closes connections that are idle (`connections.max.idle.ms`)."""
    with coordinator(custom_classes) as connected:
        yield connected
