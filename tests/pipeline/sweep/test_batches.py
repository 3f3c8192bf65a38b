"""How runs become batches and chunks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sweep.batches import BATCH_MS, CHUNK_MS, MAX_BATCHES, MAX_CHUNKS, MAX_RUNS_PER_CHUNK, plan_batches

COSTS = st.lists(st.floats(1.0, 50_000.0), min_size=1, max_size=300)


@given(COSTS)
def test_every_run_is_in_one_chunk_of_one_batch(costs: list[float]) -> None:
    batches = plan_batches(np.array(costs))
    positions = [i for batch in batches for chunk in batch.chunks for i in range(chunk.start, chunk.stop)]
    assert sorted(positions) == list(range(len(costs)))
    assert sorted(batch.number for batch in batches) == list(range(len(batches)))
    assert sum(batch.runs for batch in batches) == len(costs)


@given(COSTS)
def test_costly_chunks_come_first_and_so_do_batches_that_have_them(costs: list[float]) -> None:
    of_batches = [
        [sum(costs[chunk.start : chunk.stop]) for chunk in batch.chunks] for batch in plan_batches(np.array(costs))
    ]
    assert all(chunks == sorted(chunks, reverse=True) for chunks in of_batches)
    firsts = [chunks[0] for chunks in of_batches]
    assert firsts == sorted(firsts, reverse=True)


@given(COSTS)
def test_a_chunk_is_no_longer_than_its_last_run_makes_it(costs: list[float]) -> None:
    for batch in plan_batches(np.array(costs)):
        for chunk in batch.chunks:
            most = max(CHUNK_MS, max(BATCH_MS, sum(costs) / MAX_BATCHES) / MAX_CHUNKS)
            assert sum(costs[chunk.start : chunk.stop - 1]) < most
            assert chunk.stop - chunk.start <= MAX_RUNS_PER_CHUNK


def test_a_million_runs_make_neither_many_files_nor_many_chunks_at_a_time() -> None:
    costs = np.tile([30.0, 300.0, 3_000.0, 30_000.0], 250_000)
    batches = plan_batches(costs)
    assert len(batches) <= MAX_BATCHES
    assert max(len(batch.chunks) for batch in batches) <= 2 * MAX_CHUNKS
