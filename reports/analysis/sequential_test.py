"""Repeated significance tests of paired differences while seeds are added.

The sign of a mean difference is decided at the first look whose sign-flip test has a p-value of at most the level of
the look. The levels are α/(k·(k+1)) for look k: 0.025, 0.0083, 0.0042, … Their sum stays below α however many looks
there are, so the levels do not depend on the number of declared seeds.

Guarantees:
    Per metric of a pair, the probability that any look decides is at most α, if each difference and its negation are
    equally likely (no effect). It holds for any dependence between the looks, because the levels add up (Bonferroni).
    It is not divided by the number of metrics or pairs. With `decide_family`, it is the probability that any
    difference of a family without an effect is decided, whatever the dependence between them (Holm's test at each
    look: before its first wrong decision, those left include all without an effect, which get at most their shares).
    A decision at a look depends on the differences of its seeds only: more seeds never change it.

Complexity: O(flips · seeds) per look, with 2^(seeds-1) flips for up to 16 seeds and 9,999 random ones beyond; more
for a family, whose levels are lower than 1 in 10,000.

Source: K. K. G. Lan, D. L. DeMets, Discrete sequential boundaries for clinical trials, Biometrika 70 (1983) (spending α
over looks); E. Slud, L. J. Wei, Two-sample repeated significance tests based on the modified Wilcoxon statistic,
Journal of the American Statistical Association 77 (1982) (a share of α per look, for permutation tests); R. A. Fisher,
The Design of Experiments (1935), section 21 (sign-flip test); B. Phipson, G. K. Smyth, Permutation p-values should
never be zero, Statistical Applications in Genetics and Molecular Biology 9 (2010) (random flips); S. Holm, A simple
sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979); W. Maurer, F. Bretz,
Multiple testing in group sequential trials using graphical approaches, Statistics in Biopharmaceutical Research 5
(2013).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reports.analysis.statistics import ALPHA, Floats, without_rounding
from simulator.random_streams import random_stream

FIRST_LOOK: Final = 8
"""Seeds of the first look: of fewer than 7 pairs, no p-value is as low as the level of the first look."""

MAX_FAMILY: Final = 500
"""Largest family: with the most random flips, the level of its third look is still a possible p-value."""

_EXACT_SEEDS: Final = 16
_RANDOM_FLIPS: Final = 9_999
_MAX_RANDOM_FLIPS: Final = (1 << 17) - 1
_FLIPS_AT_A_TIME: Final = 1_024
_SUM_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class SignDecision:
    """The sign of one metric's mean difference at the look that decided it, else at the last look.

    Attributes:
        look: index of the look that decided it; None if it is undecided.
        pairs: number of seeds up to the look for which both values are known.
        mean: mean difference over these pairs; None without pairs.
        p: p-value of the sign-flip test of the look, not corrected.
    """

    look: int | None
    pairs: int
    mean: float | None
    p: float


def look_sizes(seeds: int) -> tuple[int, ...]:
    """Return the numbers of seeds after which differences are tested: 8, 16, 32, … below the number of all seeds."""
    sizes = []
    size = FIRST_LOOK
    while size < seeds:
        sizes.append(size)
        size *= 2
    return tuple(sizes)


def look_level(look: int) -> float:
    """Return the significance level of a look, by its index from 0."""
    return ALPHA / ((look + 1) * (look + 2))


def decide_signs(values: Floats, baseline: Floats, looks: Sequence[int]) -> list[SignDecision]:
    """Test the differences of every metric look by look, until its sign is decided.

    `values` has shape (seeds, metrics), in the order of the seeds; NaN where unknown. `baseline`: the same for the
    baseline, with the same seeds in the same rows. `looks`: the numbers of seeds of the looks so far, ascending.
    """
    differences = without_rounding(values - baseline, values, baseline)
    decisions = [SignDecision(None, 0, None, 1.0)] * differences.shape[1]
    for look, size in enumerate(looks):
        waiting = [metric for metric, decision in enumerate(decisions) if decision.look is None]
        if not waiting:
            break
        seen = differences[:size, waiting]
        for metric, p, column in zip(waiting, sign_flip_p_values(seen).tolist(), seen.T, strict=True):
            known = column[~np.isnan(column)]
            mean = float(known.mean()) if len(known) else None
            # A mean of 0 has no sign, and its p-value is 1.
            decisions[metric] = SignDecision(look if p <= look_level(look) else None, len(known), mean, p)
    return decisions


@dataclass(frozen=True, slots=True)
class FamilyDecision:
    """The decision about one difference of a family.

    Attributes:
        look: index of the look that decided it; None if it is undecided.
        level: the level of the look for this difference, or that of the last look if it is undecided.
    """

    look: int | None
    level: float


def decide_family(p_values: Floats) -> list[FamilyDecision]:
    """Decide which differences of a family have a sign, by Holm's test of the undecided ones at each look.

    `p_values` has shape (looks, differences), from `sign_flip_p_values` with the flips of `family_flips`; those after
    the look that decides a difference are ignored.
    """
    decisions = [FamilyDecision(None, 1.0)] * p_values.shape[1]
    for look, of_look in enumerate(p_values.tolist()):
        waiting = [index for index, decision in enumerate(decisions) if decision.look is None]
        is_stopped = False
        for place, index in enumerate(sorted(waiting, key=of_look.__getitem__)):
            if not is_stopped:
                level = look_level(look) / (len(waiting) - place)
                is_stopped = of_look[index] > level
            decisions[index] = FamilyDecision(None if is_stopped else look, level)
    return decisions


def family_flips(differences: int, look: int) -> int:
    """Return the number of random flips with which a difference of a family can be decided at a look, by its index."""
    level = look_level(look) / max(differences, 1)
    return min(max(_RANDOM_FLIPS, math.ceil(2 / level)), _MAX_RANDOM_FLIPS)


def sign_flip_p_values(differences: Floats, random_flips: int = _RANDOM_FLIPS) -> Floats:
    """Return the p-value of the two-sided sign-flip test of each column.

    `differences`, shape (seeds, metrics): NaN where unknown. `random_flips`: number of random flips where not all are
    tried. The result has shape (metrics,).
    """
    # An unknown difference counts as 0, which no flip changes: the p-value is that of the known ones.
    known = np.nan_to_num(differences, nan=0.0)
    observed = np.abs(known.sum(axis=0))
    # Sums that differ by rounding only must tie.
    threshold = observed - np.abs(known).sum(axis=0) * _SUM_ROUNDING
    flips = _flips(len(known), random_flips)
    count = np.zeros(known.shape[1])
    for start in range(0, len(flips), _FLIPS_AT_A_TIME):
        sums = flips[start : start + _FLIPS_AT_A_TIME].astype(np.float64) @ known
        count += (np.abs(sums) >= threshold).sum(axis=0)
    if len(known) <= _EXACT_SEEDS:
        return np.asarray(count / len(flips))
    return np.asarray((1 + count) / (1 + len(flips)))


@lru_cache(maxsize=16)
def _flips(seeds: int, random_flips: int) -> NDArray[np.int8]:
    """Return shape (flips, seeds) of 1 and -1: all with a first sign of 1, or random ones; the same for all metrics."""
    if seeds <= _EXACT_SEEDS:
        numbers = np.arange(1 << max(seeds - 1, 0))
        bits = (numbers[:, None] >> np.arange(seeds)) & 1
        return (1 - 2 * bits).astype(np.int8)[:, ::-1]
    random = random_stream(0, "sign flips of a look", str(seeds))
    return (1 - 2 * random.integers(0, 2, (random_flips, seeds))).astype(np.int8)
