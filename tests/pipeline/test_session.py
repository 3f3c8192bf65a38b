"""Java processes of killed commands are ended."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import pytest

from pipeline.session import _end_orphans
from simulator.results.temporary_folder import temporary_folder

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found on Linux only")


def start(folder: str) -> subprocess.Popen[bytes]:
    """Start a process with an argument of Java."""
    code = "import time; print(flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", code, f"-Djava.io.tmpdir={folder}", "SparkSubmit"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_java_without_its_folder_is_ended_and_others_are_kept() -> None:
    own = temporary_folder()
    orphan, used, foreign = start(f"{own.parent}/4711-gone"), start(str(own)), start(f"{tempfile.gettempdir()}/gone")
    try:
        _end_orphans()
        assert orphan.wait(10) == -9
        assert used.poll() is None
        assert foreign.poll() is None
    finally:
        for process in (orphan, used, foreign):
            process.kill()
            process.communicate()
