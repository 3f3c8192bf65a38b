"""Access to files on any file system that Spark supports: local paths and URIs such as `s3a://`, `gs://`, `hdfs://`.

All access goes through Spark's Hadoop file systems, so the settings of Spark apply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.session import SparkError
from simulator.results.output_lock import output_lock, replace_directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Storage:
    """A root folder and the files in it, addressed by relative names.

    Args:
        spark: the session whose file systems are used.
        root: a path on the machine of the driver, or a URI.

    Raises:
        SparkError: the file system is unsupported or not reachable.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        from py4j.protocol import Py4JJavaError

        assert spark._jvm is not None
        self._jvm: Any = spark._jvm
        try:
            path = self._jvm.org.apache.hadoop.fs.Path(root)
            self._files = path.getFileSystem(spark._jsc.hadoopConfiguration())
            self._root = self._files.makeQualified(path)
        except Py4JJavaError as error:
            raise SparkError(f"{root}: {error.java_exception.getMessage()}") from error

    @property
    def root(self) -> str:
        """Return the folder as an absolute URI, valid on executors, too."""
        return str(self._root.toString())

    def path(self, *names: str) -> str:
        """Return the URI of a file or folder in the root folder."""
        return "/".join((self.root.rstrip("/"), *names))

    def exists(self, *names: str) -> bool:
        """Return whether a file or folder exists."""
        return bool(self._files.exists(self._hadoop_path(names)))

    def children(self, *names: str) -> list[str]:
        """Return the sorted names in a folder; empty if it does not exist."""
        if not self.exists(*names):
            return []
        return sorted(status.getPath().getName() for status in self._files.listStatus(self._hadoop_path(names)))

    def read_text(self, *names: str) -> str:
        """Read a UTF-8 file."""
        stream = self._files.open(self._hadoop_path(names))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
        finally:
            stream.close()

    def write_text(self, text: str, *names: str) -> None:
        """Write a UTF-8 file atomically, as `write` does."""
        self.write(text.encode(), *names)

    def write(self, content: bytes, *names: str) -> None:
        """Write a file under a temporary name and rename it, so that readers never see a partial file."""
        target = self._hadoop_path(names)
        part = self._hadoop_path((*names[:-1], f".{names[-1]}.part"))
        stream = self._files.create(part, True)
        try:
            stream.write(content)
        finally:
            stream.close()
        self._files.delete(target, False)
        self._rename(part, target)

    def move(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Rename a file or folder and create missing parent folders."""
        target_path = self._hadoop_path(target)
        self._files.mkdirs(target_path.getParent())
        self._rename(self._hadoop_path(source), target_path)

    def replace(self, source: str, target: str) -> None:
        """Replace a folder by another one; on a local file system, readers see one or the other at any moment."""
        local = self._local_folder
        if local is not None:
            replace_directory(local / source, local / target)
            return
        old = f".{target}.old"
        self.remove(old)
        if self.exists(target):
            self.move([target], [old])
        self.move([source], [target])
        self.remove(old)

    @contextmanager
    def lock(self, name: str = "") -> Iterator[None]:
        """Exclude other processes from writing to a folder; only on a local file system.

        Args:
            name: a folder in the root folder; the root folder itself by default.

        Yields:
            Nothing.

        Raises:
            SparkError: another process writes to it, or it cannot be written.
        """
        local = self._local_folder
        with ExitStack() as stack:
            if local is not None:
                folder = local / name
                try:
                    folder.parent.mkdir(parents=True, exist_ok=True)
                    stack.enter_context(output_lock(folder))
                except OSError as error:
                    reason = error.strerror or error
                    raise SparkError(f"{folder}: cannot be written: {reason}; choose another --out") from error
            yield

    @property
    def _local_folder(self) -> Path | None:
        uri = self._root.toUri()
        return Path(uri.getPath()) if uri.getScheme() == "file" else None

    def remove(self, *names: str) -> None:
        """Remove a file, or a folder with its contents; do nothing if it does not exist."""
        self._files.delete(self._hadoop_path(names), True)

    def _rename(self, source: Any, target: Any) -> None:
        """Rename a path.

        Raises:
            SparkError: the file system rejects it.
        """
        # Hadoop returns False instead of throwing.
        if not self._files.rename(source, target):
            raise SparkError(f"{source.toString()}: cannot be renamed to {target.toString()}")

    def _hadoop_path(self, names: Sequence[str]) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.path(*names))
