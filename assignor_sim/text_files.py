"""Text files and standard streams: `-` is standard input or output, `.gz` is compressed; writing is atomic."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

STANDARD = Path("-")


@contextmanager
def open_to_read(path: Path) -> Iterator[TextIO]:
    """Open a text file for reading, compressed or not.

    Yields:
        The stream.
    """
    if path == STANDARD:
        yield sys.stdin
    elif path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as compressed:
            yield io.TextIOWrapper(compressed.buffer, encoding="utf-8")
    else:
        with path.open(encoding="utf-8") as plain:
            yield plain


@contextmanager
def open_to_write(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing; an existing file is replaced only if the block ends without an exception.

    Yields:
        The stream.
    """
    if path == STANDARD:
        yield sys.stdout
        sys.stdout.flush()
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            binary = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else raw
            with io.TextIOWrapper(binary, encoding="utf-8") as text:
                yield text
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text to a file."""
    with open_to_write(path) as stream:
        stream.write(text)
