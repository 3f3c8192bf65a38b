"""Answers requests of a review in a worker of Spark. Does not import Spark.

The cases run in a process that the worker starts, as on one machine: an assignor that ends its process costs one case,
and not a task of Spark.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache

import pyarrow as pa

from pipeline.review.process_pool import ProcessPool, ReviewError

ANSWER_SCHEMA = pa.schema([("position", pa.int64()), ("answer", pa.binary())])
"""One row per request: its position, and the pickled pair of kind (`result` or `error`) and value."""


def answer_requests(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Call the function of each request with the process of this worker.

    `batches`: rows with `position` and `request`, the pickled pair of a function and its argument. Yields rows of
    `ANSWER_SCHEMA`.
    """
    for batch in batches:
        for row in batch.to_pylist():
            answer = pickle.dumps(_answer(row["request"]))
            yield pa.RecordBatch.from_pylist([{"position": row["position"], "answer": answer}], ANSWER_SCHEMA)


def _answer(request: bytes) -> tuple[str, object]:
    function, item = pickle.loads(request)
    try:
        return "result", function(_pool(), item)
    except ReviewError as error:
        return "error", str(error)


@cache
def _pool() -> ProcessPool:
    """Return the pool of this worker, whose only process serves all its tasks, and ends with it."""
    return ProcessPool(1)
