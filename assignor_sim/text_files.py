"""Files and standard streams: `-` is standard input or output, `.gz` is compressed, a file is written whole or not."""

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
    """Open a text file to read, compressed or not."""
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
    """Open a text file to write; it appears under its name when all of it is there, and not at all otherwise."""
    if path == STANDARD:
        yield sys.stdout
        sys.stdout.flush()
        return
    handle, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            binary = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else raw
            with io.TextIOWrapper(binary, encoding="utf-8") as text:
                yield text
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a whole text."""
    with open_to_write(path) as target:
        target.write(text)
