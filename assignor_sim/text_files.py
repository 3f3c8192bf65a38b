"""Text files and standard streams: `-` is standard input or output, `.gz` is compressed; writing is atomic."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from assignor_sim.console.streams import CANNOT_WRITE
from simulator.results.output_lock import LockedError, output_lock, without_link

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

    Raises:
        LockedError: another process writes the file.
        OSError: the file cannot be written.
    """
    if path == STANDARD:
        yield sys.stdout
        sys.stdout.flush()
        return
    if path.exists() and not path.is_file():  # a device or a pipe
        with path.open("w", encoding="utf-8") as stream:
            yield stream
        return
    with ExitStack() as stack:
        try:
            part = stack.enter_context(output_lock(path))
        except LockedError:
            raise
        except OSError as error:
            # The system names the lock, which users do not know.
            raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error
        try:
            with part.open("wb") as raw:
                binary = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else raw
                with io.TextIOWrapper(binary, encoding="utf-8") as text:
                    yield text
        except OSError as error:
            if error.filename is None and error.errno in CANNOT_WRITE:  # A write does not say of which file.
                raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error
            raise
        os.replace(part, without_link(path))


def write_text(path: Path, text: str) -> None:
    """Write a text to a file."""
    with open_to_write(path) as stream:
        stream.write(text)
