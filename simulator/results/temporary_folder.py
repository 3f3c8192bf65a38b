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

    The first call also removes the folders of processes that have ended: the system releases their locks. Raises
    OSError if it cannot be created.
    """
    lock, handle = _new_lock()
    folder = lock.with_suffix("")
    folder.mkdir(mode=0o700)
    atexit.register(_remove, folder, lock, handle, os.getpid())
    return folder


def _new_lock() -> tuple[Path, int]:
    """Create a lock file and lock it; a folder of the same name without `.lock` belongs to this process.

    The lock is older than its folder, so a folder without a lock is never in use. Returns the file, and its open
    descriptor.
    """
    while True:
        shared = _shared_folder()
        # A process that ends at the same time removes the shared folder if it is empty.
        with contextlib.suppress(FileNotFoundError):
            _remove_unused(shared)
            handle, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=".lock", dir=shared)
            fcntl.flock(handle, fcntl.LOCK_EX)
            # Another process may have removed the file between its creation and its lock.
            if os.fstat(handle).st_nlink:
                return Path(name), handle
            os.close(handle)


def _shared_folder() -> Path:
    """Return the folder of this user in the system's temporary folder; another one if that is not this user's."""
    folder = Path(tempfile.gettempdir(), f"assignor-sim-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
        return folder
    return Path(tempfile.mkdtemp(prefix="assignor-sim-"))


def _remove_unused(shared: Path) -> None:
    """Remove the folders of processes that have ended.

    Java may write to a folder after its command has ended and removed the lock, so folders without a lock are removed,
    too.
    """
    for path in shared.iterdir():
        if path.suffix == ".lock":
            _remove_if_unused(path)
        elif not path.with_name(f"{path.name}.lock").exists():
            shutil.rmtree(path, ignore_errors=True)


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
