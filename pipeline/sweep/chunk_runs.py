"""The runs of a chunk in a short form that the driver sends, and their rows, which the workers make.

The driver therefore holds a few values per chunk of the running batches, and its memory does not grow with the number
of runs. Does not import Spark.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.worker import RUN_SCHEMA


def run_ids(world: str, overrides: str, assignor: str) -> Callable[[int], str]:
    """Return the function that returns the hash of a run by its seed, equal in every sweep that contains the run.

    `world`: hash of the scenario, from the manifest of the sweep; `overrides`: overrides of the scenario, as JSON.
    """
    common = json.dumps([world, overrides, assignor], ensure_ascii=False).removesuffix("]")
    common_hash = hashlib.sha256(common.encode())  # The common part of the text is hashed once.

    def of_seed(seed: int) -> str:
        whole = common_hash.copy()
        whole.update(f", {seed}]".encode())
        return whole.hexdigest()[:32]

    return of_seed


@dataclass(frozen=True, slots=True)
class CellRuns:
    """Consecutive runs of a cell: a setting and an assignor with some seeds.

    Attributes:
        position: number of the first run in the whole sweep; those of the others follow.
        overrides: overrides of the scenario, as JSON.
        assignor: label of the assignor.
        seeds: seed of each run.
    """

    position: int
    setting: int
    overrides: str
    assignor: str
    seeds: tuple[int, ...]


ChunkRuns = tuple[CellRuns, ...]
"""The runs of a chunk, by position."""


def chunk_rows(world: str, number: int, cells: Sequence[CellRuns]) -> pa.RecordBatch:
    """Return the runs of a chunk as rows of `RUN_SCHEMA`.

    `world`: hash of the scenario, from the manifest of the sweep.
    """
    rows = []
    for cell in cells:
        id_of_seed = run_ids(world, cell.overrides, cell.assignor)
        for place, seed in enumerate(cell.seeds):
            position = cell.position + place
            rows.append((number, position, id_of_seed(seed), cell.setting, cell.overrides, cell.assignor, seed))
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, RUN_SCHEMA, strict=True)], schema=RUN_SCHEMA
    )
