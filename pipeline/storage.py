"""Files and folders wherever Spark finds them: a path of this machine, or a URI such as `s3a://`, `gs://`, `hdfs://`.

Everything goes through the file systems of Hadoop that Spark itself reads and writes with, so that whatever Spark can
reach with its settings can be reached here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pipeline.session import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Storage:
    """A folder, and what lies in it by relative name.

    Args:
        spark: whose file systems are used.
        root: a path of the driver's machine, or a URI.

    Raises:
        SparkError: Spark has no file system for it, or cannot reach it.
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
        """The folder as a whole URI, which executors understand too."""
        return str(self._root.toString())

    def path(self, *names: str) -> str:
        """The URI of something in the folder."""
        return "/".join((self.root.rstrip("/"), *names))

    def exists(self, *names: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._files.exists(self._at(names)))

    def children(self, *names: str) -> list[str]:
        """The names in a folder, sorted; nothing if it is not there."""
        if not self.exists(*names):
            return []
        return sorted(status.getPath().getName() for status in self._files.listStatus(self._at(names)))

    def read_text(self, *names: str) -> str:
        """Read a file of UTF-8 text."""
        stream = self._files.open(self._at(names))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
        finally:
            stream.close()

    def write_text(self, text: str, *names: str) -> None:
        """Write a file of UTF-8 text, as `write` does."""
        self.write(text.encode(), *names)

    def write(self, content: bytes, *names: str) -> None:
        """Write a file: under a name of its own first, so that a reader sees all of it or what was there before."""
        target = self._at(names)
        part = self._at((*names[:-1], f".{names[-1]}.part"))
        stream = self._files.create(part, True)
        try:
            stream.write(content)
        finally:
            stream.close()
        self._files.delete(target, False)
        self._rename(part, target)

    def move(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Rename a file or folder; folders on the way are made."""
        where = self._at(target)
        self._files.mkdirs(where.getParent())
        self._rename(self._at(source), where)

    def remove(self, *names: str) -> None:
        """Remove a file, or a folder with all in it; nothing happens if it is not there."""
        self._files.delete(self._at(names), True)

    def _rename(self, source: Any, target: Any) -> None:
        # Hadoop answers rather than throws.
        if not self._files.rename(source, target):
            raise SparkError(f"{source.toString()}: cannot be renamed to {target.toString()}")

    def _at(self, names: Sequence[str]) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.path(*names))
