"""How runs become batches and chunks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sweep.plan import BATCH_MS, CHUNK_MS, MOST_BATCHES, MOST_CHUNKS, MOST_RUNS_OF_A_CHUNK, plan

COSTS = st.lists(st.floats(1.0, 50_000.0), min_size=1, max_size=300)


@given(COSTS)
def test_every_run_is_in_one_chunk_of_one_batch(costs: list[float]) -> None:
    batches = plan(np.array(costs))
    positions = [i for batch in batches for chunk in batch.chunks for i in range(chunk.start, chunk.stop)]
    assert sorted(positions) == list(range(len(costs)))
    assert sorted(batch.number for batch in batches) == list(range(len(batches)))
    assert sum(batch.runs for batch in batches) == len(costs)


@given(COSTS)
def test_costly_chunks_come_first_and_so_do_batches_that_have_them(costs: list[float]) -> None:
    of_batches = [[sum(costs[chunk.start : chunk.stop]) for chunk in batch.chunks] for batch in plan(np.array(costs))]
    assert all(chunks == sorted(chunks, reverse=True) for chunks in of_batches)
    firsts = [chunks[0] for chunks in of_batches]
    assert firsts == sorted(firsts, reverse=True)


@given(COSTS)
def test_a_chunk_is_no_longer_than_its_last_run_makes_it(costs: list[float]) -> None:
    for batch in plan(np.array(costs)):
        for chunk in batch.chunks:
            most = max(CHUNK_MS, max(BATCH_MS, sum(costs) / MOST_BATCHES) / MOST_CHUNKS)
            assert sum(costs[chunk.start : chunk.stop - 1]) < most
            assert chunk.stop - chunk.start <= MOST_RUNS_OF_A_CHUNK


def test_a_million_runs_make_neither_many_files_nor_many_chunks_at_a_time() -> None:
    costs = np.tile([30.0, 300.0, 3_000.0, 30_000.0], 250_000)
    batches = plan(costs)
    assert len(batches) <= MOST_BATCHES
    assert max(len(batch.chunks) for batch in batches) <= 2 * MOST_CHUNKS
