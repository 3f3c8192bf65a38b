"""File systems under `Storage`: Hadoop's in the Java process of the driver, or Arrow's in this process.

Both name a file or folder by the names on the way to it from a root folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.connect_session import is_connect
from pipeline.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WHOLE_FILES = "fs.capability.outputstream.abortable"
"""Hadoop's capability of file systems on which a file appears when it is closed, such as S3's."""

_S3_SCHEMES = ("s3a", "s3")
_S3_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


class FileSystem(Protocol):
    """Files and folders below a root folder."""

    @property
    def root(self) -> str:
        """Return the root folder as an absolute URI, as Hadoop writes it."""

    @property
    def local_folder(self) -> Path | None:
        """Return the root folder if it is on this machine, where a folder is renamed in one operation; else None."""

    def exists(self, names: Sequence[str]) -> bool:
        """Return whether a file or folder exists."""

    def children(self, names: Sequence[str]) -> list[str]:
        """Return the names in a folder, in any order; empty if it does not exist."""

    def files(self, names: Sequence[str]) -> list[str]:
        """Return all files in a folder and its subfolders, relative to it, in any order; empty without one."""

    def read(self, names: Sequence[str]) -> bytes:
        """Return the content of a file."""

    def write(self, content: bytes, names: Sequence[str]) -> None:
        """Write a file and create missing parent folders; readers never see a part of the file."""

    def download(self, names: Sequence[str], copy: Path) -> None:
        """Copy a file to this machine; the parent folder of the copy exists."""

    def rename(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Rename a file, or a folder on this machine, and create missing parent folders.

        Raises SparkError if the file system rejects it.
        """

    def remove(self, names: Sequence[str]) -> None:
        """Remove a file, or a folder with its contents; do nothing if it does not exist."""


def open_file_system(spark: SparkSession, root: str) -> FileSystem:
    """Return the file system of a folder, by Java if the session has it.

    `root`: a path on this machine, or a URI. Raises SparkError if the file system is unsupported or not reachable.
    """
    return ArrowFiles(root) if is_connect(spark) else HadoopFiles(spark, root)


def with_scheme(path: str) -> str:
    """Return a path or URI as an absolute URI for Hadoop: without a scheme, it is on this machine.

    Hadoop would take it for one of its default file system, which on a cluster often is HDFS.
    """
    return path if _has_scheme(path) else f"file:{os.path.abspath(path)}"


def _has_scheme(path: str) -> bool:
    scheme, colon, _ = path.partition(":")
    return bool(colon) and "/" not in scheme


