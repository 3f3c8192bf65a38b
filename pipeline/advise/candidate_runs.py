"""Runs of candidates: each evaluation is an ordinary sweep.

It runs in a pool, or on Spark in a separate folder that is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.advise.recommender import RecommendationRequest
from pipeline.advise.space import PROTOCOL, Candidate, entry_values
from pipeline.pool import Call, RunAll
from pipeline.storage import Storage
from pipeline.sweep.batch_job import chunk_runs
from pipeline.sweep.chunk_runs import chunk_rows
from pipeline.sweep.job import SweepJob
from pipeline.sweep.packed_tables import RUNS
from pipeline.sweep.run import Progress, run_sweep
from pipeline.worker import SweepInputs, simulate_chunks
from reports.analysis.metrics import Run
from scenarios.language.yaml_reader import read_yaml_value
from scenarios.load import AssignorSpec, Scenario
from scenarios.sweeps.design import Factor, Sweep, is_number
from scenarios.sweeps.prepared import prepare_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LABEL: Final = "candidate"
"""Label of the single assignor in an evaluation sweep; its class and configs differ between settings."""

_ENTRY: Final = "assignors[0]"
_TASK_ASSIGNOR: Final = "task.assignor"


RunJob = Callable[[str, SweepJob], Iterable[Run]]
"""Runs a sweep with a name; returns the rows of its table `runs`, in any order."""


@dataclass(slots=True, eq=False)
class CandidateRuns:
    """Runs candidates; see `pipeline.advise.recommender.RunCandidates`.

    Attributes:
        run_job: runs the sweep of an evaluation.
        command: the command line, for the manifests.
    """

    request: RecommendationRequest
    run_job: RunJob
    command: str = ""
    _trials: int = 0

    def __call__(self, candidates: Sequence[Candidate], seeds: Sequence[int]) -> list[list[Run]]:
        """Return, for each candidate, one row of the table `runs` per seed, by seed."""
        self._trials += 1
        name = f"trial_{self._trials}"
        sweep = evaluation_sweep(name, self.request, candidates, seeds)
        rows = self.run_job(name, SweepJob.of(prepare_sweep(sweep, command=self.command)))
        runs: list[list[Run]] = [[] for _ in candidates]
        for row in sorted(rows, key=lambda row: (row["setting"], row["seed"])):
            runs[row["setting"]].append(row)
        return runs


def keep_sweeps(spark: SparkSession, folder: str, on_progress: Callable[[Progress], None]) -> RunJob:
    """Return how evaluations run as sweeps on Spark in a folder, a path or a URI; finished runs in it are reused."""

    def run_job(name: str, job: SweepJob) -> Iterator[Run]:
        out = f"{folder.rstrip('/')}/{name}"
        run_sweep(spark, job, out, resume=True, on_progress=on_progress)
        yield from (row.asDict() for row in spark.read.parquet(Storage(spark, out).path(RUNS)).collect())

    return run_job


def run_chunks(run_all: RunAll, on_progress: Callable[[Progress], None]) -> RunJob:
    """Return how the chunks of evaluations run in a pool."""

    def run_job(_: str, job: SweepJob) -> Iterator[Run]:
        inputs = replace(job.sweep_inputs, tables=(RUNS,))
        chunks = [chunk_rows("", 0, cells) for batch in job.batches for cells in chunk_runs(job, batch)]
        state = Progress(job.prepared.total, 0, 0, 0)
        on_progress(state)
        for _position, rows in run_all(partial(_run_chunk, inputs), chunks):
            failed = sum(row["error"] is not None for row in rows)
            state = replace(state, done=state.done + len(rows), failed=state.failed + failed)
            on_progress(state)
            yield from rows

    return run_job


def _run_chunk(inputs: SweepInputs, call: Call, chunk: pa.RecordBatch) -> Any:
    return call(simulate_rows, inputs, chunk)


def simulate_rows(inputs: SweepInputs, chunk: pa.RecordBatch) -> list[Run]:
    """Return the row of each run of a chunk in the table `runs`, with its setting and its error."""
    [outcomes] = simulate_chunks(inputs, iter([chunk]))
    return [
        {"setting": outcome["setting"], **row, "error": outcome["error"]}
        for outcome in outcomes.to_pylist()
        for row in outcome[RUNS]
    ]


def evaluation_sweep(
    name: str, request: RecommendationRequest, candidates: Sequence[Candidate], seeds: Sequence[int]
) -> Sweep:
    """Return the sweep of an evaluation: one setting per candidate, one factor per config, and a single assignor."""
    scenario, today, file = request.scenario, request.today, request.file
    entry = {
        "label": LABEL,
        "assignor": today.info.name,
        "configs": {"rack.aware.assignment.tags": list(today.configs.rack_aware_assignment_tags)},
    }
    settings = [_factor_values(scenario, today, request.space.values(candidate)) for candidate in candidates]
    factors = [
        Factor(key, (_path(key),), None, all(is_number(setting[key]) for setting in settings)) for key in settings[0]
    ]
    changes = (
        *scenario.overrides,
        *_removed_sections(scenario),
        ("assignors", json.dumps([entry], ensure_ascii=False)),
    )
    document = {
        "name": name,
        "scenario": file.name,
        "set": {path: read_yaml_value(value) for path, value in changes},
        "factors": [{"name": factor.name, "path": list(factor.paths)} for factor in factors],
        "rows": settings,
        "seeds": list(seeds),
    }
    return Sweep(
        name=name,
        description=f"A trial of a recommendation: {len(candidates)} settings.",
        text=json.dumps(document, indent=2, ensure_ascii=False) + "\n",
        file=file,
        scenario=file,
        changes=changes,
        factors=tuple(factors),
        settings=tuple(tuple(setting.values()) for setting in settings),
        assignors=(LABEL,),
        baseline=LABEL,
        seeds=tuple(seeds),
        tables=(),
    )


def _removed_sections(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield overrides without the sections that name assignors by labels, which a candidate does not have."""
    if scenario.problem is not None:
        yield "problem", "null"
    if scenario.expectations:
        yield "expect", "null"


def _factor_values(scenario: Scenario, today: AssignorSpec, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the factor values of a candidate: its configs and those that depend on its assignor."""
    entry = entry_values(scenario, today, values)
    parameters = {"parameters": entry["parameters"]} if today.parameters else {}
    protocol = entry["configs"].pop(PROTOCOL)
    return {_TASK_ASSIGNOR: entry["assignor"], PROTOCOL: protocol, **parameters, **entry["configs"]}


def _path(factor: str) -> str:
    fixed = {_TASK_ASSIGNOR: f"{_ENTRY}.assignor", "parameters": f"{_ENTRY}.parameters"}
    return fixed.get(factor, f"{_ENTRY}.configs.{factor}")
