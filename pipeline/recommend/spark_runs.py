"""Candidates as a sweep on Spark: each trial is an ordinary sweep, with a folder of its own, that can be looked at."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from assignors import registry
from pipeline.recommend.request import RecommendationRequest
from pipeline.recommend.space import ASSIGNOR, Candidate
from pipeline.sweep.design import Factor, Sweep
from pipeline.sweep.prepared import prepare_sweep
from pipeline.sweep.run import Progress, run_sweep
from pipeline.sweep.settings import is_number
from reports.analysis.metric import Run
from scenarios.language.yaml_reader import read_yaml_value
from scenarios.load import AssignorChoice, Scenario

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LABEL: Final = "candidate"
"""What the one assignor of these sweeps is called; which one it is, differs from setting to setting."""

_ENTRY: Final = "assignors[0]"
_TASK_ASSIGNOR: Final = "task.assignor"


@dataclass(slots=True, eq=False)
class SparkRuns:
    """Makes runs of candidates on Spark, one sweep a trial.

    Attributes:
        spark: where.
        question: whose candidates they are.
        folder: of the sweeps, `trial_1` and so on: a path, or a URI. What is there of an earlier attempt is used.
        command: how this came about, for the manifests.
        tell: is told how far a sweep is.
    """

    spark: SparkSession
    question: RecommendationRequest
    folder: str
    command: str
    on_progress: Callable[[Progress], None]
    _trials: int = 0

    def __call__(self, candidates: Sequence[Candidate], seeds: Sequence[int]) -> list[list[Run]]:
        """Make the runs of a trial; as `pipeline.recommend.evaluator.Evaluate`.

        Raises:
            SweepError: the folder of the trial holds something else.
        """
        self._trials += 1
        name = f"trial_{self._trials}"
        out = f"{self.folder.rstrip('/')}/{name}"
        sweep = evaluation_sweep(name, self.question, candidates, seeds)
        run_sweep(
            self.spark, prepare_sweep(sweep, command=self.command), out, resume=True, on_progress=self.on_progress
        )
        rows = [row.asDict() for row in self.spark.read.parquet(f"{out}/runs").collect()]
        made: list[list[Run]] = [[] for _ in candidates]
        for row in sorted(rows, key=lambda row: (row["setting"], row["seed"])):
            made[row["setting"]].append(row)
        return made


def evaluation_sweep(
    name: str, question: RecommendationRequest, candidates: Sequence[Candidate], seeds: Sequence[int]
) -> Sweep:
    """The sweep of a trial: a setting a candidate, a factor a key, and one assignor, of which the keys are."""
    scenario, today, file = question.scenario, question.today, question.file
    entry = {
        "label": LABEL,
        "assignor": today.assignor,
        "configs": {"rack.aware.assignment.tags": list(today.configs.rack_aware_assignment_tags)},
    }
    settings = [_values(scenario, today, question.space.values(candidate)) for candidate in candidates]
    factors = [
        Factor(key, (_path(key),), None, all(is_number(setting[key]) for setting in settings)) for key in settings[0]
    ]
    document = {
        "name": name,
        "scenario": file.name,
        "set": {path: read_yaml_value(value) for path, value in scenario.overrides} | {"assignors": [entry]},
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
        changes=(*scenario.overrides, ("assignors", json.dumps([entry], ensure_ascii=False))),
        factors=tuple(factors),
        settings=tuple(tuple(setting.values()) for setting in settings),
        assignors=(LABEL,),
        baseline=LABEL,
        seeds=tuple(seeds),
        tables=(),
    )


def _values(scenario: Scenario, today: AssignorChoice, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a candidate sets, by factor: its keys, and what hangs on its assignor."""
    name = values[ASSIGNOR]
    is_todays = name == today.assignor
    of_today = today.protocol or scenario.blueprint.application.group_configs.protocol
    of_another = "streams" if registry.find(name).in_streams_groups else "classic"
    told = {_TASK_ASSIGNOR: name, "group.protocol": of_today.value if is_todays else of_another}
    if today.parameters:
        told["parameters"] = dict(today.parameters) if is_todays else {}
    return told | {key: value for key, value in values.items() if key != ASSIGNOR}


def _path(factor: str) -> str:
    fixed = {_TASK_ASSIGNOR: f"{_ENTRY}.assignor", "parameters": f"{_ENTRY}.parameters"}
    return fixed.get(factor, f"{_ENTRY}.configs.{factor}")
