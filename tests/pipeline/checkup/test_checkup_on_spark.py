"""A checkup on Spark has the same report as one in processes of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import assignor_sim as sim
from scenarios.load import loads
from tests.contract.test_checkup import TINY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_report_is_the_same(spark: SparkSession) -> None:
    tiny = loads(TINY)
    on_spark, here = (sim.checkup(tiny, seeds=2, workers=1, spark=session) for session in (spark, None))
    assert on_spark.record() == here.record()
