"""Recommendation: search for the best setting, undo changes without effect, and measure the gain with fresh seeds.

The search starts with many candidates and few seeds, then narrows down with more seeds. If no candidate is feasible,
the recommendation says which limits are exceeded, and how close the best candidate came.

Each evaluation is an ordinary sweep, which runs in a pool, or on Spark in a separate folder that is kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from pipeline.advise.evaluator import Answer, Evaluator, SettingRuns
from pipeline.advise.objective import REDUNDANCY_METRICS, ConstraintViolation, Limit, Objective, violations
from pipeline.advise.space import PROTOCOL, Candidate, SearchSpace, config_changes, entry_values
from pipeline.pool import Call, RunAll
from pipeline.storage import Storage
from pipeline.sweep.batch_job import RUNS, chunk_rows, chunk_runs
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import Progress, run_sweep
from pipeline.worker import SweepInputs, simulate_chunks
from reports.analysis.formatting import format_number
from reports.analysis.metrics import METRIC, Run, is_relevant, least_relevant
from reports.analysis.recommendation import (
    MAIN_METRICS,
    MetricChange,
    Recommendation,
    RecommendationVerdict,
    SearchRound,
    metric_changes,
)
from reports.analysis.statistics import Floats, paired
from scenarios.language.yaml_reader import read_yaml_value
from scenarios.load import AssignorSpec, Scenario
from scenarios.sweeps.design import Factor, Sweep, is_number
from scenarios.sweeps.prepared import prepare_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


RunCandidates = Callable[[Sequence[Candidate], Sequence[int]], Sequence[Sequence[Run]]]
"""Runs candidates: returns for each candidate, in order, one row of the table `runs` (with its `error`) per seed."""

_SCENARIO: Final = "scenario"
"""The only situation of a recommendation."""


@dataclass(frozen=True, slots=True)
class RecommendationRequest:
    """A request for a recommendation.

    Attributes:
        today: the current assignor and configs.
        runs: approximate maximum number of runs.
        seeds: number of fresh seeds that the result is measured with.
    """

    file: Path
    scenario: Scenario
    today: AssignorSpec
    space: SearchSpace
    runs: int
    seeds: int


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Runs of one candidate.

    Attributes:
        runs: one per seed.
        values: shape (runs,); the objective, NaN where unknown.
        violations: for each run, the reasons why it is infeasible.
    """

    candidate: Candidate
    runs: tuple[Run, ...]
    values: Floats
    violations: tuple[tuple[ConstraintViolation, ...], ...]

    @property
    def is_feasible(self) -> bool:
        """Return whether every run is feasible."""
        return not any(self.violations)

    @property
    def mean(self) -> float:
        """Return the mean objective of the runs where it is known; infinite if it is unknown for all."""
        known = self.values[~np.isnan(self.values)]
        return float(known.mean()) if len(known) else np.inf

    @property
    def causes(self) -> Counter[str]:
        """Return the number of runs per reason."""
        return Counter(violation.cause for run_violations in self.violations for violation in run_violations)

    @property
    def mean_violation(self) -> float:
        """Return the mean size of the violations; 0 if all runs are feasible."""
        total = sum(violation.size for run_violations in self.violations for violation in run_violations)
        return total / max(len(self.runs), 1)


