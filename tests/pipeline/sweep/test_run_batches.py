"""Division of runs into batches and chunks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sweep.job import BATCH_MS, CHUNK_MS, MAX_BATCHES, MAX_CHUNKS, MAX_RUNS_PER_CHUNK, plan_batches

pytestmark = pytest.mark.spark

COSTS = st.lists(st.floats(1.0, 50_000.0), min_size=1, max_size=300)


@given(COSTS)
def test_every_run_is_in_exactly_one_chunk(costs: list[float]) -> None:
    batches = plan_batches(np.array(costs))
    positions = [i for batch in batches for chunk in batch.chunks for i in range(chunk.start, chunk.stop)]
    assert sorted(positions) == list(range(len(costs)))
    assert sorted(batch.number for batch in batches) == list(range(len(batches)))
    assert sum(batch.runs for batch in batches) == len(costs)


@given(COSTS)
def test_expensive_chunks_and_batches_come_first(costs: list[float]) -> None:
    costs_by_batch = [
        [sum(costs[chunk.start : chunk.stop]) for chunk in batch.chunks] for batch in plan_batches(np.array(costs))
    ]
    assert all(chunks == sorted(chunks, reverse=True) for chunks in costs_by_batch)
    firsts = [chunks[0] for chunks in costs_by_batch]
    assert firsts == sorted(firsts, reverse=True)


@given(COSTS)
def test_chunk_exceeds_limit_only_by_its_last_run(costs: list[float]) -> None:
    for batch in plan_batches(np.array(costs)):
        for chunk in batch.chunks:
            limit_ms = max(CHUNK_MS, max(BATCH_MS, sum(costs) / MAX_BATCHES) / MAX_CHUNKS)
            assert sum(costs[chunk.start : chunk.stop - 1]) < limit_ms
            assert chunk.stop - chunk.start <= MAX_RUNS_PER_CHUNK


def test_million_runs_have_limited_batches_and_chunks() -> None:
    costs = np.tile([30.0, 300.0, 3_000.0, 30_000.0], 250_000)
    batches = plan_batches(costs)
    assert len(batches) <= MAX_BATCHES
    assert max(len(batch.chunks) for batch in batches) <= 2 * MAX_CHUNKS
