"""Output directory of an aggregate, written under a temporary name and moved when complete, the summary last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.aggregate.stored_sweeps import AggregateError
from pipeline.parquet import write_parquet
from pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUMMARY = "summary.json"
"""The summary as JSON; its presence identifies a directory as an aggregate."""

_FILE = "part-00000.parquet"

_ORDER = {
    "cells": ("scenario", "sweep", "setting", "assignor", "metric"),
    "differences": ("scenario", "sweep", "setting", "assignor", "metric"),
    "front": ("scenario", "sweep", "setting", "assignor"),
    "sensitivity": ("scenario", "sweep", "metric", "rank"),
    "levels": ("scenario", "sweep", "metric", "factor", "position"),
    "pairs": ("scenario", "sweep", "metric", "factor", "other", "position", "other_position"),
}
"""Sort key of each table; unique for every row."""


class AggregateDirectory:
    """The directory that an aggregate is written to.

    Args:
        spark: the session whose file systems are used.
        directory: path or URI; an existing aggregate is replaced.

    Raises:
        AggregateError: the directory contains something else.
    """

    def __init__(self, spark: SparkSession, directory: str) -> None:
        root = Storage(spark, directory).root.rstrip("/")
        parent, _, self._name = root.rpartition("/")
        self._storage = Storage(spark, parent)
        self._temporary = f".{self._name}.part"
        if self._storage.children(self._name) and not self._is_aggregate():
            raise AggregateError(f"{root}: exists and is not an aggregate; choose another --out")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Exclude other processes, and remove what a killed one has left.

        Yields:
            Nothing.
        """
        with self._storage.lock(self._name):
            self._storage.complete_replacement(self._temporary, self._name, SUMMARY)
            self._storage.remove(self._temporary)
            yield

    def write(self, table: DataFrame, name: str) -> None:
        """Write a table as a folder with a single file of fixed name and reproducible bytes."""
        ordered = table.repartition(1).sortWithinPartitions(*_ORDER[name])
        write_parquet(ordered, self._storage.path(self._temporary, f"{name}.spark"))
        [file] = [
            child for child in self._storage.children(self._temporary, f"{name}.spark") if child.endswith(".parquet")
        ]
        self._storage.move((self._temporary, f"{name}.spark", file), (self._temporary, name, _FILE))
        self._storage.remove(self._temporary, f"{name}.spark")

    def finish(self, summary: str) -> None:
        """Write the summary and move the directory to its final name."""
        self._storage.write_text(summary, self._temporary, SUMMARY)
        self._storage.replace(self._temporary, self._name, SUMMARY)

    def _is_aggregate(self) -> bool:
        """Return whether the directory holds an aggregate, or was about to get one when a process was killed."""
        return self._storage.exists(self._name, SUMMARY) or self._storage.is_being_replaced(self._temporary)
