"""The JDK's own collections, as a program that answers cases."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Ask = Callable[[list[str]], list[list[int]]]


@pytest.fixture(scope="package")
def ask_java(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    classes = str(tmp_path_factory.mktemp("classes"))
    program = str(Path(__file__).parent / "JavaCollections.java")
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if os.environ.get("JAVA_HOME") else "java"
    subprocess.run([java, "-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", classes, program], check=True)

    def ask(cases: list[str]) -> list[list[int]]:
        command = [java, "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", classes, "JavaCollections"]
        completed = subprocess.run(command, input="\n".join(cases), text=True, capture_output=True, check=True)
        return [[int(word) for word in line.split()] for line in completed.stdout.splitlines()]

    return ask
