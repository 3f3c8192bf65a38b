"""Decisions between settings without Spark: their error rate, their baseline, and what is rejected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.sweep.stop_rule import DECIDED_RUN, StopRule, baseline_values, decide_settings, setting_tests
from reports.analysis.statistics import ALPHA, Floats
from scenarios.language.errors import SweepError
from scenarios.load import loads
from scenarios.run import run
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from simulator.results.tabulation import tabulate
from tests.pipeline.sweep.compared_settings import BASELINE, write_settings
from tests.pipeline.sweep.examples import SCENARIO, SWEEP, write_sweep

pytestmark = pytest.mark.spark

SEEDS = tuple(range(1, 20))
FAMILY_RULE = StopRule(("active_moves",), SEEDS, ("a", "b"), "a", settings=4, baseline_setting=2)
CHURN = SCENARIO.replace(
    "events:\n", "events:\n  - {at: 5m, churn: {clients: app, crashes: 12/d, down: 10m}}\n"
).replace("duration: 2h", "duration: 8h")


def runs_of(setting: int, values: Floats, assignors: Sequence[str] = ("a", "b")) -> pa.Table:
    """Return runs with these active moves, shape (seeds, assignors)."""
    rows = [
        {"setting": setting, "assignor": assignor, "seed": seed, "verdict": "stable", "active_moves": int(value)}
        for column, assignor in zip(values.T, assignors, strict=True)
        for seed, value in zip(SEEDS, column, strict=False)
    ]
    return pa.Table.from_pylist(rows, schema=DECIDED_RUN)


def stops_of(rule: StopRule, tables: Sequence[pa.Table], looks: int) -> list[dict[str, Any]]:
    baseline = baseline_values(rule, looks, tables[rule.baseline_setting or 0])
    others = [table for setting, table in enumerate(tables) if setting != rule.baseline_setting]
    tests = pa.concat_tables([setting_tests(rule, looks, baseline, table) for table in reversed(others)])
    return decide_settings(rule, looks, tests).to_pylist()


def test_any_wrong_stop_of_a_sweep_stays_within_alpha() -> None:
    random = np.random.default_rng(8)
    wrong, sweeps = 0, 100
    for _ in range(sweeps):
        noise = random.normal(1_000, 100, (4, len(SEEDS), 2)) + random.normal(0, 500, (1, len(SEEDS), 1))
        noise[3] += 5_000  # It has an effect, so its decisions are right.
        stops = stops_of(FAMILY_RULE, [runs_of(setting, values) for setting, values in enumerate(noise)], 2)
        assert [row["decided_after"] for row in stops if row["setting"] == 3] == [16, 16]
        wrong += any(row["decided_after"] is not None for row in stops if row["setting"] != 3)
    assert wrong <= ALPHA * sweeps


def test_pairs_have_the_same_seed_and_the_same_assignor() -> None:
    """Differences of 1 are decided beside seeds that differ by hundreds and an assignor that differs by thousands."""
    seeds = np.arange(len(SEEDS))[:, None] * 300.0 + [0, 5_000]
    tables = [runs_of(setting, seeds + np.array([setting == 1, 0])) for setting in range(4)]
    stops = stops_of(FAMILY_RULE, tables, 2)
    decided = {(row["setting"], row["assignor"]): row["mean_difference"] for row in stops if row["decided_after"]}
    assert decided == {(1, "a"): 1.0}
    assert [(row["setting"], row["assignor"]) for row in stops] == [(s, a) for s in (0, 1, 3) for a in ("a", "b")]


def test_later_looks_do_not_change_a_stop_and_runs_of_other_seeds_are_ignored() -> None:
    random = np.random.default_rng(2)
    values = [random.normal(1_000, 10, (len(SEEDS), 2)) + 40 * (setting == 0) for setting in range(4)]
    whole = stops_of(FAMILY_RULE, [runs_of(setting, of) for setting, of in enumerate(values)], 1)
    part = stops_of(FAMILY_RULE, [runs_of(setting, of[:8]) for setting, of in enumerate(values)], 1)
    assert part == whole


@pytest.mark.parametrize(
    "override", [("application.configs.num.standby.replicas", "1"), ("application.configs.max.warmup.replicas", "4")]
)
def test_settings_have_the_same_random_events_by_seed(override: tuple[str, str]) -> None:
    def events(seed: int, overrides: Sequence[tuple[str, str]]) -> list[object]:
        trace = run(loads("name: shop\n" + CHURN, "shop", overrides), "high_availability", seed)
        return tabulate(trace, "high_availability", seed)["events"].drop(["seed"]).to_pylist()

    first, second = events(1, []), events(2, [])
    assert (events(1, [override]), events(2, [override])) == (first, second)
    assert first != second


@pytest.mark.parametrize(
    ("baseline", "between", "message"),
    [
        (("standbys=0",), "settings", "--baseline-setting standbys=0: 2 settings have these values; name warmups, too"),
        (("standbys=7", "warmups=2"), "settings", "no setting of the sweep has these values"),
        (("standby=0",), "settings", "unknown factor 'standby'; did you mean 'standbys'?"),
        (("standbys",), "settings", "--baseline-setting standbys: expected FACTOR=VALUE"),
        (("standbys=1", "standbys=0"), "settings", "standbys=0: 'standbys' is 1 already; name each factor once"),
        (BASELINE, "assignors", "--baseline-setting needs --between settings"),
        ((), "seeds", "--between: expected assignors or settings, found 'seeds'"),
        ((), "assignors", "has one assignor; compare settings with --between settings"),
    ],
)
def test_baseline_that_is_not_one_setting_is_rejected(
    tmp_path: Path, baseline: tuple[str, ...], between: str, message: str
) -> None:
    prepared = prepare_sweep(load_sweep(write_settings(tmp_path)))
    with pytest.raises(SweepError) as raised:
        StopRule.of(prepared, ["active_moves"], between=between, baseline_setting=baseline)
    assert message in str(raised.value)


def test_first_setting_is_the_baseline_by_default(tmp_path: Path) -> None:
    prepared = prepare_sweep(load_sweep(write_settings(tmp_path)))
    assert StopRule.of(prepared, ["active_moves"], between="settings").baseline_setting == 0
    named = StopRule.of(prepared, ["active_moves"], between="settings", baseline_setting=("warmups=4.0",))
    assert named.baseline_setting == 2


def test_family_that_is_too_large_is_rejected(tmp_path: Path) -> None:
    values = list(range(1, 260))
    text = SWEEP.replace("values: [0, 1]", "values: [0]").replace("values: [2, 4]", f"values: {values}")
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path, text.replace("seeds: 3", "seeds: 9"))))
    with pytest.raises(SweepError, match=r"516 differences .* more than the maximum of 500"):
        StopRule.of(prepared, ["active_moves"], between="settings")
