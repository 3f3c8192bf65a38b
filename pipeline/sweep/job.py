"""A prepared sweep as work for Spark: what its runs share, how they are divided, its manifest, and the hash that
identifies it.

Runs are numbered by setting, then assignor, then seed: related runs are adjacent in the tables, and a worker loads the
scenario of a setting once for many runs. The division depends only on the predicted run times, not on the machines, so
a sweep writes the same files on one core and on a thousand.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.sweep.stop_rule import StopRule
from pipeline.worker import SweepInputs, pickle_assignors
from scenarios.language.errors import SweepError
from scenarios.sweeps.prepared import PreparedSweep
from simulator.model_version import MODEL_VERSION

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


@dataclass(frozen=True, slots=True, eq=False)
class RunGroup:
    """Some runs of a sweep, numbered from 0 by cell, then seed; the chunks of its batches have these numbers.

    Attributes:
        cells: numbers of the cells, by setting, then assignor, ascending.
        seeds: places of the seeds among the declared ones.
    """

    cells: NDArray[np.int64]
    seeds: range
    declared_seeds: int
    batches: list[Batch]

    @property
    def runs(self) -> int:
        """Return the number of runs."""
        return len(self.cells) * len(self.seeds)

    def cells_of(self, chunk: Chunk) -> Iterator[tuple[int, int, range]]:
        """Yield the runs of a chunk, cell by cell.

        Yields the number of the first run in the whole sweep, the cell, and the places of the seeds among the declared
        ones.
        """
        run = chunk.start
        while run < chunk.stop:
            index, place = divmod(run, len(self.seeds))
            cell = int(self.cells[index])
            places = self.seeds[place : place + chunk.stop - run]
            yield cell * self.declared_seeds + places[0], cell, places
            run += len(places)


def sweep_manifest(prepared: PreparedSweep, tables: Sequence[str], stop_rule: StopRule | None = None) -> dict[str, Any]:
    """Return the manifest of a sweep as a JSON-serializable mapping.

    Its `identity` is equal for sweeps with the same runs and tables. `stop_rule`: when the seeds of a pair stop; None
    for all declared seeds.
    """
    sweep, scenario, labels, imports = prepared.sweep, prepared.scenario, prepared.labels, prepared.imports
    world = _digest([version("assignor-sim"), MODEL_VERSION, scenario.text, imports])
    content = {
        "kind": "sweep",
        "name": sweep.name,
        "text": sweep.text,
        "scenario": {
            "name": scenario.name,
            "text": scenario.text,
            "sha256": hashlib.sha256(scenario.text.encode()).hexdigest(),
            "imports": imports,
        },
        "world": world,
        "factors": [
            {
                "name": factor.name,
                "paths": list(factor.paths),
                "kind": "number" if factor.is_number else "text",
                "unit": factor.unit,
            }
            for factor in sweep.factors
        ],
        "changes": [list(change) for change in sweep.changes],
        "settings": len(sweep.settings),
        "assignors": list(labels),
        "seeds": list(sweep.seeds),
        "baseline": sweep.baseline or labels[0],
        "tables": list(tables),
        "runs": len(sweep.settings) * len(labels) * len(sweep.seeds),
    }
    if stop_rule is not None:
        content["until_significant"] = stop_rule.record()
    packages = ("assignor-sim", "numpy", "ortools", "pyarrow", "pyspark", "simpy")
    versions = {"python": platform.python_version(), **{name: version(name) for name in packages}}
    settings = _digest([sweep.overrides(setting) for setting in sweep.settings])
    return {
        **content,
        "identity": _digest([world, settings, content]),
        "command": prepared.command,
        "versions": versions,
    }


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


ALWAYS_WRITTEN = ("runs", "rounds")


@dataclass(frozen=True, eq=False)
class SweepJob:
    """A sweep that is ready for Spark.

    Attributes:
        stop_rule: when the seeds of a pair stop; None for all declared seeds.
    """

    prepared: PreparedSweep
    sweep_inputs: SweepInputs
    batch_sizes: BatchSizes
    stop_rule: StopRule | None = None

    @classmethod
    def of(
        cls,
        prepared: PreparedSweep,
        batch_sizes: BatchSizes = DEFAULT_SIZES,
        stop_rule: StopRule | None = None,
    ) -> SweepJob:
        """Return the job of a sweep.

        `batch_sizes`: minimum sizes of batches and chunks. `stop_rule`: when the seeds of a pair stop; None for all
        declared seeds. Raises SweepError if an assignor cannot be pickled.
        """
        sweep, packed = prepared.sweep, prepared.packed_imports
        try:
            pickled = pickle_assignors(prepared.assignors, prepared.labels) if prepared.assignors else ()
        except ValueError as error:
            raise SweepError(str(error)) from error
        sweep_inputs = SweepInputs(
            name=str(sweep.scenario.name),
            text=prepared.scenario.text,
            folder=str(packed.folder),
            files=tuple(sorted(packed.files.items())),
            tables=(*ALWAYS_WRITTEN, *sweep.tables),
            assignors=pickled,
            limits=prepared.limits,
        )
        return cls(prepared, sweep_inputs, batch_sizes, stop_rule)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Return the manifest."""
        return sweep_manifest(self.prepared, self.sweep_inputs.tables, self.stop_rule)

    @cached_property
    def batches(self) -> list[Batch]:
        """Return all runs in the order of execution."""
        return self.all_runs.batches

    @cached_property
    def all_runs(self) -> RunGroup:
        """Return all declared runs as one group."""
        return self.group(np.arange(self.prepared.run_ms.size), range(len(self.prepared.sweep.seeds)))

    def group(self, cells: NDArray[np.int64], seeds: range, first_number: int = 0) -> RunGroup:
        """Return some runs as a group.

        `cells`: numbers of the cells, by setting, then assignor, ascending; `seeds`: places of the seeds among the
        declared ones.
        """
        prepared = self.prepared
        batches = plan_batches(np.repeat(prepared.run_ms.ravel()[cells], len(seeds)), self.batch_sizes)
        numbered = [replace(batch, number=first_number + batch.number) for batch in batches]
        return RunGroup(cells, seeds, len(prepared.sweep.seeds), numbered)
