"""Access to files on any file system that Spark supports: local paths and URIs such as `s3a://`, `gs://`, `hdfs://`.

All access goes through Spark's Hadoop file systems, so the settings of Spark apply; with Spark Connect, through
Arrow's.

A local file system renames a folder in one operation. An object store has no folders: it copies the objects one after
another, and a process may be killed after any of them. An object itself appears whole or not at all. Writers therefore
decide by the existence of a single file whether a folder is complete, and that file comes last.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.connect_session import is_connect, runs_on_this_machine
from pipeline.errors import SparkError
from pipeline.file_systems import open_file_system
from pipeline.spark_jobs import default_parallelism
from simulator.results.files import local_target, output_lock, read_document, replace_directory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_OPTIONS = {"parquet.writer.version": "v2", "parquet.enable.dictionary": "false"}
"""One encoding per column.

Parquet's Java library keeps the encodings of a column in a hash set of enum constants, whose order differs from process
to process, and writes them in that order.
"""


def write_parquet(table: DataFrame, folder: str) -> None:
    """Write a table; the same rows in the same partitions give the same bytes in every process.

    `folder`: path or URI; an existing folder is replaced.
    """
    table.write.mode("overwrite").options(**_OPTIONS).parquet(folder)


_MAX_TASKS = 100
_MAX_HOSTS = 3


def check_workers_see(spark: SparkSession, folder: Path) -> None:
    """Check that the workers of a cluster see a folder of this machine, where they would write tables.

    Otherwise, each of them would write to its own disk. With Spark Connect, the tables are looked for after they are
    written instead. Raises SparkError if some workers do not.
    """
    if is_connect(spark) or runs_on_this_machine(spark):
        return
    with tempfile.NamedTemporaryFile(prefix=".seen-by-workers-", dir=folder) as file:
        hosts = hosts_without(spark, Path(file.name))
    if hosts:
        more = f" and {len(hosts) - _MAX_HOSTS:,} more" if len(hosts) > _MAX_HOSTS else ""
        raise SparkError(
            f"{folder}: is on this machine, and the workers on {', '.join(hosts[:_MAX_HOSTS])}{more} do not see it; "
            "choose an --out that all machines see: a shared folder, or a URI such as hdfs:///FOLDER or s3a://BUCKET/FOLDER"
        )


def hosts_without(spark: SparkSession, file: Path) -> list[str]:
    """Return the sorted names of the hosts that run tasks and do not see a file."""
    tasks = min(default_parallelism(spark), _MAX_TASKS)
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(partial(_missing, str(file)), "host string").collect()
    return sorted({row["host"] for row in rows})


def _missing(path: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the host of this worker for each task if the file does not exist here."""
    schema = pa.schema([("host", pa.string())])
    for batch in batches:
        hosts = [] if os.path.exists(path) else [socket.gethostname()] * len(batch)
        yield pa.RecordBatch.from_arrays([pa.array(hosts, pa.string())], schema=schema)


_REPLACING, _CLEARED = "_replacing", "_cleared"
"""Files in a new folder while it replaces an old one: before the old one is removed, and after that."""