class HadoopFiles:
    """Spark's Hadoop file systems, to which the settings of Spark apply.

    `spark`: the session, which has a Java process; `root`: a path on this machine, or a URI. Raises SparkError if the
    file system is unsupported or not reachable.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        from py4j.protocol import Py4JJavaError

        assert spark._jvm is not None
        self._jvm: Any = spark._jvm
        # Java looks for each part of a dotted name in all jars.
        self._new_path: Any = self._jvm.org.apache.hadoop.fs.Path
        try:
            path = self._new_path(with_scheme(root))
            self._files = path.getFileSystem(spark._jsc.hadoopConfiguration())
            self._root = self._files.makeQualified(path)
        except Py4JJavaError as error:
            raise SparkError(f"{root}: {error.java_exception.getMessage()}") from error

    @property
    def root(self) -> str:
        """Return the root folder as an absolute URI, as Hadoop writes it."""
        return str(self._root.toString())

    @property
    def local_folder(self) -> Path | None:
        """Return the root folder if it is on this machine, where a folder is renamed in one operation; else None."""
        uri = self._root.toUri()
        return Path(uri.getPath()) if uri.getScheme() == "file" else None

    def exists(self, names: Sequence[str]) -> bool:
        """Return whether a file or folder exists."""
        return bool(self._files.exists(self._path(names)))

    def children(self, names: Sequence[str]) -> list[str]:
        """Return the names in a folder, in any order; empty if it does not exist."""
        if not self.exists(names):
            return []
        return [status.getPath().getName() for status in self._files.listStatus(self._path(names))]

    def files(self, names: Sequence[str]) -> list[str]:
        """Return all files in a folder and its subfolders, relative to it, in any order; empty without one."""
        if not self.exists(names):
            return []
        prefix = self._uri(names) + "/"
        found, files = self._files.listFiles(self._path(names), True), []
        while found.hasNext():
            files.append(str(found.next().getPath().toString()))
        return [file.removeprefix(prefix) for file in files if file.startswith(prefix)]

    def read(self, names: Sequence[str]) -> bytes:
        """Return the content of a file."""
        stream = self._files.open(self._path(names))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, content: bytes, names: Sequence[str]) -> None:
        """Write a file and create missing parent folders; readers never see a part of the file."""
        target = self._path(names)
        if self._files.hasPathCapability(target, _WHOLE_FILES):
            self._create(target, content)
            return
        part = self._path((*names[:-1], f".{names[-1]}.part"))
        self._create(part, content)
        self._files.delete(target, False)
        self._rename(part, target)

    def download(self, names: Sequence[str], copy: Path) -> None:
        """Copy a file to this machine; the parent folder of the copy exists."""
        target = self._new_path(f"file://{copy}")  # Hadoop expects no escapes.
        self._files.copyToLocalFile(False, self._path(names), target, True)

    def rename(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Rename a file, or a folder on this machine, and create missing parent folders."""
        target_path = self._path(target)
        self._files.mkdirs(target_path.getParent())
        self._rename(self._path(source), target_path)

    def remove(self, names: Sequence[str]) -> None:
        """Remove a file, or a folder with its contents; do nothing if it does not exist."""
        self._files.delete(self._path(names), True)

    def _create(self, target: Any, content: bytes) -> None:
        """Write a file under its final name."""
        stream = self._files.create(target, True)
        try:
            stream.write(content)
        finally:
            stream.close()

    def _rename(self, source: Any, target: Any) -> None:
        # Hadoop returns False instead of throwing.
        if not self._files.rename(source, target):
            raise SparkError(f"{source.toString()}: cannot be renamed to {target.toString()}")

    def _uri(self, names: Sequence[str]) -> str:
        return "/".join((self.root.rstrip("/"), *names))

    def _path(self, names: Sequence[str]) -> Any:
        return self._new_path(self._uri(names))


