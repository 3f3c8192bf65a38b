"""Significance tests as text, JSON and Markdown."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.paired_comparison import (
    DEFAULT_METRICS,
    FailedRun,
    MetricComparison,
    PairedComparison,
    comparison_record,
    count_verdicts,
)
from reports.render.compare import comparison_report, notes
from reports.render.report_formats import render_report
from tests.reports.sample_runs import HOSTILE


def render(
    comparison: PairedComparison, format: str = "table", *, width: int | None = None, color: bool | None = None
) -> str:
    report = comparison_report(comparison)
    return render_report(report, lambda: comparison_record(comparison), format, width, color=color)


def finding(
    scenario: str = "calm", metric: str = "active_moves", assignor: str = "Mine", **changes: Any
) -> MetricComparison:
    defaults = {"pairs": 20, "differing": 20, "baseline": 10.0, "mean": 12.0, "low": 1.0, "high": 3.0, "p": 0.001}
    return MetricComparison(scenario, metric, assignor, **{**defaults, **changes})


def comparison_of(
    *findings: MetricComparison, seeds: int = 20, failures: tuple[FailedRun, ...] = ()
) -> PairedComparison:
    names = tuple(dict.fromkeys(item.scenario for item in findings))
    return PairedComparison(
        "HA", tuple(dict.fromkeys(item.assignor for item in findings)), names, seeds, findings, failures
    )


WORSE = finding()
BETTER = finding(metric="downtime_ms", baseline=9000.0, mean=3000.0, low=-7000.0, high=-5000.0)
UNDECIDED = finding("wild", p=0.3)
EQUAL = finding("wild", "downtime_ms", differing=0, mean=10.0, p=1.0)
UNKNOWN = finding(
    "wild", "time_to_converge_ms", pairs=0, differing=0, baseline=None, mean=None, low=None, high=None, p=1.0
)
ALL = comparison_of(WORSE, BETTER, UNDECIDED, EQUAL, UNKNOWN)


def test_verdict_depends_on_significance() -> None:
    assert [item.verdict for item in ALL.findings] == ["worse", "better", "undecided", "equal", "unknown"]


def test_verdicts_are_counted_by_metric() -> None:
    assert dict(count_verdicts(ALL.findings)) == {
        "active_moves": {"worse": 1, "undecided": 1},
        "downtime_ms": {"better": 1, "equal": 1},
        "time_to_converge_ms": {"unknown": 1},
    }


def test_table_has_significant_differences_with_their_intervals() -> None:
    lines = render(ALL, width=130, color=False).splitlines()
    assert lines[0] == "Mine vs. HA: 2 scenarios, 20 seeds each"
    single = dataclasses.replace(ALL, scenarios=ALL.scenarios[:1])
    assert render(single, width=130, color=False).startswith("Mine vs. HA: 1 scenario, 20 seeds\n")
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


def test_json_has_all_findings() -> None:
    data = json.loads(render(ALL, "json"))
    assert [item["verdict"] for item in data["findings"]] == ["worse", "better", "undecided", "equal", "unknown"]
    assert data["findings"][0]["difference"] == 2.0


def test_comparison_without_significant_difference_says_so() -> None:
    for format in ("table", "markdown"):
        assert "No significant difference" in render(comparison_of(UNDECIDED), format)


def test_too_few_seeds_are_reported() -> None:
    few = comparison_of(finding(pairs=5, differing=5, p=0.0625), seeds=5)
    assert not few.is_decidable
    assert any("With 5 seeds no difference can be significant" in note for note in notes(few))
    assert comparison_of(finding(pairs=6, differing=6)).is_decidable
    assert not comparison_of(*(finding(str(n), pairs=6, differing=6) for n in range(2))).is_decidable
    assert comparison_of(finding(pairs=8, differing=8), finding("wild", pairs=2, differing=2)).is_decidable
    assert comparison_of(EQUAL).is_decidable


def test_failed_runs_are_listed_up_to_a_maximum() -> None:
    failures = tuple(FailedRun("calm", "Mine", seed, "no clients") for seed in range(8))
    lines = notes(comparison_of(WORSE, failures=failures))
    assert "calm, Mine, seed 0: no clients" in lines
    assert lines[-1] == "… and 3 more runs failed."


def test_default_metrics_are_comparable() -> None:
    assert set(DEFAULT_METRICS) <= set(COMPARABLE_METRICS)
    assert all(metric.lower_is_better for metric in COMPARABLE_METRICS.values())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_drawn_as_text(name: str) -> None:
    hostile = comparison_of(finding(name, assignor=name), failures=(FailedRun(name, name, 1, name),))
    json.loads(render(hostile, "json"))
    assert not {"\x1b", "\x07", "\u202e"} & set(render(hostile, width=400, color=False))
    assert "<script>" not in render(hostile, "markdown")


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(ValueError, match="formats: table, json, csv, markdown"):
        render(ALL, "xml")
