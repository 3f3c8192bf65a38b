"""Runs of candidates on Spark: each evaluation is an ordinary sweep in a separate folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pipeline.recommend.assignor_entry import PROTOCOL, entry_values
from pipeline.recommend.request import RecommendationRequest
from pipeline.recommend.space import Candidate
from pipeline.storage import Storage
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import Progress, run_sweep
from reports.analysis.metrics import Run
from scenarios.language.yaml_reader import read_yaml_value
from scenarios.load import AssignorSpec, Scenario
from scenarios.sweeps.design import Factor, Sweep
from scenarios.sweeps.prepared import prepare_sweep
from scenarios.sweeps.settings import is_number

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LABEL: Final = "candidate"
"""Label of the single assignor in an evaluation sweep; its class and configs differ between settings."""

_ENTRY: Final = "assignors[0]"
_TASK_ASSIGNOR: Final = "task.assignor"


@dataclass(slots=True, eq=False)
class SparkRuns:
    """Runs candidates on Spark, with one sweep per evaluation.

    Attributes:
        folder: folder of the sweeps `trial_1`, `trial_2`, …: a path or a URI. Results of an interrupted search are
            reused.
        command: the command line, for the manifests.
        on_progress: called with the progress of each sweep.
    """

    spark: SparkSession
    request: RecommendationRequest
    folder: str
    command: str
    on_progress: Callable[[Progress], None]
    _trials: int = 0

    def __call__(self, candidates: Sequence[Candidate], seeds: Sequence[int]) -> list[list[Run]]:
        """Run the candidates of one evaluation; see `pipeline.recommend.evaluator.RunCandidates`.

        Returns, for each candidate, one row of the table `runs` per seed.
        """
        self._trials += 1
        name = f"trial_{self._trials}"
        out = f"{self.folder.rstrip('/')}/{name}"
        sweep = evaluation_sweep(name, self.request, candidates, seeds)
        job = SweepJob.of(prepare_sweep(sweep, command=self.command))
        run_sweep(self.spark, job, out, resume=True, on_progress=self.on_progress)
        rows = [row.asDict() for row in self.spark.read.parquet(Storage(self.spark, out).path("runs")).collect()]
        runs: list[list[Run]] = [[] for _ in candidates]
        for row in sorted(rows, key=lambda row: (row["setting"], row["seed"])):
            runs[row["setting"]].append(row)
        return runs


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
