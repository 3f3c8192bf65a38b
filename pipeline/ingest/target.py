"""Output folder of an ingest, written under a hidden name and moved when complete, the manifest last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import IngestError
from pipeline.ingest.batches import BATCHES, IngestBatch, batch_places
from pipeline.ingest.tables import Table
from pipeline.storage import Storage, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MANIFEST = "manifest.json"
KIND = "ingested"

_PATTERN = "*?[{"
"""Characters that begin patterns in the paths that Spark reads."""


class Target:
    """The output folder; it becomes visible to readers with `publish`.

    `spark`: the session whose file systems are used. `out`: path or URI of the folder; an earlier ingest there is
    replaced. Raises IngestError if the folder contains something else, or Spark cannot read a folder of its name.
    """

    def __init__(self, spark: SparkSession, out: str) -> None:
        parent, _, name = out.rstrip("/").rpartition("/")
        self._out, self._name = out, name
        self._parent = Storage(spark, parent or ("/" if out.startswith("/") else "."))
        self._hidden = f".{name}.part"
        self._check()

    def lock(self) -> AbstractContextManager[None]:
        """Return a context in which no other process writes to the folder."""
        return self._parent.lock(self._name)

    def scratch(self, name: str) -> str:
        """Return the URI of a temporary folder, removed by `publish` and `discard`."""
        return self._parent.path(self._hidden, f"_{name}")

    def write(self, table: Table, rows: DataFrame, large: bool = False) -> int:
        """Write a table, sorted.

        `table`: its name and columns; other columns of the rows are dropped. `large` says whether to write several
        files. Returns the number of rows.
        """
        columns = [f"cast(`{column.name}` as {column.type}) as `{column.name}`" for column in table.columns]
        named = rows.selectExpr(*columns)
        ordered = named.orderBy(*table.sorted_by) if large else _in_one_partition(named, table)
        path = self._parent.path(self._hidden, table.name)
        write_parquet(ordered, path)
        return ordered.sparkSession.read.parquet(path).count()

    @property
    def out(self) -> str:
        """Return the path or URI of the folder as the user wrote it."""
        return self._out

    def batches(self) -> list[IngestBatch]:
        """Return the batches in the published folder, by number."""
        places = batch_places(self._parent.children(self._name, BATCHES))
        return [IngestBatch.from_json(self._parent.read_text(self._name, *place)) for place in places]

    def read_manifest(self) -> Mapping[str, Any] | None:
        """Return the manifest of the published folder; None if it does not exist."""
        if not self._parent.exists(self._name, MANIFEST):
            return None
        manifest: Mapping[str, Any] = json.loads(self._parent.read_text(self._name, MANIFEST))
        return manifest

    def published(self, *names: str) -> str:
        """Return the URI of a file or folder in the published folder."""
        return self._parent.path(self._name, *names)

    def unpublished(self, *names: str) -> str:
        """Return the URI of a file or folder that `publish` moves to the published folder."""
        return self._parent.path(self._hidden, *names)

    def local_folder(self, *names: str) -> Path | None:
        """Return the path of a folder as `unpublished` does its URI; None if it is not on this machine."""
        root = self._parent.local_folder
        return None if root is None else root.joinpath(self._hidden, *names)

    def write_bytes(self, content: bytes, *names: str) -> None:
        """Write a file that `publish` moves to the published folder."""
        self._parent.write(content, self._hidden, *names)

    def publish(self, manifest: Mapping[str, Any], with_batches: bool = False) -> None:
        """Write the manifest and move the folder to its final name; an earlier one is replaced.

        `with_batches` says whether the batches of the earlier one are kept.
        """
        for name in self._parent.children(self._hidden):
            if name.startswith("_"):
                self._parent.remove(self._hidden, name)
        self._parent.write_text(json.dumps({"kind": KIND, **manifest}, indent=2) + "\n", self._hidden, MANIFEST)
        self._parent.replace(self._hidden, self._name, MANIFEST, BATCHES if with_batches else "")

    def discard(self) -> None:
        """Complete a publication that was interrupted, and remove everything that was not published."""
        self._parent.complete_replacement(self._hidden, self._name, MANIFEST)
        self._parent.remove(self._hidden)

    def _check(self) -> None:
        if set(_PATTERN) & set(self.published()):
            raise IngestError(
                f"{self._out}: Spark reads {' '.join(_PATTERN)} in its path as a pattern; choose another folder"
            )
        names = self._parent.children(self._name)
        if not names or self._parent.is_being_replaced(self._hidden):
            return
        if MANIFEST in names:
            try:
                manifest = json.loads(self._parent.read_text(self._name, MANIFEST))
            except ValueError:
                manifest = None
            if isinstance(manifest, dict) and manifest.get("kind") == KIND:
                return
        raise IngestError(f"{self._out}: exists and is not an ingest; choose another folder")


def _in_one_partition(rows: DataFrame, table: Table) -> DataFrame:
    """Sort rows into one partition; the work before that remains parallel."""
    return rows.repartition(1).sortWithinPartitions(*table.sorted_by)
