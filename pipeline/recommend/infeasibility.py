"""Explanation why no candidate is feasible: which limits are exceeded and how close the best candidate came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from pipeline.recommend.evaluator import Evaluation, Evaluator
from pipeline.recommend.limits import Limit
from pipeline.recommend.space import Candidate
from reports.analysis.formatting import format_number
from reports.analysis.metrics import METRIC

_MAX_CAUSES = 3


def explain_infeasibility(evaluator: Evaluator, nearest: Candidate) -> Iterator[str]:
    """Explain why no candidate is feasible: frequent reasons, lowest values, and the candidate nearest to feasible.

    Args:
        evaluator: the evaluator with all evaluations.
        nearest: the candidate with the smallest violations.

    Yields:
        Sentences.
    """
    evaluations = list(evaluator.evaluations.values())
    causes = Counter(cause for evaluation in evaluations for cause in evaluation.causes)
    for cause, _ in sorted(causes.items(), key=lambda pair: (-pair[1], pair[0]))[:_MAX_CAUSES]:
        count = sum(cause in evaluation.causes for evaluation in evaluations)
        yield f"{count} of {len(evaluations)} settings: at least one run {cause}."
    for limit in evaluator.limits:
        yield from _lowest_value(evaluator, limit)
    best = evaluator.evaluations[nearest]
    mean = "" if best.mean == np.inf else f", with {evaluator.objective.text} of {format_number(best.mean)} on average"
    yield f"Nearest to feasible: {describe_candidate(evaluator, nearest)}{mean}; {'; '.join(describe_violations(best))}"


def _lowest_value(evaluator: Evaluator, limit: Limit) -> Iterator[str]:
    """Yield the lowest value of a limited metric over all candidates, each measured by its worst run."""
    worst: dict[Candidate, float] = {}
    for evaluation in evaluator.evaluations.values():
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


def describe_candidate(evaluator: Evaluator, candidate: Candidate) -> str:
    """Return a candidate as text: the configs that it changes."""
    space, values = evaluator.space, evaluator.space.values(candidate)
    keys = [key for index in space.changed(candidate) for key in space.dimensions[index].keys]
    return ", ".join(f"{key}={values[key]}" for key in keys if values[key] is not None) or "no change"
