"""Where an aggregate is written: all of it under a name of its own first, which then takes the wanted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.aggregate.stored_sweeps import AggregateError
from pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUMMARY = "summary.json"
"""The file for people and pages; its presence says that a directory is an aggregate."""

_FILE = "part-00000.parquet"

_ORDER = {
    "cells": ("scenario", "sweep", "setting", "assignor", "metric"),
    "differences": ("scenario", "sweep", "setting", "assignor", "metric"),
    "front": ("scenario", "sweep", "setting", "assignor"),
    "sensitivity": ("scenario", "sweep", "metric", "rank"),
    "levels": ("scenario", "sweep", "metric", "factor", "position"),
    "pairs": ("scenario", "sweep", "metric", "factor", "other", "position", "other_position"),
}
"""By what the rows of each table are sorted; no two rows are equal in all of it."""


class AggregateDirectory:
    """A directory for an aggregate.

    Args:
        spark: whose file systems are used.
        directory: path or URI; an aggregate that is there will be replaced.

    Raises:
        AggregateError: something else is there.
    """

    def __init__(self, spark: SparkSession, directory: str) -> None:
        root = Storage(spark, directory).root.rstrip("/")
        parent, _, self._name = root.rpartition("/")
        self._storage = Storage(spark, parent)
        if self._storage.children(self._name) and not self._storage.exists(self._name, SUMMARY):
            raise AggregateError(f"{root}: is there already and holds no aggregate; name another directory")
        self._made, self._replaced = f".{self._name}.made", f".{self._name}.replaced"
        self._storage.remove(self._made)

    def write(self, table: DataFrame, name: str) -> None:
        """Write a table as a folder with a single file, which has the same name and bytes each time."""
        ordered = table.repartition(1).sortWithinPartitions(*_ORDER[name])
        ordered.write.parquet(self._storage.path(self._made, f"{name}.spark"))
        [file] = [child for child in self._storage.children(self._made, f"{name}.spark") if child.endswith(".parquet")]
        self._storage.move((self._made, f"{name}.spark", file), (self._made, name, _FILE))
        self._storage.remove(self._made, f"{name}.spark")

    def finish(self, summary: str) -> None:
        """Write the summary, and put everything in its place."""
        self._storage.write_text(summary, self._made, SUMMARY)
        self._storage.remove(self._replaced)
        if self._storage.exists(self._name):
            self._storage.move((self._name,), (self._replaced,))
        self._storage.move((self._made,), (self._name,))
        self._storage.remove(self._replaced)
