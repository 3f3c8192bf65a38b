"""Writing files and directories: one writer at a time, and readers see the old content or the new one at any moment.

Content is prepared as `.NAME.part` beside the target, and then takes its place in one operation of the file system. A
lock `.NAME.lock` excludes other writers. The system releases it when its process ends, also by SIGKILL; the next writer
removes what a killed one has left.

Files of unknown origin are read only if they are regular and of a limited size, and are opened once.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import re
import shutil
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


def csv_cell(value: Any) -> Any:
    """Return a value of a CSV table; text that a spreadsheet would read as a formula begins with an apostrophe."""
    is_formula = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value


# Opening a pipe waits for a writer, unless it is opened so. Windows lacks these flags, but has one for bytes.
_FLAGS: Final = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))

MAX_DOCUMENT_BYTES: Final = 256_000_000
"""Maximum size of a manifest or of another document of results: about 500,000 rebalances of stored results."""


class NotRegularError(OSError):
    """A path of something else than a regular file, such as a folder, a pipe or a device."""


def open_regular(path: Path, max_bytes: int | None = None) -> BinaryIO:
    """Open a regular file for reading; a pipe, which would block, or a device without an end is not opened.

    `max_bytes`: maximum size in bytes; None for no limit. Raises NotRegularError if the path is of something else.
    Raises OSError if the file cannot be opened, or is larger; the message has the path. Raises ValueError if the path
    cannot be one of a file, because it has a null character.
    """
    handle = os.open(path, _FLAGS)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise NotRegularError(errno.EINVAL, "not a regular file", str(path))
        if max_bytes is not None and found.st_size > max_bytes:
            raise OSError(errno.EFBIG, f"longer than {max_bytes:,} bytes", str(path))
    except OSError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def read_document(path: Path) -> str:
    """Return the content of a regular UTF-8 file of at most `MAX_DOCUMENT_BYTES`.

    Raises OSError as for `open_regular`; and ValueError if the content is not UTF-8, or the path has a null character.
    """
    with open_regular(path, MAX_DOCUMENT_BYTES) as file:
        return file.read(MAX_DOCUMENT_BYTES).decode("utf-8")


CANNOT_WRITE: Final = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO})
"""Errors of writing to an open file, with which the system names no file: the disk or a quota is full, or it fails."""

_EXCHANGE = 2
"""`RENAME_EXCHANGE` of Linux, and `RENAME_SWAP` of macOS."""

_CURRENT_FOLDER = -100 if sys.platform.startswith("linux") else -2
_HELD: dict[tuple[str, int], int] = {}
"""How often each thread holds the lock of each target."""


class LockedError(OSError):
    """Another process writes to the same target; the message names it."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


@contextmanager
def output_lock(target: Path) -> Iterator[Path]:
    """Lock a file or directory for writing, and remove what killed writers have left beside it.

    A thread may take the lock again while it holds it. A link stays: what it points to is written. `target`: the file
    or directory; its parent must exist. Yields the path `.NAME.part` beside it, which does not exist when the lock is
    taken. Raises LockedError if another process, or another thread, holds the lock; and OSError if the lock cannot be
    created, or nothing can be written to such a path.
    """
    target = local_target(target)
    part = target.with_name(f".{target.name}.part")
    key = (str(target), threading.get_ident())
    if key in _HELD:
        _HELD[key] += 1
        try:
            yield part
        finally:
            _HELD[key] -= 1
        return
    lock = target.with_name(f".{target.name}.lock")
    with _locked_file(lock, target):
        _HELD[key] = 1
        try:
            remove(part)
            yield part
        finally:
            del _HELD[key]
            with contextlib.suppress(OSError):
                remove(part)
            with contextlib.suppress(OSError):
                lock.unlink()