class ArrowFiles:
    """Arrow's file systems, which need no Java: paths of this machine, and S3.

    The credentials of S3 and its region are those of the AWS environment (`AWS_ACCESS_KEY_ID`, `AWS_PROFILE`, …), and
    `AWS_ENDPOINT_URL` names another server than Amazon's. `root`: a path on this machine, or a URI with `file:`, `s3a:`
    or `s3:`. Raises SparkError if the file system is unsupported.
    """

    def __init__(self, root: str) -> None:
        from pyarrow import fs

        scheme, _, rest = root.partition(":")
        self._files: Any
        if not _has_scheme(root) or scheme == "file":
            path = os.path.abspath("/" + rest.lstrip("/") if _has_scheme(root) else root)
            self._files, self._root, self._prefix = fs.LocalFileSystem(), path, "file:"
        elif scheme in _S3_SCHEMES:
            endpoint = next((os.environ[name] for name in _S3_ENDPOINTS if os.environ.get(name)), None)
            self._files = fs.S3FileSystem(endpoint_override=endpoint)
            self._root, self._prefix = rest.strip("/"), f"{scheme}://"
        else:
            raise SparkError(
                f"{root}: with Spark Connect, folders are on this machine (a path) or on S3 (s3a://BUCKET/FOLDER)"
            )

    @property
    def root(self) -> str:
        """Return the root folder as an absolute URI, as Hadoop writes it."""
        return f"{self._prefix}{self._root}"

    @property
    def local_folder(self) -> Path | None:
        """Return the root folder if it is on this machine, where a folder is renamed in one operation; else None."""
        return Path(self._root) if self._prefix == "file:" else None

    def exists(self, names: Sequence[str]) -> bool:
        """Return whether a file or folder exists."""
        return self._type(self._path(names)) != "NotFound"

    def children(self, names: Sequence[str]) -> list[str]:
        """Return the names in a folder, in any order; empty if it does not exist."""
        return [info.base_name for info in self._select(names, recursive=False)]

    def files(self, names: Sequence[str]) -> list[str]:
        """Return all files in a folder and its subfolders, relative to it, in any order; empty without one."""
        prefix = self._path(names).rstrip("/") + "/"
        found = self._select(names, recursive=True)
        return [info.path.removeprefix(prefix) for info in found if info.type.name == "File"]

    def read(self, names: Sequence[str]) -> bytes:
        """Return the content of a file."""
        with self._errors(names), self._files.open_input_stream(self._path(names), compression=None) as stream:
            return bytes(stream.read())

    def write(self, content: bytes, names: Sequence[str]) -> None:
        """Write a file and create missing parent folders; readers never see a part of the file."""
        target = self._path(names)
        with self._errors(names):
            if self.local_folder is None:  # An object appears when it is closed.
                self._create(target, content)
                return
            self._create_parent(target)
            part = f"{target.rpartition('/')[0]}/.{names[-1]}.part"
            self._create(part, content)
            self._files.move(part, target)
            self._forget_checksum(target)

    def download(self, names: Sequence[str], copy: Path) -> None:
        """Copy a file to this machine; the parent folder of the copy exists."""
        copy.write_bytes(self.read(names))

    def rename(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Rename a file, or a folder on this machine, and create missing parent folders."""
        old, new = self._path(source), self._path(target)
        if self._type(old) == "NotFound":
            raise SparkError(
                f"{self._uri(old)}: does not exist, although Spark has written it; the Spark Connect server must see "
                "the same folders as this machine: choose a shared folder or s3a://BUCKET/FOLDER"
            )
        if self.local_folder is None:
            with self._errors(source):
                self._files.copy_file(old, new)
                self._files.delete_file(old)
            return
        if self._type(new) != "NotFound":
            raise SparkError(f"{self._uri(old)}: cannot be renamed to {self._uri(new)}")
        with self._errors(source):
            self._create_parent(new)
            self._files.move(old, new)
            self._forget_checksum(old)
            self._forget_checksum(new)

    def remove(self, names: Sequence[str]) -> None:
        """Remove a file, or a folder with its contents; do nothing if it does not exist."""
        path = self._path(names)
        kind = self._type(path)
        with self._errors(names):
            if kind == "Directory":
                self._files.delete_dir(path)
            elif kind != "NotFound":
                self._files.delete_file(path)
            if self.local_folder is not None:
                self._forget_checksum(path)

    def _select(self, names: Sequence[str], recursive: bool) -> list[Any]:
        from pyarrow.fs import FileSelector

        with self._errors(names):
            selector = FileSelector(self._path(names), recursive=recursive, allow_not_found=True)
            return list(self._files.get_file_info(selector))

    def _create(self, path: str, content: bytes) -> None:
        """Write a file under its final name."""
        with self._files.open_output_stream(path, compression=None) as stream:
            stream.write(content)

    def _create_parent(self, path: str) -> None:
        self._files.create_dir(path.rpartition("/")[0] or "/", recursive=True)

    def _forget_checksum(self, path: str) -> None:
        """Remove the checksum that Hadoop has written beside a file with the content before."""
        folder, _, name = path.rpartition("/")
        Path(folder, f".{name}.crc").unlink(missing_ok=True)

    def _type(self, path: str) -> str:
        with self._errors((), path):
            return str(self._files.get_file_info(path).type.name)

    def _path(self, names: Sequence[str]) -> str:
        return "/".join((self._root.rstrip("/"), *names)) or "/"

    def _uri(self, path: str) -> str:
        return f"{self._prefix}{path}"

    @contextmanager
    def _errors(self, names: Sequence[str], path: str = "") -> Iterator[None]:
        """Turn errors of Arrow into `SparkError`: the file system rejects the operation or is not reachable."""
        try:
            yield
        except OSError as error:
            raise SparkError(f"{self._uri(path or self._path(names))}: {' '.join(str(error).split())}") from error
