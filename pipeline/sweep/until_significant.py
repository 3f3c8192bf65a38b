"""Execution of a sweep whose pairs stop when the sign of their difference is decided.

```
OUT/stops/stops.parquet       one row per pair and metric; written last, before the key `stopped` of the manifest
```

The runs of a look are complete before the next ones are chosen, and the choice depends on the stored runs only. A
killed sweep therefore chooses again what it had chosen, and its batches have the same numbers.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pipeline.storage import Storage
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run_groups import RunGroup
from pipeline.sweep.stop_rule import DECIDED_RUN, STOPS, StopRule, decide_setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STOPPED = "stopped"
"""Key of the manifest of a finished sweep: what was stopped."""


def run_groups(
    spark: SparkSession, storage: Storage, job: SweepJob, rule: StopRule, run_group: Callable[[RunGroup, int], None]
) -> dict[str, Any]:
    """Run the groups of a sweep until every pair is stopped or has all seeds, and write the table `stops`.

    Args:
        spark: the session.
        storage: the output folder.
        job: the sweep.
        rule: when pairs stop.
        run_group: runs the missing batches of a group; takes the group, and the number of runs in later groups if
            no further pair stops.

    Returns:
        What was stopped, for the manifest.
    """
    declared = len(rule.seeds)
    sizes = (*rule.looks, declared)
    cells = len(job.prepared.sweep.settings) * len(rule.assignors)
    seeds = np.full(cells, declared)
    stops, first, number = STOPS.empty_table(), 0, 0
    for look, size in enumerate(sizes):
        group = job.group(np.flatnonzero(seeds > first), range(first, size), number)
        if not group.runs:
            break
        run_group(group, len(group.cells) * (declared - size))
        number += len(group.batches)
        if size < declared:
            stops = _decide(spark, storage, job, rule, look + 1)
            seeds = _seeds_of_cells(rule, stops, cells)
        first = size
    file = io.BytesIO()
    pq.write_table(stops, file, compression="zstd")
    storage.write(file.getvalue(), "stops", "stops.parquet")
    return _summary(rule, stops, seeds)


def _decide(spark: SparkSession, storage: Storage, job: SweepJob, rule: StopRule, looks: int) -> pa.Table:
    """Return the stops after some looks, by setting, assignor and metric; Spark reads the runs."""
    from pyspark.sql.pandas.types import from_arrow_schema

    def apply(runs: pa.Table) -> pa.Table:  # Spark inspects the type hints, which `partial` hides.
        return decide(runs)

    decide = partial(decide_setting, rule, looks)
    runs = (
        spark.read.schema(from_arrow_schema(DECIDED_RUN.remove_metadata()))
        .option("recursiveFileLookup", "true")
        .parquet(storage.path("runs"))
    )
    stops = runs.groupBy("setting").applyInArrow(apply, from_arrow_schema(STOPS)).toArrow().cast(STOPS)
    # Spark returns the settings in any order, but the rows of a setting together.
    assignor = pc.index_in(stops["assignor"], pa.array(rule.assignors))
    metric = pc.index_in(stops["metric"], pa.array(rule.metrics))
    order = np.lexsort((metric.to_numpy(), assignor.to_numpy(), stops["setting"].to_numpy()))
    return stops.take(pa.array(order)).combine_chunks()


def _seeds_of_cells(rule: StopRule, stops: pa.Table, cells: int) -> NDArray[np.int64]:
    """Return the number of seeds that each cell gets by the decisions so far; a baseline gets the most of its pairs."""
    declared, labels = len(rule.seeds), len(rule.assignors)
    seeds = np.full(cells, declared).reshape(-1, labels)
    of_pair = stops.filter(pc.equal(stops["metric"], rule.metrics[0]))
    column = pc.index_in(of_pair["assignor"], pa.array(rule.assignors)).to_numpy()
    seeds[of_pair["setting"].to_numpy(), column] = pc.fill_null(of_pair["stopped_after"], declared).to_numpy()
    others = [place for place, assignor in enumerate(rule.assignors) if assignor != rule.baseline]
    seeds[:, rule.assignors.index(rule.baseline)] = seeds[:, others].max(axis=1)
    return seeds.ravel()


def _summary(rule: StopRule, stops: pa.Table, seeds: NDArray[np.int64]) -> dict[str, Any]:
    """Return the number of stopped pairs, cells and runs, and the stopped pairs of each look."""
    declared = len(rule.seeds)
    of_pair = stops.filter(pc.equal(stops["metric"], rule.metrics[0]))["stopped_after"]
    return {
        "pairs": len(of_pair),
        "cells": int((seeds < declared).sum()),
        "runs": int((declared - seeds).sum()),
        "shared_seeds": int(seeds.min()),
        "looks": [
            {"seeds": size, "stopped_pairs": pc.sum(pc.equal(of_pair, size)).as_py() or 0} for size in rule.looks
        ],
    }
