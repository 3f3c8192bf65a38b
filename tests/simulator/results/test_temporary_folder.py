"""A process removes its temporary folder, and those of processes that were killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

CODE = """
import sys, time
from simulator.results.temporary_folder import temporary_folder
folder = temporary_folder()
(folder / "native.so").write_text("x")
print(folder, flush=True)
sys.stdin.read()
"""


def start(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", CODE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_folder_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path) -> None:
    killed, left = start(tmp_path)
    running, used = start(tmp_path)
    assert left.is_dir()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    last, own = start(tmp_path)
    assert not left.exists()
    assert used.is_dir()
    assert own.stat().st_mode & 0o77 == 0
    for process in (running, last):
        process.communicate("")
    assert not list(tmp_path.iterdir())


def test_folder_that_was_written_after_its_process_had_ended_is_removed(tmp_path: Path) -> None:
    shared = tmp_path / f"assignor-sim-{os.getuid()}"
    (shared / "4711-java").mkdir(parents=True)
    (shared / "4711-java" / "native.so").write_text("x")
    process, folder = start(tmp_path)
    assert [path.name for path in shared.iterdir() if path.suffix != ".lock"] == [folder.name]
    process.communicate("")
    assert not list(tmp_path.iterdir())


def test_folders_of_processes_that_start_at_once_are_kept(tmp_path: Path) -> None:
    started = [start(tmp_path) for _ in range(4)]
    assert all((folder / "native.so").exists() for _, folder in started)
    assert len({folder for _, folder in started}) == 4
    for process, _ in started:
        process.communicate("")
    assert not list(tmp_path.iterdir())


def test_foreign_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"assignor-sim-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    process, folder = start(tmp_path)
    process.communicate("")
    assert folder.parent.name.startswith("assignor-sim-")
    assert not list((tmp_path / "elsewhere").iterdir())
