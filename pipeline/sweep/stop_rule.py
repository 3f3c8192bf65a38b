"""The rule by which `sweep --until-significant` stops seeds: pairs, metrics, looks and levels.

The seeds of a cell are run in groups: those of the first look, then those of the next one, and so on. A pair gets no
further seeds after the look at which the sign of the difference of every chosen metric is decided. A pair is an
assignor and the baseline in one setting or, with `--between settings`, a setting and the baseline setting with one
assignor. A baseline runs as long as one of its pairs is undecided. The setting
that the others are compared with comes from `--baseline-setting FACTOR=VALUE`.

```
OUT/stops/stops.parquet       one row per pair and metric; written last, before the key `stopped` of the manifest
```

The runs of a look are complete before the next ones are chosen, and the choice depends on the stored runs only. A
killed sweep therefore chooses again what it had chosen, and its batches have the same numbers.

All differences of a sweep are one family: the probability that any of them is decided without an effect is at most α,
over all settings, assignors, metrics and looks (`reports.analysis.sequential_test.decide_family`). The p-values of a
setting depend on its runs and those of the baseline setting only, so workers compute them setting by setting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from reports.analysis.metrics import METRIC, Run
from reports.analysis.sequential_test import (
    FIRST_LOOK,
    MAX_FAMILY,
    decide_family,
    decide_signs,
    family_flips,
    look_level,
    look_sizes,
    sign_flip_p_values,
)
from reports.analysis.statistics import ALPHA, Floats, without_rounding
from scenarios.language.errors import SweepError, did_you_mean
from scenarios.sweeps.design import Sweep
from scenarios.sweeps.prepared import PreparedSweep
from simulator.results.tables import RUNS
from simulator.results.verdict import INCOMPARABLE

_OPTION = "--baseline-setting"


def baseline_setting_of(sweep: Sweep, between: str, named: Sequence[str]) -> int | None:
    """Return the number of the baseline setting; None if assignors are compared.

    `between`: `assignors` or `settings`. `named`: values of factors as `factor=value`, which one setting has; none for
    the first setting. Raises SweepError if settings are not compared, the sweep has one, `named` is malformed, or none
    or several have the values.
    """
    if between == "assignors":
        if named:
            raise SweepError(f"{_OPTION} needs --between settings: assignors are compared in each setting")
        return None
    if between != "settings":
        raise SweepError(f"--between: expected assignors or settings, found '{between}'")
    if len(sweep.settings) < 2:
        raise SweepError("--between settings compares settings, but the sweep has one")
    values = _values(sweep, named)
    names = [factor.name for factor in sweep.factors]
    numbers = [
        number
        for number, setting in enumerate(sweep.settings)
        if all(_is(setting[names.index(name)], text) for name, text in values.items())
    ]
    if len(numbers) > 1 and named:
        missing = ", ".join(name for name in names if name not in values)
        raise SweepError(
            f"{_OPTION} {' '.join(named)}: {len(numbers):,} settings have these values; name {missing}, too"
        )
    if not numbers:
        raise SweepError(f"{_OPTION} {' '.join(named)}: no setting of the sweep has these values")
    return numbers[0]


def _values(sweep: Sweep, named: Sequence[str]) -> Mapping[str, str]:
    """Return the values by factor.

    Raises SweepError if a text has another form, or a factor is unknown or named twice.
    """
    names = [factor.name for factor in sweep.factors]
    values: dict[str, str] = {}
    for text in named:
        name, equals, value = text.partition("=")
        if not equals:
            raise SweepError(f"{_OPTION} {text}: expected FACTOR=VALUE")
        if name not in names:
            raise SweepError(f"{_OPTION} {text}: unknown factor '{name}'; {did_you_mean(name, names)}")
        if name in values:
            raise SweepError(f"{_OPTION} {text}: '{name}' is {values[name]} already; name each factor once")
        values[name] = value
    return values


def _is(value: Any, text: str) -> bool:
    """Return whether a text is a value of a factor, as it is or as JSON: 10 and 10.0 are equal, 1 and true are not."""
    if isinstance(value, str) and value == text:
        return True
    try:
        other = json.loads(text)
    except ValueError:
        return False
    return bool(other == value) and isinstance(other, bool) is isinstance(value, bool)


STOPS = pa.schema(
    [
        ("setting", pa.int64()),
        ("assignor", pa.string()),
        ("baseline", pa.string()),
        ("metric", pa.string()),
        ("decided_after", pa.int64()),
        ("level", pa.float64()),
        ("p", pa.float64()),
        ("mean_difference", pa.float64()),
        ("pairs", pa.int64()),
        ("stopped_after", pa.int64()),
    ]
)
"""One row per pair and metric: the number of seeds after which the sign of the difference was decided (null if it was
not), the level and the p-value of that look (else of the last one), the mean difference over its pairs, and the number
of seeds after which the pair was stopped (null if it has all seeds)."""

DECIDED_RUN = pa.schema(
    [("setting", pa.int64()), *(pa.field(field.name, field.type) for field in RUNS), ("error", pa.string())]
)
"""The columns of the table `runs` from which stops are decided."""


BETWEEN = ("assignors", "settings")
"""What can be compared: assignors in each setting, or settings with each assignor."""


@dataclass(frozen=True, slots=True)
class StopRule:
    """When the seeds of a pair stop.

    Attributes:
        metrics: keys of the metrics whose difference must be decided.
        baseline: label of the assignor that the others are compared with.
        baseline_setting: number of the setting that the others are compared with; None if assignors are compared.
    """

    metrics: tuple[str, ...]
    seeds: tuple[int, ...]
    assignors: tuple[str, ...]
    baseline: str
    settings: int = 1
    baseline_setting: int | None = None

    @classmethod
    def of(
        cls,
        prepared: PreparedSweep,
        metrics: Sequence[str],
        *,
        between: str = BETWEEN[0],
        baseline_setting: Sequence[str] = (),
    ) -> StopRule:
        """Return the rule of a sweep.

        `between`: what is compared, one of `BETWEEN`. `baseline_setting`: the setting that the others are compared
        with, as `factor=value`; by default the first. Raises SweepError if a metric, a factor or a setting is unknown,
        or nothing can be stopped: too few seeds, one assignor or one setting.
        """
        option = "--until-significant"
        for metric in metrics:
            if metric not in METRIC:
                hint = did_you_mean(metric, tuple(METRIC))
                raise SweepError(f"{option}: unknown metric '{metric}'; {hint} (all: assignor-sim list metrics)")
        sweep, labels = prepared.sweep, prepared.labels
        number = baseline_setting_of(sweep, between, baseline_setting)
        if number is None and len(labels) < 2:
            also = "; compare settings with --between settings" if len(sweep.settings) > 1 else ""
            raise SweepError(f"{option} compares assignors with the baseline, but the sweep has one assignor{also}")
        if not look_sizes(len(sweep.seeds)):
            raise SweepError(
                f"{option} stops after {FIRST_LOOK} seeds or more, but the sweep has {len(sweep.seeds)}; "
                f"declare more than {FIRST_LOOK} seeds"
            )
        baseline = sweep.baseline or labels[0]
        rule = cls(tuple(dict.fromkeys(metrics)), sweep.seeds, labels, baseline, len(sweep.settings), number)
        if number is not None and rule.differences > MAX_FAMILY:
            raise SweepError(
                f"--between settings: {rule.differences:,} differences (settings × assignors × metrics), more than the "
                f"maximum of {MAX_FAMILY:,} that can be decided; name fewer metrics or assignors, or split the sweep"
            )
        return rule

    @property
    def looks(self) -> tuple[int, ...]:
        """Return the numbers of seeds after which differences are tested."""
        return look_sizes(len(self.seeds))

    @property
    def differences(self) -> int:
        """Return the number of differences between settings that are tested."""
        return (self.settings - 1) * len(self.assignors) * len(self.metrics)

    def record(self) -> dict[str, Any]:
        """Return the rule for the manifest."""
        test = "sign-flip test of the differences from the baseline, paired by seed; levels alpha / (k (k + 1))"
        record = {
            "metrics": list(self.metrics),
            "looks": list(self.looks),
            "levels": [look_level(look) for look in range(len(self.looks))],
            "alpha": ALPHA,
            "test": test,
        }
        if self.baseline_setting is None:
            return record
        family = {"between": BETWEEN[1], "baseline_setting": self.baseline_setting, "differences": self.differences}
        return record | family | {"test": f"{test}, by Holm's test for all differences together"}


def decide_setting(rule: StopRule, looks: int, runs: pa.Table) -> pa.Table:
    """Decide which pairs of a setting stop.

    `looks`: the number of looks so far; runs of later seeds are ignored. `runs`: the runs of one setting, in any order,
    with the columns of `DECIDED_RUN`. Returns rows of `STOPS`, by assignor and metric. A pair without runs is
    undecided.
    """
    rows = runs.to_pylist()
    sizes = rule.looks[:looks]
    values = metric_values(rule, rows, sizes[-1])
    baseline = values[rule.baseline]
    stops: list[dict[str, Any]] = []
    for assignor in rule.assignors:
        if assignor == rule.baseline:
            continue
        decisions = decide_signs(values[assignor], baseline, sizes)
        decided_after = [None if decision.look is None else sizes[decision.look] for decision in decisions]
        known = [size for size in decided_after if size is not None]
        stopped_after = max(known) if len(known) == len(decisions) else None
        for metric, decision, size in zip(rule.metrics, decisions, decided_after, strict=True):
            stops.append(
                {
                    "setting": rows[0]["setting"],
                    "assignor": assignor,
                    "baseline": rule.baseline,
                    "metric": metric,
                    "decided_after": size,
                    "level": look_level(looks - 1 if decision.look is None else decision.look),
                    "p": decision.p,
                    "mean_difference": decision.mean,
                    "pairs": decision.pairs,
                    "stopped_after": stopped_after,
                }
            )
    return pa.Table.from_pylist(stops, schema=STOPS)


def metric_values(rule: StopRule, rows: Sequence[Run], size: int) -> dict[str, Floats]:
    """Return the metrics of each assignor, shape (size, metrics); NaN without a run that produced an assignment."""
    places = {seed: place for place, seed in enumerate(rule.seeds[:size])}
    values = {assignor: np.full((size, len(rule.metrics)), np.nan) for assignor in rule.assignors}
    for row in rows:
        place = places.get(row["seed"])
        if place is not None and _produced_assignment(row):
            metrics = [METRIC[name].of(row) for name in rule.metrics]
            values[row["assignor"]][place] = [np.nan if value is None else value for value in metrics]
    return values


def _produced_assignment(row: Mapping[str, Any]) -> bool:
    return row["error"] is None and row["verdict"] not in INCOMPARABLE


SETTING_STOPS = STOPS.set(STOPS.get_field_index("baseline"), pa.field("baseline_setting", pa.int64()))
"""One row per setting other than the baseline setting, assignor and metric, otherwise as `stop_rule.STOPS`."""

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

    `runs`: its runs, in any order, with the columns of `stop_rule.DECIDED_RUN`.
    """
    return metric_values(rule, runs.to_pylist(), rule.looks[looks - 1])


def setting_tests(rule: StopRule, looks: int, baseline: AssignorValues, runs: pa.Table) -> pa.Table:
    """Test the differences of a setting from the baseline setting at each look.

    `looks`: the number of looks so far; runs of later seeds are ignored. `runs`: the runs of the setting, in any order,
    with the columns of `stop_rule.DECIDED_RUN`. Returns rows of `TESTS`.
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

    `tests`: the tests of all settings but the baseline setting, in any order. Returns rows of `SETTING_STOPS`, by
    setting, assignor and metric. A difference without a test is undecided.
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
