"""The most balanced combination of a Pareto front: no objective is much worse than the lowest on the front."""

from __future__ import annotations

from collections.abc import Sequence

from reports.analysis.metrics import is_relevant


def most_balanced(means: Sequence[Sequence[float]], is_stable: Sequence[bool], least: Sequence[float]) -> int | None:
    """Return the index of the combination whose largest regret is lowest; None without combinations or objectives.

    The regret of a combination in an objective is its distance from the lowest mean on the front, as a share of the
    range of the means on the front; 0 if that range is no relevant difference. Combinations in which some run did not
    converge are chosen only if there are no others. `means`: for each combination on the front, the mean of each
    objective; `is_stable`: for each combination, whether all of its runs converged; `least`: for each objective, the
    smallest difference that counts. Returns the index; of equal combinations, the one with the lowest sum of regrets,
    then the first.
    """
    candidates = [index for index, stable in enumerate(is_stable) if stable] or list(range(len(means)))
    if not candidates or not means[0]:
        return None
    ranges = []
    for of_objective, one in zip(zip(*means, strict=True), least, strict=True):
        low, high = min(of_objective), max(of_objective)
        ranges.append((low, high, high > low and is_relevant(high - low, low, one)))

    def regrets(index: int) -> list[float]:
        pairs = zip(means[index], ranges, strict=True)
        return [(mean - low) / (high - low) if counts else 0.0 for mean, (low, high, counts) in pairs]

    return min(candidates, key=lambda index: (max(regrets(index)), sum(regrets(index)), index))
