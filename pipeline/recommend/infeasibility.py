"""Why nothing is acceptable: which limit is in the way, and how near the best came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from pipeline.recommend.evaluator import Evaluation, Evaluator
from pipeline.recommend.limits import Limit
from pipeline.recommend.space import Candidate
from reports.analysis.formatting import format_number
from reports.analysis.metrics import METRIC

_MOST_CAUSES = 3


def explain_infeasibility(bench: Evaluator, nearest: Candidate) -> Iterator[str]:
    """What keeps most candidates from being acceptable; the least of what is limited; and what is wrong with the one
    that came nearest."""
    tried = list(bench.tried.values())
    causes = Counter(cause for each in tried for cause in each.causes)
    for cause, _ in sorted(causes.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_CAUSES]:
        count = sum(cause in each.causes for each in tried)
        yield f"{count} of {len(tried)} settings: at least one run {cause}."
    for limit in bench.limits:
        yield from _least(bench, limit)
    best = bench.tried[nearest]
    mean = "" if best.mean == np.inf else f", with {bench.objective.text} of {format_number(best.mean)} on average"
    yield f"Nearest to acceptable: {describe_candidate(bench, nearest)}{mean}; {'; '.join(describe_violations(best))}"


def _least(bench: Evaluator, limit: Limit) -> Iterator[str]:
    """The least of a limited metric that any setting came to in its worst run."""
    worst: dict[Candidate, float] = {}
    for each in bench.tried.values():
        values = [None if run["error"] is not None else limit.of(run) for run in each.runs]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            worst[each.candidate] = max(known)
    if worst:
        least = min(worst, key=lambda candidate: (worst[candidate], bench.space.order(candidate)))
        said = METRIC[limit.metric].write(worst[least])
        yield f"{limit.option}: the least is {said} in the worst run, with {describe_candidate(bench, least)}."


def describe_violations(tried: Evaluation) -> list[str]:
    """What is wrong with the runs of a candidate."""
    return [f"{count} of {len(tried.runs)} runs: {cause}" for cause, count in sorted(tried.causes.items())]


def describe_candidate(bench: Evaluator, candidate: Candidate) -> str:
    """A candidate in words: what it changes."""
    space, values = bench.space, bench.space.values(candidate)
    keys = [key for place in space.changed(candidate) for key in space.dimensions[place].keys]
    return ", ".join(f"{key}={values[key]}" for key in keys if values[key] is not None) or "today's"