class MetricEvaluator(Evaluator[Candidate, Evaluation]):
    """Evaluates candidates by a metric of the scenario itself, each time with fresh seeds."""

    def __init__(
        self,
        space: SearchSpace,
        objective: Objective,
        limits: Sequence[Limit],
        run_candidates: RunCandidates,
        first_seed: int = 1,
    ) -> None:
        """Choose what to minimize, within which limits, and what runs candidates."""
        super().__init__((_SCENARIO,), first_seed)
        self.space = space
        self.objective = objective
        self.limits = limits
        self.run_candidates = run_candidates

    def answer(self, pairs: Sequence[tuple[Candidate, str]], seeds: Sequence[int]) -> Sequence[Answer]:
        """Run candidates with each seed."""
        return self.run_candidates([candidate for candidate, _ in pairs], seeds)

    def assess(self, setting: Candidate, runs: SettingRuns, *, is_partial: bool) -> Evaluation:
        """Return the objective of each run, and the reasons why runs are infeasible."""
        rows = tuple(by_situation[_SCENARIO] for by_situation in runs)
        known = [self.objective.of(row) if row["error"] is None else None for row in rows]
        values = np.array([np.nan if value is None else value for value in known])
        reasons = tuple(tuple(violations(row, self.objective, self.limits)) for row in rows)
        return Evaluation(setting, rows, values, reasons)

    def rank(self, evaluations: Iterable[Evaluation]) -> list[Evaluation]:
        """Sort evaluations: feasible ones first, by objective; then by violations. Ties go to the fewest changes."""
        return sorted(
            evaluations,
            key=lambda evaluation: (
                evaluation.mean_violation,
                evaluation.mean,
                self.space.tie_breaker(evaluation.candidate),
            ),
        )


MIN_GAIN_SHARE: Final = 0.01
"""Changes that contribute less than this share of the total gain are undone."""


def simplify(
    evaluator: MetricEvaluator, best: Candidate, seeds: int, on_progress: Callable[[str], None] = lambda _: None
) -> Candidate:
    """Undo every change that does not improve the objective significantly, or improves it only marginally.

    Each change is undone alone. Changes whose removal does no harm beyond noise, or costs less than `MIN_GAIN_SHARE` of
    the total gain over the current setting, are then undone together. If that does harm (changes may compensate each
    other), only the one with the least harm is undone, and the rest is evaluated again, each time with as many seeds.
    """
    while changed := evaluator.space.changed(best):
        on_progress(f"checking which of {len(changed)} changes matter")
        without = {dimension: evaluator.space.revert(best, [dimension]) for dimension in changed}
        pool = dict.fromkeys([evaluator.space.today, best, *without.values()])
        evaluations = evaluator.evaluate(list(pool), evaluator.fresh_seeds(seeds))
        current, complete = evaluations[evaluator.space.today], evaluations[best]
        tolerance = MIN_GAIN_SHARE * max(current.mean - complete.mean, 0.0) if current.is_feasible else 0.0
        harms = {dimension: _harm(complete, evaluations[reduced], tolerance) for dimension, reduced in without.items()}
        harmless = {dimension: harm for dimension, harm in harms.items() if harm is not None}
        if not harmless:
            return best
        together = evaluator.space.revert(best, harmless)
        if together not in evaluations:
            evaluations = evaluator.evaluate([best, together], evaluator.fresh_seeds(seeds))
        if _harm(evaluations[best], evaluations[together], tolerance) is not None:
            return together
        best = without[min(harmless, key=lambda dimension: (harmless[dimension], dimension))]
    return best


def _harm(complete: Evaluation, reduced: Evaluation, tolerance: float) -> float | None:
    """Return the mean increase of the objective; None if it is significant and above the tolerance.

    None also if the violations increase.
    """
    if reduced.mean_violation > complete.mean_violation:
        return None
    [difference] = paired(reduced.values[:, None], complete.values[:, None], "recommend", "undone")
    if difference.mean is None:
        return None
    is_significant = difference.excludes_zero is not False
    return None if difference.mean > tolerance and is_significant else difference.mean


FIRST_SEEDS = 2
MAX_SEEDS = 8
"""Maximum number of seeds per round of the search; the recommendation is measured with other seeds."""

_SAMPLED_SHARE = 0.4
"""Share of the budget for the sample of the first round."""

_KEPT_ONE_OF = 3
"""The best third of the candidates is kept for the next round."""

_MIN_CANDIDATES = 3


@dataclass(frozen=True, slots=True, eq=False)
class SearchStage:
    """A round of the search.

    Attributes:
        seeds: number of runs per candidate.
        ranked: evaluations of the candidates, best first.
    """

    seeds: int
    ranked: tuple[Evaluation, ...]


