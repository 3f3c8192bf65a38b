"""Division of the runs of a sweep into batches, which are written atomically, and of batches into chunks of work.

Runs are numbered by setting, then assignor, then seed: related runs are adjacent in the tables, and a worker loads the
scenario of a setting once for many runs. The division depends only on the predicted run times, not on the machines, so
a sweep writes the same files on one core and on a thousand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BATCH_MS = 20_000.0
"""Minimum work per batch, because each batch costs a Spark job and a file per table.

It is also roughly the work per core that is lost when a sweep is killed.
"""

MAX_BATCHES = 100
"""Limit on the number of small files."""

CHUNK_MS = 400.0
"""Minimum work per chunk, because scheduling a chunk takes about 10 ms."""

MAX_CHUNKS = 2_000
"""Maximum number of chunks per batch; the Spark driver tracks all of them."""

MAX_RUNS_PER_CHUNK = 16
"""Limits the effect of a wrong prediction: a group that never converges rebalances thousands of times."""


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """Minimum sizes of batches and chunks, in predicted run time."""

    batch_ms: float = BATCH_MS
    chunk_ms: float = CHUNK_MS


DEFAULT_SIZES = BatchSizes()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive runs `start` to `stop` (exclusive), simulated by one worker one after the other."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Chunks whose results are written together, the most expensive first, so that the last ones are short.

    `number`: number of the batch.
    """

    number: int
    chunks: tuple[Chunk, ...]

    @property
    def runs(self) -> int:
        """Return the number of runs."""
        return sum(chunk.stop - chunk.start for chunk in self.chunks)

    def runs_of_first(self, chunks: int) -> int:
        """Return the number of runs of the first chunks; Spark starts its tasks in the order of the chunks."""
        return sum(chunk.stop - chunk.start for chunk in self.chunks[:chunks])

    @property
    def name(self) -> str:
        """Return the name of its folder in every table."""
        return f"batch={self.number:05}"


def plan_batches(costs_ms: NDArray[np.float64], sizes: BatchSizes = DEFAULT_SIZES) -> list[Batch]:
    """Divide runs into batches; the batch with the most expensive chunk comes first.

    `costs_ms`, shape (runs,): predicted time of each run. `sizes`: minimum sizes of batches and chunks. Returns the
    batches in the order of execution.
    """
    batch_ms = max(sizes.batch_ms, float(costs_ms.sum()) / MAX_BATCHES)
    chunk_ms = max(sizes.chunk_ms, batch_ms / MAX_CHUNKS)
    pieces = _cut(costs_ms, chunk_ms, MAX_RUNS_PER_CHUNK)
    piece_costs = np.array([costs_ms[start:stop].sum() for start, stop in pieces])
    batches = []
    for number, (first, last) in enumerate(_cut(piece_costs, batch_ms, len(pieces))):
        order = sorted(range(first, last), key=lambda piece: (-piece_costs[piece], piece))
        chunks = tuple(Chunk(*pieces[piece]) for piece in order)
        batches.append((-float(piece_costs[order[0]]), Batch(number, chunks)))
    return [batch for _, batch in sorted(batches, key=lambda pair: (pair[0], pair[1].number))]


def _cut(costs: NDArray[np.float64], max_cost: float, max_length: int) -> list[tuple[int, int]]:
    """Cut a sequence into consecutive pieces; a piece ends when it reaches the given cost or length."""
    pieces, start, spent = [], 0, 0.0
    for position, cost in enumerate(costs.tolist(), start=1):
        spent += cost
        if spent >= max_cost or position - start >= max_length:
            pieces.append((start, position))
            start, spent = position, 0.0
    if start < len(costs):
        pieces.append((start, len(costs)))
    return pieces
