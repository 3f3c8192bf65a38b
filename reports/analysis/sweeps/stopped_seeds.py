"""Seeds that a sweep did not run because differences were decided, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.analysis.metrics import METRIC
from reports.analysis.text import listed


def describe_stops(sweep: Mapping[str, Any]) -> str:
    """Return which pairs were stopped, when and why, and on which seeds combinations are compared.

    `sweep`: an entry of `sweeps` in the `summary.json` of an aggregate, with the key `stopped`.
    """
    stopped, seeds = sweep["stopped"], sweep["seeds"]
    number = stopped.get("baseline_setting")
    baseline = "the baseline" if number is None else f"the baseline setting ({number})"
    compared = "an assignor and the baseline" if number is None else f"a setting and {baseline} with the same assignor"
    family = "all looks" if number is None else "all pairs, metrics and looks together"
    titles = listed([METRIC[name].title for name in stopped["metrics"]])
    of_looks = [look for look in stopped["looks"] if look["stopped_pairs"]]
    pairs = sum(look["stopped_pairs"] for look in of_looks)
    if not pairs:
        return f"No difference from {baseline} in {titles} was decided before the last seed: no pair was stopped."
    when = listed([f"{look['stopped_pairs']:,} after {look['seeds']}" for look in of_looks])
    shared = stopped["shared_seeds"]
    text = (
        f"Seeds stopped for {pairs:,} of {stopped['pairs']:,} pairs of {compared}, as the sign of "
        f"their difference in {titles} was decided ({when} of {seeds} seeds; sign-flip tests, 5 % over {family}); "
        f"{stopped['runs']:,} runs were not needed."
    )
    if shared == seeds:
        return text
    return (
        f"{text} Combinations are compared by their means over the first {shared} seeds, which all have; differences, "
        "by the seeds of the pair. Means and intervals do not correct for the stop: a stopped difference tends to be "
        "too large."
    )
