"""The runs that the driver sends to the workers: which ones they are, and what they take of its memory."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pipeline.sweep.batch_job import chunk_runs, run_table
from pipeline.sweep.job import BatchSizes, SweepJob
from pipeline.worker import RUN_SCHEMA
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.driver import SMALL_BATCHES
from tests.pipeline.sweep.examples import SWEEP, write_sweep

pytestmark = pytest.mark.spark


def job_of(folder: Path, seeds: str, sizes: BatchSizes = SMALL_BATCHES) -> SweepJob:
    return SweepJob.of(
        prepare_sweep(load_sweep(write_sweep(folder, SWEEP.replace("seeds: 3", f"seeds: {seeds}")))), sizes
    )


@pytest.mark.parametrize("first_seed", [0, 2])
def test_rows_are_those_of_all_cells_and_seeds_of_a_group(tmp_path: Path, first_seed: int) -> None:
    job = job_of(tmp_path, "[7, 3, 11, 5, 2]")
    random = np.random.default_rng(first_seed)
    cells = np.flatnonzero(random.random(8) < 0.7)
    group = job.group(cells, range(first_seed, 5))
    tables = {batch.number: run_table(job, batch, group) for batch in group.batches}
    for batch in group.batches:
        sizes = [chunk.stop - chunk.start for chunk in batch.chunks]
        chunk = tables[batch.number]["chunk"].to_pylist()
        assert chunk == np.repeat(np.arange(len(sizes)), sizes).tolist()
    rows = pa.concat_tables(tables.values()).sort_by("position").drop(["chunk"])
    assert rows.schema == pa.schema([field for field in RUN_SCHEMA if field.name != "chunk"])
    sweep, labels = job.prepared.sweep, job.prepared.labels
    expected = [
        {
            "position": int(cell) * 5 + place,
            "setting": int(cell) // 2,
            "overrides": json.dumps(sweep.overrides(sweep.settings[cell // 2])),
            "assignor": labels[cell % 2],
            "seed": (7, 3, 11, 5, 2)[place],
        }
        for cell in cells
        for place in range(first_seed, 5)
    ]
    ids = rows["run_id"].to_pylist()
    assert len(set(ids)) == len(ids)
    assert rows.drop(["run_id"]).to_pylist() == expected
    whole = pa.concat_tables([run_table(job, batch) for batch in job.batches])
    of_position = dict(zip(whole["position"].to_pylist(), whole["run_id"].to_pylist(), strict=True))
    assert ids == [of_position[position] for position in rows["position"].to_pylist()]


def test_driver_holds_and_sends_few_bytes_per_run(tmp_path: Path) -> None:
    job = job_of(tmp_path, "2500", BatchSizes(batch_ms=1e9, chunk_ms=1e9))
    [batch] = job.batches
    assert batch.runs == 20_000
    assert job.manifest
    tracemalloc.start()
    chunks = chunk_runs(job, batch)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30 * batch.runs
    # Its id alone would take 32 bytes.
    assert len(pickle.dumps(chunks)) < 10 * batch.runs
