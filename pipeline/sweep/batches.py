"""How the runs of a sweep are cut into batches, which are kept whole or not at all, and these into chunks of work.

Runs are numbered setting by setting, then assignor by assignor, then seed by seed; what belongs together in the tables
stands together, and a worker reads a setting's scenario once for many runs. The plan follows from the predicted costs
alone, never from the machines, so that a sweep gives the same files on one core and on a thousand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BATCH_MS = 20_000.0
"""The least work of a batch: a job of Spark's and a file of each table have to pay off. It is also about what a kill
loses on each core."""

MAX_BATCHES = 100
"""More would be a storm of small files."""

CHUNK_MS = 400.0
"""The least work of a chunk: handing it out takes some 10 ms."""

MAX_CHUNKS = 2_000
"""Of a batch: what Spark's driver keeps track of at a time."""

MAX_RUNS_PER_CHUNK = 16
"""What is thought cheap may be dear: a group that never rests rebalances thousands of times."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Runs, from one number up to another, that one worker makes one after the other."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Chunks whose results are written at once; the costly ones first, so that the last ones are short."""

    number: int
    chunks: tuple[Chunk, ...]

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return sum(chunk.stop - chunk.start for chunk in self.chunks)

    @property
    def name(self) -> str:
        """What its folder is called, in every table."""
        return f"batch={self.number:05}"


def plan_batches(costs_ms: NDArray[np.float64]) -> list[Batch]:
    """Cut runs into batches, the one with the costliest chunk first.

    Args:
        costs_ms: the predicted cost of each run, in their order.
    """
    batch_ms = max(BATCH_MS, float(costs_ms.sum()) / MAX_BATCHES)
    chunk_ms = max(CHUNK_MS, batch_ms / MAX_CHUNKS)
    pieces = _cut(costs_ms, chunk_ms, MAX_RUNS_PER_CHUNK)
    of_pieces = np.array([costs_ms[start:stop].sum() for start, stop in pieces])
    planned = []
    for number, (first, last) in enumerate(_cut(of_pieces, batch_ms, len(pieces))):
        order = sorted(range(first, last), key=lambda piece: (-of_pieces[piece], piece))
        chunks = tuple(Chunk(*pieces[piece]) for piece in order)
        planned.append((-float(of_pieces[order[0]]), Batch(number, chunks)))
    return [batch for _, batch in sorted(planned, key=lambda pair: (pair[0], pair[1].number))]


def _cut(costs: NDArray[np.float64], most: float, longest: int) -> list[tuple[int, int]]:
    """Cut a row into pieces in order: each is closed once it costs as much as wanted, or is as long as allowed."""
    pieces, start, spent = [], 0, 0.0
    for position, cost in enumerate(costs.tolist(), start=1):
        spent += cost
        if spent >= most or position - start >= longest:
            pieces.append((start, position))
            start, spent = position, 0.0
    if start < len(costs):
        pieces.append((start, len(costs)))
    return pieces
