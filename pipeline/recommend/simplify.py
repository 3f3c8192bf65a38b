"""From the best setting to the changes that matter: what can be undone without harm is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pipeline.recommend.evaluator import Evaluation, Evaluator
from pipeline.recommend.space import Candidate
from reports.analysis.statistics import paired

MIN_GAIN_SHARE: Final = 0.01
"""The share of the whole gain up to which a change is not worth to be made."""


def simplify(
    bench: Evaluator, best: Candidate, seeds: int, on_progress: Callable[[str], None] = lambda _: None
) -> Candidate:
    """Undo every change that does not make the objective surely better, or by next to nothing.

    Each change is undone alone. Those whose loss does no harm beyond noise, or less than a hundredth of what all
    changes gain against today's, are then undone together; if that does harm, as changes may make up for each other,
    only the least missed one is, and the rest is looked at again.

    Args:
        bench: where to try candidates.
        best: what to simplify.
        seeds: how many runs each try takes.
        tell: is told what is tried.
    """
    while changed := bench.space.changed(best):
        on_progress(f"which of {len(changed)} changes matter")
        without = {place: bench.space.undone(best, [place]) for place in changed}
        pool = dict.fromkeys([bench.space.today, best, *without.values()])
        tried = {each.candidate: each for each in bench.attempt(list(pool), seeds)}
        today, whole = tried[bench.space.today], tried[best]
        bearable = MIN_GAIN_SHARE * max(today.mean - whole.mean, 0.0) if today.is_feasible else 0.0
        harms = {place: _harm(whole, tried[other], bearable) for place, other in without.items()}
        harmless = {place: harm for place, harm in harms.items() if harm is not None}
        if not harmless:
            return best
        together = bench.space.undone(best, harmless)
        if together not in tried:
            tried = {each.candidate: each for each in bench.attempt([best, together], seeds)}
        if _harm(tried[best], tried[together], bearable) is not None:
            return together
        best = without[min(harmless, key=lambda place: (harmless[place], place))]
    return best


def _harm(whole: Evaluation, other: Evaluation, bearable: float) -> float | None:
    """By how much the objective gets worse, on average; None if that is more than bearable and beyond noise, or if the
    runs get less acceptable."""
    if other.badness > whole.badness:
        return None
    [difference] = paired(other.values[:, None], whole.values[:, None], "recommend", "undone")
    if difference.mean is None:
        return None
    is_sure = difference.excludes_zero is not False
    return None if difference.mean > bearable and is_sure else difference.mean