class Storage:
    """A root folder and the files in it, addressed by relative names.

    `spark`: the session whose file systems are used; `root`: a path on the machine of the driver, or a URI. Raises
    SparkError if the file system is unsupported or not reachable.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._spark = spark
        self._files = open_file_system(spark, root)

    @property
    def root(self) -> str:
        """Return the folder as an absolute URI, valid on executors, too."""
        return self._files.root

    @property
    def local_folder(self) -> Path | None:
        """Return the folder if it is on this machine; else None."""
        return self._files.local_folder

    def path(self, *names: str) -> str:
        """Return the URI of a file or folder in the root folder."""
        return "/".join((self.root.rstrip("/"), *names))

    def exists(self, *names: str) -> bool:
        """Return whether a file or folder exists."""
        return self._files.exists(names)

    def children(self, *names: str) -> list[str]:
        """Return the sorted names in a folder; empty if it does not exist."""
        return sorted(self._files.children(names))

    def files(self, *names: str) -> list[str]:
        """Return the sorted names of all files in a folder and its subfolders, relative to it; empty without one."""
        return sorted(self._files.files(names))

    def read_text(self, *names: str) -> str:
        """Return the content of a UTF-8 file.

        Raises SparkError if it is a local one that cannot be read, is not a regular file, or is too long.
        """
        if (folder := self.local_folder) is None:
            return self._files.read(names).decode()
        try:
            return read_document(folder.joinpath(*names))
        except OSError as error:
            raise SparkError(f"{error.filename}: cannot be read: {error.strerror or error}") from None

    def write_text(self, text: str, *names: str) -> None:
        """Write a UTF-8 file atomically, as `write` does."""
        self.write(text.encode(), *names)

    def write(self, content: bytes, *names: str) -> None:
        """Write a file; readers never see a part of it.

        It is written under a temporary name and renamed, unless the file system shows only whole files.
        """
        self._files.write(content, names)

    def download(self, folder: Path, *names: str) -> None:
        """Copy a file, or all files of a folder, to the machine of the driver.

        `folder`: where to write it, under its name; created if it does not exist. Raises SparkError if it does not
        exist.
        """
        if not self.exists(*names):
            raise SparkError(f"{self.path(*names)}: does not exist")
        for file in self.files(*names) or ("",):
            parts = file.split("/") if file else []
            copy = folder.joinpath(names[-1], *parts).resolve()
            copy.parent.mkdir(parents=True, exist_ok=True)
            self._files.download((*names, *parts), copy)

    def move(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Rename a file or folder that has no equivalent in the target yet, and create missing parent folders.

        On a local file system, that is one operation. Elsewhere, the files of a folder are moved one after another,
        those with the rows of a table before Spark's other files.
        """
        files = () if self._files.local_folder is not None else self.files(*source)
        if not files:
            self._files.rename(source, target)
        for file in sorted(files, key=lambda name: (_is_marker(name), name)):
            parts = file.split("/")
            self._files.rename((*source, *parts), (*target, *parts))

    def replace(self, source: str, target: str, marker: str, kept: str = "") -> None:
        """Replace a folder by another one.

        On a local file system, readers see one or the other at any moment. Elsewhere, they see none during the
        operation; if it is interrupted, `complete_replacement` completes it. `target`: the folder to replace, which may
        be missing. `marker`: the file in the new folder by which readers recognize a complete one. `kept`: a folder in
        both whose files are never changed; the new folder has those of the old one, too.
        """
        local = self._files.local_folder
        if local is not None:
            if kept:
                _link_files(local / target / kept, local / source / kept)
            replace_directory(local / source, local / target)
            return
        self.write_text(kept, source, _REPLACING)
        self.complete_replacement(source, target, marker)

    def is_being_replaced(self, source: str) -> bool:
        """Return whether the replacement of a folder by `source` has begun and is not complete."""
        return self._files.local_folder is None and self.exists(source, _REPLACING)

    def complete_replacement(self, source: str, target: str, marker: str) -> None:
        """Complete a replacement that was interrupted, if there is one; every step may be repeated.

        `source`: the new folder; `target`: the folder to replace; `marker`: as in `replace`: the target loses it first
        and gets it last.
        """
        if not self.is_being_replaced(source):
            return
        if not self.exists(source, _CLEARED):
            self.remove(target, marker)
            kept = self.read_text(source, _REPLACING)
            for name in self.children(target):
                if name != kept:
                    self.remove(target, name)
            if not kept:
                self.remove(target)
            self.write(b"", source, _CLEARED)
        files = [file for file in self.files(source) if file not in (_REPLACING, _CLEARED)]
        for file in sorted(files, key=lambda name: (name == marker, name)):
            # It may have been copied, but not deleted here.
            parts = file.split("/")
            self.remove(target, *parts)
            self._files.rename((source, *parts), (target, *parts))
        # Without this file, the others no longer mean that the target is to be removed.
        self.remove(source, _REPLACING)
        self.remove(source)

    @contextmanager
    def lock(self, name: str = "") -> Iterator[None]:
        """Exclude other processes from writing to a folder; only on a local file system.

        `name`: a folder in the root folder; the root folder itself by default. Raises SparkError if another process
        writes to it, it cannot be written, or workers do not see it.
        """
        local = self._files.local_folder
        with ExitStack() as stack:
            if local is not None:
                folder = local / name
                try:
                    local_target(folder).parent.mkdir(parents=True, exist_ok=True)
                    stack.enter_context(output_lock(folder))
                except OSError as error:
                    reason = error.strerror or error
                    raise SparkError(f"{folder}: cannot be written: {reason}; choose another --out") from error
                check_workers_see(self._spark, folder.parent)
            yield

    def remove(self, *names: str) -> None:
        """Remove a file, or a folder with its contents; do nothing if it does not exist."""
        self._files.remove(names)


def _link_files(source: Path, target: Path) -> None:
    """Give the files of a folder second names in another one; copy them if the file system has no hard links."""
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        link = target / file.relative_to(source)
        link.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, link)
        except OSError:
            shutil.copy2(file, link)


def _is_marker(name: str) -> bool:
    """Return whether a file is one that readers of tables ignore."""
    return name.rpartition("/")[2].startswith(("_", "."))
