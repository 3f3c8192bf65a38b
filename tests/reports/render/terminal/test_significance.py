"""What a trial came to, as text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.paired_comparison import (
    DEFAULT_METRICS,
    FailedRun,
    MetricComparison,
    PairedComparison,
    count_verdicts,
)
from reports.render.terminal.significance import notes, render
from tests.reports.sample_runs import HOSTILE


def finding(
    scenario: str = "calm", metric: str = "active_moves", assignor: str = "Mine", **more: Any
) -> MetricComparison:
    usual = {"pairs": 20, "differing": 20, "baseline": 10.0, "mean": 12.0, "low": 1.0, "high": 3.0, "p": 0.001}
    return MetricComparison(scenario, metric, assignor, **{**usual, **more})


def trial(*findings: MetricComparison, seeds: int = 20, failures: tuple[FailedRun, ...] = ()) -> PairedComparison:
    names = tuple(dict.fromkeys(each.scenario for each in findings))
    return PairedComparison(
        "HA", tuple(dict.fromkeys(each.assignor for each in findings)), names, seeds, findings, failures
    )


WORSE = finding()
BETTER = finding(metric="downtime_ms", baseline=9000.0, mean=3000.0, low=-7000.0, high=-5000.0)
CHANCE = finding("wild", p=0.3)
EQUAL = finding("wild", "downtime_ms", differing=0, mean=10.0, p=1.0)
UNKNOWN = finding(
    "wild", "time_to_converge_ms", pairs=0, differing=0, baseline=None, mean=None, low=None, high=None, p=1.0
)
EVERY = trial(WORSE, BETTER, CHANCE, EQUAL, UNKNOWN)


def test_a_finding_is_better_or_worse_only_where_it_is_more_than_chance() -> None:
    assert [each.verdict for each in EVERY.findings] == ["worse", "better", "undecided", "equal", "unknown"]


def test_metrics_are_tallied_over_scenarios() -> None:
    assert dict(count_verdicts(EVERY.findings)) == {
        "active_moves": {"worse": 1, "undecided": 1},
        "downtime_ms": {"better": 1, "equal": 1},
        "time_to_converge_ms": {"unknown": 1},
    }


def test_the_table_tells_what_is_more_than_chance_with_its_interval() -> None:
    lines = render(EVERY, width=130, color=False).splitlines()
    assert lines[0] == "Mine vs. HA: 2 scenarios, 20 seeds each"
    [worse] = [line for line in lines if line.endswith("worse") and "calm" in line]
    assert worse.split() == [
        "calm",
        "Active",
        "task",
        "moves",
        "10",
        "12",
        "+2",
        "+1",
        "to",
        "+3",
        "+20",
        "0.001",
        "worse",
    ]
    [better] = [line for line in lines if line.endswith("better") and "calm" in line]
    assert better.split()[-10:] == ["−6", "s", "−7", "s", "to", "−5", "s", "−67", "0.001", "better"]
    assert not any("wild" in line for line in lines)


def test_json_has_every_finding() -> None:
    data = json.loads(render(EVERY, "json"))
    assert [each["verdict"] for each in data["findings"]] == ["worse", "better", "undecided", "equal", "unknown"]
    assert data["findings"][0]["difference"] == 2.0


def test_a_trial_of_nothing_that_is_more_than_chance_says_so() -> None:
    for format in ("table", "markdown"):
        assert "No significant difference." in render(trial(CHANCE), format)


def test_too_few_seeds_are_said_to_be_too_few() -> None:
    few = trial(finding(pairs=5, differing=5, p=0.0625), seeds=5)
    assert not few.is_decidable
    assert any("With 5 seeds no difference can be significant" in note for note in notes(few))
    assert trial(finding(pairs=6, differing=6)).is_decidable
    assert not trial(*(finding(str(n), pairs=6, differing=6) for n in range(2))).is_decidable
    assert trial(finding(pairs=8, differing=8), finding("wild", pairs=2, differing=2)).is_decidable
    assert trial(EQUAL).is_decidable


def test_runs_without_a_result_are_named_and_many_of_them_counted() -> None:
    failures = tuple(FailedRun("calm", "Mine", seed, "no clients") for seed in range(8))
    said = notes(trial(WORSE, failures=failures))
    assert "calm, Mine, seed 0: no clients" in said
    assert said[-1] == "… and 3 more runs failed."


def test_the_usual_metrics_can_all_be_better_or_worse() -> None:
    assert set(DEFAULT_METRICS) <= set(COMPARABLE_METRICS)
    assert all(metric.lower_is_better for metric in COMPARABLE_METRICS.values())


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_name_holds_is_text(name: str) -> None:
    hostile = trial(finding(name, assignor=name), failures=(FailedRun(name, name, 1, name),))
    json.loads(render(hostile, "json"))
    assert not {"\x1b", "\x07", "\u202e"} & set(render(hostile, width=400, color=False))
    assert "<script>" not in render(hostile, "markdown")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="formats: table, json, markdown"):
        render(EVERY, "csv")