@contextmanager
def replaced_file(target: Path) -> Iterator[BinaryIO]:
    """Write a file; an existing one is replaced only if the block ends without an exception.

    `target`: the file; its parent must exist. Raises LockedError if another process writes the file. Raises OSError if
    the file cannot be written; the message names it.
    """
    with file_lock(target) as part:
        try:
            with part.open("wb") as file:
                yield file
            os.replace(part, local_target(target))
        except OSError as error:
            if str(part) != error.filename and (error.filename is not None or error.errno not in CANNOT_WRITE):
                raise  # Not an error of writing, which does not say of which file.
            raise OSError(error.errno, f"cannot be written: {error.strerror}", str(target)) from error


@contextmanager
def file_lock(target: Path) -> Iterator[Path]:
    """Take `output_lock` of a file; an error names the file, and not the lock, which users do not know.

    Yields the path `.NAME.part` beside it. Raises LockedError if another process writes the file, and OSError if the
    file cannot be written.
    """
    with contextlib.ExitStack() as stack:
        try:
            part = stack.enter_context(output_lock(target))
        except LockedError:
            raise
        except OSError as error:
            raise OSError(error.errno, f"cannot be written: {error.strerror}", str(target)) from error
        yield part


def write_file(target: Path, content: bytes) -> None:
    """Write a file as `replaced_file` does."""
    with replaced_file(target) as file:
        file.write(content)


def remove_leftovers(target: Path) -> None:
    """Remove what killed writers have left beside a file or directory that need not be written, if that is possible."""
    with contextlib.suppress(OSError), output_lock(target):
        pass


def replace_directory(part: Path, target: Path) -> None:
    """Move a directory to its place; the old content is removed afterwards.

    The exchange is one operation on Linux and macOS, on file systems that support it. On others, a killed writer may
    leave the target missing for the moment between two operations.
    """
    target = local_target(target)
    if not target.exists():
        part.rename(target)
    elif _exchange(part, target):
        remove(part)
    else:
        old = target.with_name(f".{target.name}.old")
        remove(old)
        target.rename(old)
        part.rename(target)
        remove(old)


def local_target(target: Path) -> Path:
    """Return the absolute path that is written for a file or directory: a link stays, what it points to is written.

    Raises OSError if the path is an address, a loop of links, or a link to a place in a folder that does not exist.
    """
    if (scheme := re.match(r"(\w{2,}):/", str(target))) is not None:
        raise OSError(errno.EINVAL, f"it is an address ({scheme[1]}:), not a local path", str(target))
    for link in (target, *target.parents):
        if not link.is_symlink():
            continue
        found = Path(os.path.realpath(link))
        if found.is_symlink():
            raise OSError(errno.ELOOP, f"{link} links back to itself", str(target))
        missing = found if link != target else found.parent
        if not missing.exists():
            raise OSError(errno.ENOENT, f"{link} is a link to {found}, but {missing} does not exist", str(target))
    return Path(os.path.realpath(target)) if target.is_symlink() else target.absolute()


def remove(path: Path) -> None:
    """Remove a file, or a directory with its content; do nothing if it does not exist."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _locked_file(lock: Path, target: Path) -> Iterator[None]:
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(handle, 1000, 0)
            os.close(handle)
            raise LockedError(errno.EWOULDBLOCK, f"in use by {_describe(owner)}", str(target)) from None
        except BaseException:
            os.close(handle)
            raise
        # The former owner may have removed the file between opening and locking.
        with contextlib.suppress(FileNotFoundError):
            if os.stat(lock).st_ino == os.fstat(handle).st_ino:
                break
        os.close(handle)
    try:
        os.ftruncate(handle, 0)
        with contextlib.suppress(OSError):  # On a full disk, the lock holds without the name of its owner.
            os.pwrite(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        yield
    finally:
        os.close(handle)


def _describe(owner: bytes) -> str:
    try:
        content = json.loads(owner)
        return f"process {int(content['pid'])} on {ascii(content['host'])[1:-1]}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two directories; return False if the system cannot."""
    name = "renameat2" if sys.platform.startswith("linux") else "renameatx_np"
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return False
    paths = os.fsencode(first), os.fsencode(second)
    if function(_CURRENT_FOLDER, paths[0], _CURRENT_FOLDER, paths[1], ctypes.c_uint(_EXCHANGE)) == 0:
        return True
    if ctypes.get_errno() in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(second))
