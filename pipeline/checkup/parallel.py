"""Requests of a checkup in parallel: in processes of this machine, or in the workers of Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pipeline.checkup.runs import SituationRequest, run_situation
from pipeline.review.process_pool import ProcessPool
from pipeline.review.spark_runs import map_on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LONGEST: Final = "scale"
"""The situation with the most rebalances, which starts first."""


class ParallelRequests:
    """Runs requests in parallel; the answers do not depend on the number of processes."""

    def __init__(self, pool: ProcessPool, spark: SparkSession | None, on_progress: Callable[[str], None]) -> None:
        """Choose where requests run.

        `pool`: processes of this machine. `spark`: session whose workers run the requests instead; None for the pool.
        """
        self._pool = pool
        self._spark = spark
        self._on_progress = on_progress
        self.step = ""

    def __call__(self, requests: Sequence[SituationRequest]) -> list[Any]:
        """Run requests; return what `run_situation` returns for each, in their order."""
        order = sorted(range(len(requests)), key=lambda number: requests[number].key != _LONGEST)
        items = [requests[number] for number in order]
        answers: list[Any] = [None] * len(requests)
        for done, (position, answer) in enumerate(self._run(items), start=1):
            answers[order[position]] = answer
            self._on_progress(f"{self.step}: {done:,} of {len(requests):,} situations")
        return answers

    def _run(self, items: Sequence[SituationRequest]) -> Any:
        if self._spark is not None:
            return map_on_spark(self._spark, ask, items, self._on_progress)
        return self._pool.map(lambda item: ask(self._pool, item), items)


def ask(pool: ProcessPool, request: SituationRequest) -> Any:
    """Run a request in a process of a pool."""
    return pool.ask("call", run_situation, request)
