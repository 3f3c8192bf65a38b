"""From a search to a recommendation: the best setting, without what does not matter, measured against today's anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.recommend.config_changes import config_changes
from pipeline.recommend.evaluator import Evaluation, Evaluator
from pipeline.recommend.infeasibility import describe_candidate, describe_violations, explain_infeasibility
from pipeline.recommend.limits import REDUNDANCY_METRICS
from pipeline.recommend.request import RecommendationRequest
from pipeline.recommend.search import MAX_SEEDS, SearchStage, search
from pipeline.recommend.simplify import simplify
from pipeline.recommend.space import Candidate
from reports.analysis.metric import Run
from reports.analysis.metrics import METRIC
from reports.analysis.recommendation import (
    MAIN_METRICS,
    MetricChange,
    Recommendation,
    RecommendationVerdict,
    SearchRound,
)
from reports.analysis.statistics import Floats, Interval, paired, summarize

_SEARCHED = 0.7
"""How much of the budget the search may take; the rest says which changes matter."""

_FINALISTS = 3

Tell = Callable[[str], None]


def recommend(question: RecommendationRequest, bench: Evaluator, on_progress: Tell = lambda _: None) -> Recommendation:
    """Search, simplify, and measure.

    Guarantees:
        What is told of gain and figures is of seeds that had no part in choosing. A setting is recommended only if
        every run of it was acceptable, and if the objective is surely less than today's over these seeds, or today's
        runs are not acceptable.

    Args:
        question: what is asked.
        bench: where candidates are tried.
        tell: is told what is done.
    """
    answer = _RecommendationBuilder(question, bench)
    rounds = search(bench, int(question.runs * _SEARCHED), on_progress)
    answer.steps = tuple(_step(each) for each in rounds)
    ranked = rounds[-1].ranked
    nearest = ranked[0].candidate
    for finalist in [each.candidate for each in ranked if each.is_feasible][:_FINALISTS]:
        nearest = simplify(bench, finalist, MAX_SEEDS, on_progress)
        if nearest == bench.space.today:
            if bench.tried[nearest].is_feasible:
                return answer.of("already_best")
            continue
        on_progress(f"measuring with {question.seeds} fresh seeds")
        today, after = bench.attempt([bench.space.today, nearest], question.seeds)
        if after.is_feasible:
            return answer.measured(today, after)
    return answer.of("none_feasible", remarks=list(explain_infeasibility(bench, nearest)))


@dataclass(slots=True, eq=False)
class _RecommendationBuilder:
    """Recommendations about one question."""

    question: RecommendationRequest
    bench: Evaluator
    steps: tuple[SearchRound, ...] = ()

    def of(
        self,
        verdict: RecommendationVerdict,
        chosen: Candidate | None = None,
        figures: Sequence[MetricChange] = (),
        remarks: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> Recommendation:
        scenario, space = self.question.scenario, self.bench.space
        application = scenario.blueprint.application.id
        return Recommendation(
            scenario=scenario.name,
            today=self.question.today.label,
            objective=self.bench.objective.text,
            limits=tuple(map(str, self.bench.limits)),
            verdict=verdict,
            changes=() if chosen is None else tuple(config_changes(space, chosen, application)),
            gain=figures[0] if figures else None,
            figures=tuple(figures[1:]),
            seeds=self.question.seeds if figures else 0,
            runs=self.bench.runs,
            settings=len(self.bench.tried),
            steps=self.steps,
            remarks=tuple(remarks),
            warnings=tuple(warnings),
        )

    def measured(self, today: Evaluation, after: Evaluation) -> Recommendation:
        """What is said of a setting that was measured beside today's."""
        figures = _figures(today, after)
        warnings = list(_lost_protection(today, after))
        if not today.is_feasible:
            remarks = [f"Today's: {text}" for text in describe_violations(today)]
            return self.of("recommended", after.candidate, figures, remarks, warnings)
        if figures[0].direction < 0:
            return self.of("recommended", after.candidate, figures, warnings=warnings)
        setting = describe_candidate(self.bench, after.candidate)
        remark = f"The best other setting, {setting}, is not surely better over fresh seeds; its figures are here."
        return self.of("already_best", figures=figures, remarks=[remark])


def _step(each: SearchStage) -> SearchRound:
    means = [tried.mean for tried in each.ranked if tried.is_feasible]
    return SearchRound(len(each.ranked), each.seeds, min(means, default=None))


def _figures(today: Evaluation, after: Evaluation) -> list[MetricChange]:
    """The objective, then the main metrics that both know."""
    before, behind = (np.column_stack([each.values, _matrix(each.runs)]) for each in (today, after))
    unknown = np.isnan(before) | np.isnan(behind)
    before[unknown], behind[unknown] = np.nan, np.nan
    names: list[str | None] = [None, *MAIN_METRICS]
    every = zip(
        names,
        summarize(before, "recommend"),
        summarize(behind, "recommend"),
        paired(behind, before, "recommend"),
        strict=True,
    )
    return [
        MetricChange(
            name=name,
            pairs=pair.pairs,
            before=first.mean,
            before_interval=_ends(first.interval, name),
            after=second.mean,
            after_interval=_ends(second.interval, name),
            difference=pair.mean,
            interval=None if pair.interval is None else (pair.interval.low, pair.interval.high),
        )
        for name, first, second, pair in every
        if pair.pairs or name is None
    ]


def _lost_protection(today: Evaluation, after: Evaluation) -> Iterator[str]:
    """Return a warning if more tasks lose all their copies with a rack or a client than today."""
    worse = []
    for metric in map(METRIC.__getitem__, REDUNDANCY_METRICS):
        before, behind = (np.array([metric.of(run) for run in each.runs], np.float64) for each in (today, after))
        known = ~np.isnan(before) & ~np.isnan(behind)
        if known.any() and behind[known].mean() > before[known].mean():
            means = " → ".join(metric.write(float(values[known].mean())) for values in (before, behind))
            worse.append(f"{metric.title.lower()}: {means}")
    if worse:
        advice = "keep them by --max-unprotected-tasks N, or by --keep num.standby.replicas"
        yield f"this setting gives up redundancy of stateful tasks ({', '.join(worse)}, means); {advice}"


def _matrix(runs: Sequence[Run]) -> Floats:
    return np.array([[METRIC[name].of(run) for name in MAIN_METRICS] for run in runs], dtype=np.float64)


def _ends(interval: Interval | None, name: str | None) -> tuple[float, float] | None:
    """An interval; of a metric not below 0, as no metric is."""
    if interval is None:
        return None
    return (interval.low if name is None else max(interval.low, 0.0), interval.high)
