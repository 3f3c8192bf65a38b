"""One writer at a time; what a killed writer leaves is removed by the next one."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simulator.results import files as module
from simulator.results.files import LockedError, output_lock, replace_directory, replaced_file, write_file
from simulator.results.result_directory import ResultsError, reserved_directory, write_results

HOLD = """
import sys, time
from pathlib import Path
from simulator.results.files import output_lock
with output_lock(Path(sys.argv[1])) as part:
    part.mkdir()
    (part / "half").write_text("x")
    print("locked", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "results"


def start_holder(target: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(target)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    return process


def test_second_writer_is_refused_until_the_first_is_killed(target: Path) -> None:
    process = start_holder(target)
    try:
        with pytest.raises(ResultsError, match=f"results: cannot be written: in use by process {process.pid} on "):
            write_results(target, {}, {})
        with pytest.raises(ResultsError, match=f"in use by process {process.pid}"), reserved_directory(target):
            pass
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert {path.name for path in target.parent.iterdir()} == {".results.part", ".results.lock"}
    write_results(target, {}, {})
    assert [path.name for path in target.parent.iterdir()] == ["results"]


def test_lock_is_reentrant_in_a_thread_only(target: Path) -> None:
    errors: list[OSError] = []

    def lock() -> None:
        try:
            with output_lock(target):
                pass
        except LockedError as error:
            errors.append(error)

    with output_lock(target), output_lock(target):
        thread = threading.Thread(target=lock)
        thread.start()
        thread.join()
    assert str(errors[0]).startswith(f"{target}: in use by process {os.getpid()} on ")
    lock()
    assert len(errors) == 1
    assert not list(target.parent.iterdir())


@pytest.mark.parametrize("can_exchange", [True, False])
def test_directory_is_replaced(target: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool) -> None:
    if not can_exchange:
        monkeypatch.setattr(module, "_exchange", lambda first, second: False)
    for content in ("old", "new"):
        with output_lock(target) as part:
            part.mkdir()
            (part / content).touch()
            replace_directory(part, target)
    assert [path.name for path in target.iterdir()] == ["new"]
    assert [path.name for path in target.parent.iterdir()] == ["results"]


def test_readers_always_find_the_directory(target: Path) -> None:
    """Also at the moment of the replacement, if the file system supports the exchange."""
    missing: list[int] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            if not target.exists():
                missing.append(1)

    target.mkdir()
    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(200):
        with output_lock(target) as part:
            part.mkdir()
            replace_directory(part, target)
    ended.set()
    thread.join()
    assert not missing


def test_lock_on_a_full_disk_holds_and_is_removed(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", fail)
    with output_lock(target), ThreadPoolExecutor(1) as other:
        second = other.submit(output_lock(target).__enter__)
        with pytest.raises(LockedError, match="in use by another process"):
            second.result()
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("place", ["write", "replace"])
def test_failed_file_keeps_the_old_content_and_is_named(
    target: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    write_file(target, b"old")

    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def write() -> None:
        with replaced_file(target) as file:
            file.write(b"new")
            if place == "write":
                fail()

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="cannot be written") as raised:
        write()
    assert raised.value.filename == str(target)
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]
