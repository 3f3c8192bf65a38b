"""Files of Spark have the same bytes in every process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from pipeline.storage import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_columns_have_one_encoding_as_several_would_be_in_random_order(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(1000).selectExpr(
        "id", "cast(id % 3 as string) as name", "if(id % 7 = 0, null, id / 3) as share", "id % 2 = 0 as even",
        "cast(id % 24 as tinyint) as hour", "array(id, id + 1) as pair", "current_date() as day",
    )  # fmt: skip
    write_parquet(rows.coalesce(1), str(tmp_path / "rows"))
    [file] = (tmp_path / "rows").glob("*.parquet")
    group = pq.ParquetFile(file).metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    assert len(columns) == 7
    assert {column.path_in_schema: column.encodings for column in columns if len(column.encodings) != 1} == {}
    assert pq.read_table(file).num_rows == 1000
