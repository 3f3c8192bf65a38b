"""Simplification of the best setting: changes without benefit are undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pipeline.recommend.evaluator import Evaluation, Evaluator
from pipeline.recommend.space import Candidate
from reports.analysis.statistics import paired

MIN_GAIN_SHARE: Final = 0.01
"""Changes that contribute less than this share of the total gain are undone."""


def simplify(
    evaluator: Evaluator, best: Candidate, seeds: int, on_progress: Callable[[str], None] = lambda _: None
) -> Candidate:
    """Undo every change that does not improve the objective significantly, or improves it only marginally.

    Each change is undone alone. Changes whose removal does no harm beyond noise, or costs less than `MIN_GAIN_SHARE` of
    the total gain over the current setting, are then undone together. If that does harm (changes may compensate each
    other), only the one with the least harm is undone, and the rest is evaluated again.

    Args:
        evaluator: evaluates candidates.
        best: the candidate to simplify.
        seeds: number of runs per evaluation.
        on_progress: called with a description of each step.

    Returns:
        The simplified candidate.
    """
    while changed := evaluator.space.changed(best):
        on_progress(f"checking which of {len(changed)} changes matter")
        without = {dimension: evaluator.space.revert(best, [dimension]) for dimension in changed}
        pool = dict.fromkeys([evaluator.space.today, best, *without.values()])
        evaluations = {evaluation.candidate: evaluation for evaluation in evaluator.evaluate(list(pool), seeds)}
        current, complete = evaluations[evaluator.space.today], evaluations[best]
        tolerance = MIN_GAIN_SHARE * max(current.mean - complete.mean, 0.0) if current.is_feasible else 0.0
        harms = {dimension: _harm(complete, evaluations[reduced], tolerance) for dimension, reduced in without.items()}
        harmless = {dimension: harm for dimension, harm in harms.items() if harm is not None}
        if not harmless:
            return best
        together = evaluator.space.revert(best, harmless)
        if together not in evaluations:
            evaluations = {
                evaluation.candidate: evaluation for evaluation in evaluator.evaluate([best, together], seeds)
            }
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
