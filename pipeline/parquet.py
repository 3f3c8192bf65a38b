"""Parquet files that Spark writes with reproducible bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
