"""The sentence on runs whose outcome depends on client times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.analysis.comparison import ComparisonRow
from reports.analysis.formatting import format_count, format_duration, format_number
from simulator.results.time_difference import times_differ

_PREFIXES = ("early_", "", "late_")


def time_range_text(row: ComparisonRow) -> str:
    """Return `x converges in 10 s or 80 s, with 2 or 3 rebalances, … the copy of 0_1 on c catches up 1.2 s after …`.

    Args:
        row: an assignor in a scenario, with at least one run whose outcome depends on client times.
    """
    first = row.time_ranges[0]
    affected, runs = len(row.time_ranges), len(row.seeds)
    which = f" ({affected} of {runs} runs, for example seed {first['seed']})" if runs > 1 else ""
    factor = format_number(first["uncertainty"])
    return (
        f"{row.assignor} converges in {_times(first)}, with {_rebalances(first)}{which}, depending on client times, "
        f"which are known within a factor of {factor} (application.times){_reason(first)}."
    )


def _times(outcome: Mapping[str, Any]) -> str:
    values = [outcome[f"{prefix}time_to_converge_ms"] for prefix in _PREFIXES]
    known = sorted(value for value in values if value is not None)
    if known and not times_differ(known[0], known[-1]):
        known = known[1:2] or known
    texts = [format_duration(value) for value in known] + ["not at all"] * (None in values)
    return " or ".join(dict.fromkeys(texts))


def _rebalances(outcome: Mapping[str, Any]) -> str:
    values = [outcome[f"{prefix}rebalances_to_converge"] for prefix in _PREFIXES]
    known = sorted({value for value in values if value is not None})
    texts = [format_count(value) for value in known] or ["unknown"]
    return f"{' or '.join(texts)} rebalance{'' if known == [1] else 's'}"


def _reason(outcome: Mapping[str, Any]) -> str:
    if outcome["task"] is None:
        return "" if outcome["round"] is None else f"; rebalance {outcome['round']} decides"
    copy = f"the copy of {outcome['task']} on {outcome['client']}"
    if outcome["caught_up_after_ms"] is None:
        return f"; {copy} decides at rebalance {outcome['round']}"
    after_ms = outcome["caught_up_after_ms"]
    side = "before" if after_ms < 0 else "after"
    return f"; {copy} catches up {format_duration(abs(after_ms))} {side} rebalance {outcome['round']}"