def search(
    evaluator: MetricEvaluator, budget: int, on_progress: Callable[[str], None] = lambda _: None
) -> list[SearchStage]:
    """Search for the candidate with the lowest objective.

    The first round evaluates a space-filling sample. Each further round keeps the best third, adds the unevaluated
    neighbors of the best candidate and takes new seeds; the number of seeds doubles if the best candidate has no
    unevaluated neighbor. The search ends when the best candidate has been compared with all its neighbors with
    `MAX_SEEDS` seeds, or when the budget is used up.

    Guarantees:
        The current setting is in every round. With a sufficient budget and deterministic runs, the best candidate of
        the last round has no better neighbor. The same runs give the same result.

    Complexity: at most `budget` runs; one call of `RunCandidates` per round.

    Source: K. Jamieson, A. Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization (2016)
    (successive halving).
    """
    runs_left, seeds = budget, FIRST_SEEDS
    today = evaluator.space.today
    first = evaluator.space.sample(max(int(budget * _SAMPLED_SHARE) // seeds - 1, 0))
    pool = [today, *(candidate for candidate in first if candidate != today)]
    stages: list[SearchStage] = []
    while True:
        on_progress(f"round {len(stages) + 1}: {len(pool)} settings, {seeds} seeds each")
        evaluations = evaluator.evaluate(pool, evaluator.fresh_seeds(seeds))
        stages.append(SearchStage(seeds, tuple(evaluator.rank(evaluations.values()))))
        runs_left -= len(pool) * seeds
        best = stages[-1].ranked[0].candidate
        neighbors = evaluator.space.neighbors(best)
        new_neighbors = [candidate for candidate in neighbors if candidate not in evaluator.assessments]
        if not new_neighbors and seeds == MAX_SEEDS:
            return stages
        if not new_neighbors:
            seeds = min(2 * seeds, MAX_SEEDS)
        pool = _next_candidates(stages[-1].ranked, new_neighbors, today, runs_left // seeds)
        if len(pool) < _MIN_CANDIDATES:
            return stages


def _next_candidates(
    ranked: Sequence[Evaluation], new_neighbors: Sequence[Candidate], today: Candidate, maximum: int
) -> list[Candidate]:
    """Return the next candidates within the budget: the current one, the best, its neighbors, and the best third."""
    kept = [evaluation.candidate for evaluation in ranked[: max(-(-len(ranked) // _KEPT_ONE_OF), _MIN_CANDIDATES)]]
    return list(dict.fromkeys([today, kept[0], *new_neighbors, *kept[1:]]))[: max(maximum, 0)]


_MAX_CAUSES = 3


def explain_infeasibility(evaluator: MetricEvaluator, nearest: Candidate) -> Iterator[str]:
    """Yield why no candidate is feasible: frequent reasons, lowest values, and the candidate nearest to feasible."""
    evaluations = list(evaluator.assessments.values())
    causes = Counter(cause for evaluation in evaluations for cause in evaluation.causes)
    for cause, _ in sorted(causes.items(), key=lambda pair: (-pair[1], pair[0]))[:_MAX_CAUSES]:
        count = sum(cause in evaluation.causes for evaluation in evaluations)
        yield f"{count} of {len(evaluations)} settings: at least one run {cause}."
    for limit in evaluator.limits:
        yield from _lowest_value(evaluator, limit)
    best = evaluator.assessments[nearest]
    mean = "" if best.mean == np.inf else f", with {evaluator.objective.text} of {format_number(best.mean)} on average"
    yield f"Nearest to feasible: {describe_candidate(evaluator, nearest)}{mean}; {'; '.join(describe_violations(best))}"


def _lowest_value(evaluator: MetricEvaluator, limit: Limit) -> Iterator[str]:
    """Yield the lowest value of a limited metric over all candidates, each measured by its worst run."""
    worst: dict[Candidate, float] = {}
    for evaluation in evaluator.assessments.values():
        values = [None if run["error"] is not None else limit.of(run) for run in evaluation.runs]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            worst[evaluation.candidate] = max(known)
    if worst:
        best = min(worst, key=lambda candidate: (worst[candidate], evaluator.space.tie_breaker(candidate)))
        text = METRIC[limit.metric].write(worst[best])
        yield f"{limit.option}: lowest value in the worst run: {text}, with {describe_candidate(evaluator, best)}."


def describe_violations(evaluation: Evaluation) -> list[str]:
    """Return the reasons why runs of a candidate are infeasible, with the number of runs."""
    return [f"{count} of {len(evaluation.runs)} runs: {cause}" for cause, count in sorted(evaluation.causes.items())]


def describe_candidate(evaluator: MetricEvaluator, candidate: Candidate) -> str:
    """Return a candidate as text: the configs that it changes."""
    space, values = evaluator.space, evaluator.space.values(candidate)
    keys = [key for index in space.changed(candidate) for key in space.dimensions[index].keys]
    return ", ".join(f"{key}={values[key]}" for key in keys if values[key] is not None) or "no change"


_SEARCH_SHARE = 0.7
"""Share of the budget for the search; the rest is for undoing changes."""

_FINALISTS = 3

OnProgress = Callable[[str], None]


def recommend(
    request: RecommendationRequest, evaluator: MetricEvaluator, on_progress: OnProgress = lambda _: None
) -> Recommendation:
    """Search, simplify and measure.

    Guarantees:
        The reported gain and metrics come from seeds that were not used for the search. A setting is recommended only
        if all its runs are feasible, and if the objective is significantly lower than the current one over these seeds
        or the current runs are infeasible.
    """
    builder = _RecommendationBuilder(request, evaluator)
    stages = search(evaluator, int(request.runs * _SEARCH_SHARE), on_progress)
    builder.steps = tuple(map(_step, stages))
    ranked = stages[-1].ranked
    candidate = ranked[0].candidate
    for finalist in [evaluation.candidate for evaluation in ranked if evaluation.is_feasible][:_FINALISTS]:
        candidate = simplify(evaluator, finalist, MAX_SEEDS, on_progress)
        if candidate == evaluator.space.today:
            if evaluator.assessments[candidate].is_feasible:
                return builder.build("already_best")
            continue
        on_progress(f"measuring with {request.seeds} fresh seeds")
        measured = evaluator.evaluate([evaluator.space.today, candidate], evaluator.fresh_seeds(request.seeds))
        if measured[candidate].is_feasible:
            return builder.measured(measured[evaluator.space.today], measured[candidate])
    return builder.build("none_feasible", remarks=list(explain_infeasibility(evaluator, candidate)))


@dataclass(slots=True, eq=False)
class _RecommendationBuilder:
    """Builds the recommendation for a request; `steps` are the rounds of the search."""

    request: RecommendationRequest
    evaluator: MetricEvaluator
    steps: tuple[SearchRound, ...] = ()

    def build(
        self,
        verdict: RecommendationVerdict,
        chosen: Candidate | None = None,
        figures: Sequence[MetricChange] = (),
        remarks: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> Recommendation:
        """Return a recommendation; the first of the figures is that of the objective."""
        scenario, space = self.request.scenario, self.evaluator.space
        application = scenario.blueprint.application.id
        return Recommendation(
            scenario=scenario.name,
            today=self.request.today.label,
            objective=self.evaluator.objective.text,
            limits=tuple(map(str, self.evaluator.limits)),
            verdict=verdict,
            changes=() if chosen is None else tuple(config_changes(space, chosen, application)),
            gain=figures[0] if figures else None,
            figures=tuple(figures[1:]),
            seeds=self.request.seeds if figures else 0,
            runs=self.evaluator.runs,
            settings=len(self.evaluator.assessments),
            steps=self.steps,
            remarks=tuple(remarks),
            warnings=tuple(warnings),
        )

    def measured(self, today: Evaluation, after: Evaluation) -> Recommendation:
        """Return the recommendation for a setting that was measured together with the current one."""
        figures = _figures(today, after)
        warnings = list(_redundancy_warnings(today, after))
        if not today.is_feasible:
            remarks = [f"Current setting: {text}" for text in describe_violations(today)]
            return self.build("recommended", after.candidate, figures, remarks, warnings)
        gains = figures[0].direction < 0
        if gains and any(_is_relevant(today, after, name) for name in self.evaluator.objective.metrics):
            return self.build("recommended", after.candidate, figures, warnings=warnings)
        setting = describe_candidate(self.evaluator, after.candidate)
        than = "by a difference that counts" if gains else "over fresh seeds"
        remark = f"The best alternative, {setting}, is not significantly better {than}; its metrics are shown."
        return self.build("already_best", figures=figures, remarks=[remark])


def _step(stage: SearchStage) -> SearchRound:
    means = [evaluation.mean for evaluation in stage.ranked if evaluation.is_feasible]
    return SearchRound(len(stage.ranked), stage.seeds, min(means, default=None))


def _figures(today: Evaluation, after: Evaluation) -> list[MetricChange]:
    """Return the changes of the objective and of the main metrics known for both settings."""
    before, changed = (np.column_stack([evaluation.values, _matrix(evaluation.runs)]) for evaluation in (today, after))
    names: list[str | None] = [None, *MAIN_METRICS]
    least = {name: 0.0 if name is None else least_relevant(name) for name in names}
    changes = metric_changes(least, before, changed, "recommend")
    return [change for change in changes if change.pairs or change.name is None]


def _common_means(today: Evaluation, after: Evaluation, name: str) -> tuple[float, float] | None:
    """Return both means of a metric over the seeds in which both settings have it; None without any."""
    values = [np.array([METRIC[name].of(run) for run in evaluation.runs], np.float64) for evaluation in (today, after)]
    known = ~np.isnan(values[0]) & ~np.isnan(values[1])
    return (float(values[0][known].mean()), float(values[1][known].mean())) if known.any() else None


def _is_relevant(today: Evaluation, after: Evaluation, name: str) -> bool:
    """Return whether the mean of a metric differs by what counts."""
    means = _common_means(today, after, name)
    return means is not None and is_relevant(means[1] - means[0], means[0], least_relevant(name))


def _redundancy_warnings(today: Evaluation, after: Evaluation) -> Iterator[str]:
    """Yield a warning if more tasks than today lose all copies with one rack or client."""
    worse = []
    for metric in map(METRIC.__getitem__, REDUNDANCY_METRICS):
        means = _common_means(today, after, metric.name)
        if means is not None and means[1] > means[0]:
            worse.append(f"{metric.title.lower()}: {' → '.join(map(metric.write, means))}")
    if worse:
        advice = "keep it with --max-unprotected-tasks N or --keep num.standby.replicas"
        yield f"this setting reduces the redundancy of stateful tasks (means: {', '.join(worse)}); {advice}"


def _matrix(runs: Sequence[Run]) -> Floats:
    """Return the main metrics of runs; shape (runs, MAIN_METRICS), NaN where unknown."""
    return np.array([[METRIC[name].of(run) for name in MAIN_METRICS] for run in runs], dtype=np.float64)


LABEL: Final = "candidate"
"""Label of the single assignor in an evaluation sweep; its class and configs differ between settings."""

_ENTRY: Final = "assignors[0]"
_TASK_ASSIGNOR: Final = "task.assignor"


RunJob = Callable[[str, SweepJob], Iterable[Run]]
"""Runs a sweep with a name; returns the rows of its table `runs`, in any order."""


@dataclass(slots=True, eq=False)
class CandidateRuns:
    """Runs candidates; see `pipeline.advise.recommender.RunCandidates`."""

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
