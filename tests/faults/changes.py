"""Changes of files in a folder, as Linux reports them (inotify)."""

from __future__ import annotations

import ctypes
import os
import select
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_MODIFY, _CLOSE_WRITE, _MOVED, _CREATE, _DELETE = 0x2, 0x8, 0xC0, 0x100, 0x200
_MASK = _MODIFY | _CLOSE_WRITE | _MOVED | _CREATE | _DELETE
_IS_FOLDER = 0x40000000
_HEADER = struct.Struct("iIII")
_POLL_MS = 100


class ChangeCounter:
    """Counts the changes in a folder and in the folders below it; a context manager.

    Args:
        folder: an existing folder.
    """

    def __init__(self, folder: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._handle = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders: dict[int, Path] = {}
        self.count = 0
        self._watch(folder)

    def __enter__(self) -> ChangeCounter:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def wait(self, count: int, is_over: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until a number of changes was counted; return False if the time or something else is over before."""
        deadline = time.monotonic() + timeout_s
        while self.count < count and time.monotonic() < deadline:
            if select.select([self._handle], [], [], _POLL_MS / 1000)[0]:
                self._read()
            elif is_over():
                break
        return self.count >= count

    def _watch(self, folder: Path) -> None:
        number = self._libc.inotify_add_watch(self._handle, os.fsencode(folder), _MASK)
        if number < 0:  # The command has removed it.
            return
        self._folders[number] = folder
        with suppress(OSError):  # The command removes it now.
            for child in folder.iterdir():
                if child.is_dir():
                    self._watch(child)

    def _read(self) -> None:
        buffer = os.read(self._handle, 65536)
        position = 0
        while position < len(buffer):
            number, mask, _, length = _HEADER.unpack_from(buffer, position)
            position += _HEADER.size + length
            self.count += 1
            if mask & _IS_FOLDER and mask & (_CREATE | _MOVED) and number in self._folders:
                name = buffer[position - length : position].rstrip(b"\0")
                self._watch(self._folders[number] / os.fsdecode(name))
