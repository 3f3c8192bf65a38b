"""Text files and standard streams: `-` is standard input or output, `.gz` is compressed; writing is atomic."""

from __future__ import annotations

import errno
import gzip
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from simulator.results.files import file_lock, local_target, replaced_file

STANDARD = Path("-")


@contextmanager
def open_to_read(path: Path) -> Iterator[TextIO]:
    """Open a text file for reading, compressed or not."""
    if path == STANDARD:
        yield sys.stdin
    elif path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as compressed:
            yield io.TextIOWrapper(compressed.buffer, encoding="utf-8")
    else:
        with path.open(encoding="utf-8") as plain:
            yield plain


def check_output(path: Path | None, option: str, *, makes_folder: bool = False) -> None:
    """Check that a file can be written, before the work whose result it holds.

    `path`: the file; None and `-` can be written. `option`: the option that names it, for messages. `makes_folder` says
    whether its folder is created if it does not exist. Raises OSError if the file cannot be written.
    """
    if path is None or path == STANDARD or _is_device(path):
        return
    place = f"{option} {path}"
    if path.is_dir():
        raise OSError(errno.EISDIR, "is a directory, expected a file", place)
    try:
        parent = local_target(path).parent
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", place) from None
    if makes_folder:
        parent = next(folder for folder in (parent, *parent.parents) if folder.exists())
    if not parent.is_dir():
        problem = "is not a directory" if parent.exists() else "does not exist"
        raise OSError(errno.ENOTDIR, f"the folder {path.parent} {problem}", place)
    if not makes_folder or path.parent.is_dir():
        with file_lock(path):
            pass


@contextmanager
def open_to_write(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing; an existing file is replaced only if the block ends without an exception."""
    if path == STANDARD:
        yield sys.stdout
        sys.stdout.flush()
        return
    if _is_device(path):
        with path.open("w", encoding="utf-8") as stream:
            yield stream
        return
    with replaced_file(path) as raw:
        binary = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else raw
        with io.TextIOWrapper(binary, encoding="utf-8") as text:
            yield text


def write_text(path: Path, text: str) -> None:
    """Write a text to a file."""
    with open_to_write(path) as stream:
        stream.write(text)


def json_text(content: Any) -> str:
    """Return JSON as commands print it and as files hold it, with a newline at its end."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _is_device(path: Path) -> bool:
    """Return whether a path is of a device or a pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()
