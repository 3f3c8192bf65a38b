"""The most balanced combination of a Pareto front: no objective is much worse than the lowest on the front."""

from __future__ import annotations

from collections.abc import Sequence


def most_balanced(means: Sequence[Sequence[float]], is_stable: Sequence[bool]) -> int | None:
    """Return the index of the combination whose largest regret is lowest; None without combinations or objectives.

    The regret of a combination in an objective is its distance from the lowest mean on the front, as a share of the
    range of the means on the front. Combinations in which some run did not converge are chosen only if there are no
    others.

    Args:
        means: for each combination on the front, the mean of each objective.
        is_stable: for each combination, whether all of its runs converged.

    Returns:
        The index; of equal combinations, the one with the lowest sum of regrets, then the first.
    """
    candidates = [index for index, stable in enumerate(is_stable) if stable] or list(range(len(means)))
    if not candidates or not means[0]:
        return None
    ranges = [(min(of_objective), max(of_objective)) for of_objective in zip(*means, strict=True)]

    def regrets(index: int) -> list[float]:
        pairs = zip(means[index], ranges, strict=True)
        return [(mean - low) / (high - low) if high > low else 0.0 for mean, (low, high) in pairs]

    return min(candidates, key=lambda index: (max(regrets(index)), sum(regrets(index)), index))
