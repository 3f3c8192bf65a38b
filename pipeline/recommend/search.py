"""The search for the best setting: many candidates with few seeds first, then the best of them, and what lies next to
the best, with more and more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.recommend.evaluator import Evaluation, Evaluator
from pipeline.recommend.space import Candidate

FIRST_SEEDS = 2
MAX_SEEDS = 8
"""In a round of the search; what is recommended is measured with others."""

_EXPLORED = 0.4
_KEPT = 3
_LEAST_TRIED = 3


@dataclass(frozen=True, slots=True, eq=False)
class SearchStage:
    """One round of the search.

    Attributes:
        seeds: how many runs each candidate had.
        ranked: the candidates, the best first.
    """

    seeds: int
    ranked: tuple[Evaluation, ...]


def search(bench: Evaluator, budget: int, on_progress: Callable[[str], None] = lambda _: None) -> list[SearchStage]:
    """Look for the candidate whose objective is least.

    The first round tries a space-filling sample. Each further one keeps the best third, adds the untried neighbours of
    the best, and takes new seeds; twice as many if the best had no untried neighbour any more. The search ends when the
    best has held against all its neighbours with `MOST_SEEDS` seeds, or when the budget is used up.

    Guarantees:
        Today's setting is in every round. With budget enough and nothing left to chance, the best of the last round
        has no better neighbour. The same runs give the same answer.

    Complexity: at most `budget` runs; one call of `bench.evaluate` a round.

    Source: K. Jamieson, A. Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization (2016)
    (successive halving).

    Args:
        bench: where to try candidates.
        budget: how many runs may be made, 6 at least.
        tell: is told what is tried next.
    """
    left, seeds = budget, FIRST_SEEDS
    today = bench.space.today
    first = bench.space.sample(max(int(budget * _EXPLORED) // seeds - 1, 0))
    pool = [today, *(candidate for candidate in first if candidate != today)]
    rounds: list[SearchStage] = []
    while True:
        on_progress(f"round {len(rounds) + 1}: {len(pool)} settings, {seeds} seeds each")
        rounds.append(SearchStage(seeds, tuple(bench.ranked(bench.attempt(pool, seeds)))))
        left -= len(pool) * seeds
        best = rounds[-1].ranked[0].candidate
        news = [candidate for candidate in bench.space.neighbors(best) if candidate not in bench.tried]
        if not news and seeds == MAX_SEEDS:
            return rounds
        if not news:
            seeds = min(2 * seeds, MAX_SEEDS)
        pool = _next(rounds[-1].ranked, news, today, left // seeds)
        if len(pool) < _LEAST_TRIED:
            return rounds


def _next(ranked: Sequence[Evaluation], news: Sequence[Candidate], today: Candidate, most: int) -> list[Candidate]:
    """Today's, the best, what lies next to it, and the rest of the best third, as far as the budget goes."""
    kept = [each.candidate for each in ranked[: max(-(-len(ranked) // _KEPT), _LEAST_TRIED)]]
    return list(dict.fromkeys([today, kept[0], *news, *kept[1:]]))[: max(most, 0)]
