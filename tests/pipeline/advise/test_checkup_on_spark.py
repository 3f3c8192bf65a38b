"""A checkup on Spark has the same report as one in processes of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import assignor_sim as sim
from scenarios.load import loads
from tests.contract.test_checkup import TINY
from tests.contract.test_group_checkup import GROUP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TINY_GROUP = GROUP.replace("partitions: 12", "partitions: 4").replace("count: 6", "count: 2")


@pytest.mark.parametrize(
    "text",
    [pytest.param(TINY, id="application", marks=pytest.mark.slow), pytest.param(TINY_GROUP, id="consumer group")],
)
def test_report_is_the_same(text: str, spark: SparkSession) -> None:
    tiny = loads(text)
    on_spark, here = (sim.checkup(tiny, seeds=2, workers=1, spark=session) for session in (spark, None))
    assert on_spark.record() == here.record()
