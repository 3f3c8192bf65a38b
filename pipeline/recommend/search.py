"""Search for the best setting: start with many candidates and few seeds, then narrow down with more seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.recommend.evaluator import Evaluation, Evaluator
from pipeline.recommend.space import Candidate

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


def search(evaluator: Evaluator, budget: int, on_progress: Callable[[str], None] = lambda _: None) -> list[SearchStage]:
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

    Args:
        evaluator: evaluates candidates.
        budget: maximum number of runs, at least 6.
        on_progress: called with a description of each round.

    Returns:
        The rounds.
    """
    runs_left, seeds = budget, FIRST_SEEDS
    today = evaluator.space.today
    first = evaluator.space.sample(max(int(budget * _SAMPLED_SHARE) // seeds - 1, 0))
    pool = [today, *(candidate for candidate in first if candidate != today)]
    stages: list[SearchStage] = []
    while True:
        on_progress(f"round {len(stages) + 1}: {len(pool)} settings, {seeds} seeds each")
        stages.append(SearchStage(seeds, tuple(evaluator.rank(evaluator.evaluate(pool, seeds)))))
        runs_left -= len(pool) * seeds
        best = stages[-1].ranked[0].candidate
        neighbors = evaluator.space.neighbors(best)
        new_neighbors = [candidate for candidate in neighbors if candidate not in evaluator.evaluations]
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
