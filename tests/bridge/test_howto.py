"""The how-to on Java assignors: its class compiles, and its commands print what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from assignors.jvm.loading import released_jars
from assignors.jvm.reference import STREAMS, KafkaArtifact
from assignors.kafka_releases import CLIENTS
from tools.examples import parts

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "try-a-java-assignor.md").read_text(encoding="utf-8")
BLOCKS = list(parts(PAGE))
MAX_LINES = 35


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the class, compiled by the command of the page, and the jars that it names."""
    folder = tmp_path_factory.mktemp("howto")
    [source] = [block for block in BLOCKS if block.language == "java"]
    assert source.text.count("\n") <= MAX_LINES
    (folder / "StayHome.java").write_text(source.text, encoding="utf-8")
    for jar in released_jars(KafkaArtifact(STREAMS, CLIENTS["4.3"])):
        (folder / Path(jar).name).symlink_to(jar)
    [compilation] = [block.text for block in BLOCKS if block.text.startswith("javac ")]
    subprocess.run(compilation, shell=True, cwd=folder, check=True, timeout=120)
    with zipfile.ZipFile(folder / "assignors.jar", "w") as jar:
        jar.write(folder / "classes/org/example/StayHome.class", "org/example/StayHome.class")
    return folder


def test_command_prints_what_is_shown(folder: Path) -> None:
    [number] = [number for number, block in enumerate(BLOCKS) if block.text.startswith("assignor-sim run slow")]
    done = run(folder, BLOCKS[number].text)
    assert done.returncode == 0, done.stderr
    shown = BLOCKS[number + 1].text
    assert done.stdout.startswith(shown), done.stdout


def test_two_builds_are_compared(folder: Path) -> None:
    [command] = [block.text for block in BLOCKS if block.text.startswith("assignor-sim compare")]
    done = run(folder, command)
    assert done.returncode == 0, done.stderr


def test_verbose_command_prints_times_of_java(folder: Path) -> None:
    done = run(folder, "assignor-sim -v run order_processing --assignor java:org.example.StayHome@classes")
    times = r"^java:org\.example\.StayHome@classes: \d+ calls; in Java, median [\d.]+ ms, .*; bridge [\d.e+]+ ms more$"
    assert re.search(times, done.stderr, re.MULTILINE), done.stderr
    assert re.search(r"^Java \S+: started in [\d.]+ s, peak heap \d+ MiB$", done.stderr, re.MULTILINE)


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the page in its folder, in 80 columns, with this checkout."""
    program = f"{sys.executable} -m assignor_sim"
    return subprocess.run(
        command.replace("assignor-sim", program, 1),
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        check=False,
    )
