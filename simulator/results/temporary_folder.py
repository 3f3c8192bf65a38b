"""The folder for temporary files of this process; the next process removes that of a killed one."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path


@cache
def temporary_folder() -> Path:
    """Return a folder that only this user can read, and that is removed when this process ends.

    The first call also removes the folders of processes that were killed: the system releases their locks.

    Raises:
        OSError: it cannot be created.
    """
    shared = _shared_folder()
    for lock in shared.glob("*.lock"):
        _remove_if_unused(lock)
    folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=shared))
    lock = folder.with_suffix(".lock")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    atexit.register(_remove, folder, lock, handle, os.getpid())
    return folder


def _shared_folder() -> Path:
    """Return the folder of this user in the system's temporary folder; another one if that is not this user's."""
    folder = Path(tempfile.gettempdir(), f"assignor-sim-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
        return folder
    return Path(tempfile.mkdtemp(prefix="assignor-sim-"))


def _remove_if_unused(lock: Path) -> None:
    with contextlib.suppress(OSError):  # Another process has removed it, or holds the lock.
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink()
        finally:
            os.close(handle)


def _remove(folder: Path, lock: Path, handle: int, process: int) -> None:
    if os.getpid() != process:  # a fork
        return
    shutil.rmtree(folder, ignore_errors=True)
    lock.unlink(missing_ok=True)
    os.close(handle)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()
