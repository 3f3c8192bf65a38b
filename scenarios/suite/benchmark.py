"""AssignorBench: the published selection of the standard suite on which assignors are ranked.

A version never changes: new cases, metrics or rules make a new version.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from scenarios.suite.standard import KNOWN_PROBLEMS, SCALE, SuiteCase, standard_suite

NAME: Final = "AssignorBench v1"
"""Name and version; part of every result."""

SCENARIOS_PER_FAMILY: Final = 8
"""Scenarios of each random family: the first ones of the standard suite, each with its first seed."""


def benchmark_cases() -> list[SuiteCase]:
    """Return the scenarios of the benchmark, by family; large assignments are instances only."""
    counts: Counter[str] = Counter()
    chosen: list[SuiteCase] = []
    for case in standard_suite(quick=True):
        is_first_seed = case.name.partition(",")[0] not in {other.name.partition(",")[0] for other in chosen[-1:]}
        if case.family == SCALE or not is_first_seed:
            continue
        counts[case.family] += 1
        if case.family == KNOWN_PROBLEMS or counts[case.family] <= SCENARIOS_PER_FAMILY:
            chosen.append(case)
    return chosen
