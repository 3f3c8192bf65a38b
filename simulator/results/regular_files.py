"""Reading files of unknown origin: regular files only, of a limited size, opened once."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

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
