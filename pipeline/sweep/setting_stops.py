"""Decisions between settings: each setting against the baseline setting, for each assignor, paired by seed.

All differences of a sweep are one family: the probability that any of them is decided without an effect is at most α,
over all settings, assignors, metrics and looks (`reports.analysis.sequential_test.decide_family`). The p-values of a
setting depend on its runs and those of the baseline setting only, so workers compute them setting by setting.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.sweep.stop_rule import StopRule, metric_values
from reports.analysis.sequential_test import decide_family, family_flips, sign_flip_p_values
from reports.analysis.statistics import Floats, without_rounding

SETTING_STOPS = pa.schema(
    [
        ("setting", pa.int64()),
        ("assignor", pa.string()),
        ("baseline_setting", pa.int64()),
        ("metric", pa.string()),
        ("decided_after", pa.int64()),
        ("level", pa.float64()),
        ("p", pa.float64()),
        ("mean_difference", pa.float64()),
        ("pairs", pa.int64()),
        ("stopped_after", pa.int64()),
    ]
)
"""One row per setting other than the baseline setting, assignor and metric, with the columns of `stop_rule.STOPS`."""

TESTS = pa.schema(
    [
        ("setting", pa.int64()),
        ("assignor", pa.string()),
        ("metric", pa.string()),
        ("look", pa.int64()),
        ("p", pa.float64()),
        ("mean_difference", pa.float64()),
        ("pairs", pa.int64()),
    ]
)
"""One row per difference and look: the p-value, the mean difference, and the number of seeds with both values."""

AssignorValues = dict[str, Floats]
"""Metrics by assignor, shape (seeds, metrics)."""


def baseline_values(rule: StopRule, looks: int, runs: pa.Table) -> AssignorValues:
    """Return the metrics of the baseline setting.

    Args:
        rule: the rule.
        looks: the number of looks so far.
        runs: its runs, in any order, with the columns of `stop_rule.DECIDED_RUN`.
    """
    return metric_values(rule, runs.to_pylist(), rule.looks[looks - 1])


def setting_tests(rule: StopRule, looks: int, baseline: AssignorValues, runs: pa.Table) -> pa.Table:
    """Test the differences of a setting from the baseline setting at each look.

    Args:
        rule: the rule.
        looks: the number of looks so far; runs of later seeds are ignored.
        baseline: metrics of the baseline setting.
        runs: the runs of the setting, in any order, with the columns of `stop_rule.DECIDED_RUN`.

    Returns:
        Rows of `TESTS`.
    """
    rows = runs.to_pylist()
    values = metric_values(rule, rows, rule.looks[looks - 1])
    tests: list[dict[str, Any]] = []
    for assignor in rule.assignors:
        differences = without_rounding(values[assignor] - baseline[assignor], values[assignor], baseline[assignor])
        for look, size in enumerate(rule.looks[:looks]):
            seen = differences[:size]
            p_values = sign_flip_p_values(seen, family_flips(rule.differences, look))
            for metric, p, column in zip(rule.metrics, p_values.tolist(), seen.T, strict=True):
                known = column[~np.isnan(column)]
                mean = float(known.mean()) if len(known) else None
                key = {"setting": rows[0]["setting"], "assignor": assignor, "metric": metric, "look": look}
                tests.append({**key, "p": p, "mean_difference": mean, "pairs": len(known)})
    return pa.Table.from_pylist(tests, schema=TESTS)


def decide_settings(rule: StopRule, looks: int, tests: pa.Table) -> pa.Table:
    """Decide which pairs of settings stop.

    Args:
        rule: the rule.
        looks: the number of looks so far.
        tests: the tests of all settings but the baseline setting, in any order.

    Returns:
        Rows of `SETTING_STOPS`, by setting, assignor and metric. A difference without a test is undecided.
    """
    of_look = {(row["setting"], row["assignor"], row["metric"], row["look"]): row for row in tests.to_pylist()}
    settings = [setting for setting in range(rule.settings) if setting != rule.baseline_setting]
    pairs = [(setting, assignor) for setting in settings for assignor in rule.assignors]
    keys = [(*pair, metric) for pair in pairs for metric in rule.metrics]
    untested = {"p": 1.0, "mean_difference": None, "pairs": 0}
    found = [[of_look.get((*key, look), untested) for key in keys] for look in range(looks)]
    decisions = decide_family(np.array([[test["p"] for test in row] for row in found]))
    stops: list[dict[str, Any]] = []
    for index, ((setting, assignor, metric), decision) in enumerate(zip(keys, decisions, strict=True)):
        test = found[looks - 1 if decision.look is None else decision.look][index]
        first = index - index % len(rule.metrics)
        of_pair = [other.look for other in decisions[first : first + len(rule.metrics)]]
        known = [look for look in of_pair if look is not None]
        stops.append(
            {
                "setting": setting,
                "assignor": assignor,
                "baseline_setting": rule.baseline_setting,
                "metric": metric,
                "decided_after": None if decision.look is None else rule.looks[decision.look],
                "level": decision.level,
                "p": test["p"],
                "mean_difference": test["mean_difference"],
                "pairs": test["pairs"],
                "stopped_after": rule.looks[max(known)] if len(known) == len(of_pair) else None,
            }
        )
    return pa.Table.from_pylist(stops, schema=SETTING_STOPS)
