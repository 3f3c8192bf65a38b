"""The conclusion of a comparison follows from its figures by the rules that the module states."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reports.analysis.comparison import compare_runs
from reports.analysis.conclusion import MAIN_ASPECTS, Conclusion, conclude
from reports.analysis.metrics import METRIC
from reports.analysis.restart_steps import NextStep
from reports.render.terminal.conclusion import draw
from tests.reports.sample_runs import MANIFEST, four_assignors, tables

EQUAL = {
    "cross_rack_bytes_per_s": 1e6,
    "longest_downtime_ms": 60_000,
    "worst_downtime_ms": 60_000,
    "time_to_converge_ms": 600_000,
}
CONFIGS = {
    "max_warmup_replicas": 2,
    "num_standby_replicas": 0,
    "probing_rebalance_interval_ms": 600_000,
    "rack_aware_assignment_strategy": "none",
    "rack_aware_assignment_tags": [],
}


def conclusion(*runs: dict[str, Any], configs: dict[str, Any] | None = None) -> Conclusion:
    labels = {str(run.get("assignor", "sticky")) for run in runs}
    assignors = [{"label": label, "protocol": "classic", "configs": configs or {}} for label in labels]
    manifest = {**MANIFEST, "assignors": assignors}
    events = [{"assignor": label, "at_ms": 60_000, "event": "scale-out", "number": 1} for label in labels]
    outages = [
        {"worst_downtime_ms": run["longest_downtime_ms"]} if "longest_downtime_ms" in run else {} for run in runs
    ]
    rows = [{**EQUAL, **outage, **run} for run, outage in zip(runs, outages, strict=True)]
    [result] = conclude(tables(rows, events=events), [manifest])
    return result


def test_assignor_that_is_best_in_everything_is_the_only_finding() -> None:
    result = conclusion({"assignor": "a", "cross_rack_bytes_per_s": 5e5}, {"assignor": "b"})
    assert result.findings == (
        "a: best in everything that differs, with the least cross-rack traffic (500 kB/s; other 1 MB/s).",
    )


def test_trade_off_names_what_each_assignor_gains_and_loses() -> None:
    result = conclusion({"assignor": "a", "restored_bytes": 1e9}, {"assignor": "b", "longest_downtime_ms": 10_000})
    assert result.findings == (
        "b: the shortest task outage (10 s; other 60 s).",
        "a: the least restored state (1 GB; other 52.4 GB).",
        "a in exchange: a task outage of up to 60 s.",
        "b in exchange: 52.4 GB of restored state.",
    )
    assert result.headline == " ".join(result.findings[:2])


def test_total_downtime_is_compared_if_a_task_is_down_more_than_once() -> None:
    result = conclusion(
        {"assignor": "a"}, {"assignor": "b", "longest_downtime_ms": 40_000, "worst_downtime_ms": 90_000}
    )
    assert result.findings == (
        "b: the shortest task outage (40 s; other 60 s).",
        "a: the shortest task downtime in total (60 s; other 90 s).",
        "a in exchange: a task outage of up to 60 s.",
        "b in exchange: up to 90 s of task downtime in total.",
    )


@pytest.mark.parametrize(
    ("metric", "value"),
    [("longest_downtime_ms", 56_000), ("time_to_converge_ms", 560_000), ("cross_rack_bytes_per_s", 0.95e6)],
)
def test_small_difference_does_not_count(metric: str, value: float) -> None:
    assert "no clear difference" in conclusion({"assignor": "a"}, {"assignor": "b", metric: value}).findings[0]


def test_difference_within_the_range_of_the_seeds_does_not_count() -> None:
    runs = [
        {"assignor": name, "seed": seed, "longest_downtime_ms": (base + seed) * 10_000}
        for name, base in (("a", 1), ("b", 2))
        for seed in (1, 2, 3)
    ]
    assert "no clear difference" in conclusion(*runs).findings[0]


def test_assignor_that_never_wins_is_named() -> None:
    result = conclusion(
        {"assignor": "a", "restored_bytes": 1e9},
        {"assignor": "b", "longest_downtime_ms": 10_000},
        {"assignor": "c", "longest_downtime_ms": 90_000},
    )
    assert "c: nowhere better than a." in result.findings


def test_no_convergence_is_worse_than_any_time() -> None:
    never = {"assignor": "b", "time_to_converge_ms": None, "verdict": "probing"}
    assert "(10 min; other never)" in conclusion({"assignor": "a"}, never).findings[0]
    both = conclusion({**never, "assignor": "a"}, never)
    assert "Neither assignor converges within the run." in both.findings
    assert conclusion(never).findings[0].startswith("b: no convergence (probing), ")


def test_failed_run_is_not_compared() -> None:
    failed = {"assignor": "b", "verdict": "failed", "cause": "boom", "longest_downtime_ms": 0}
    result = conclusion({"assignor": "a"}, failed)
    assert "Not compared: b (failed)." in result.findings
    assert not any(finding.startswith("b") for finding in result.findings)
    assert conclusion(failed).findings == ("Not compared: b (failed).",)


def test_price_replaces_traffic() -> None:
    runs = [{"assignor": name, "cross_rack_usd_per_day": usd} for name, usd in (("a", 10.0), ("b", 20.0))]
    assert "the lowest cross-rack cost per day" in conclusion(*runs).findings[0]
    assert "cross-rack traffic" not in conclusion(*runs).findings[0]


def test_next_steps_follow_from_configs_and_figures() -> None:
    slow = {"assignor": "a", "time_to_converge_ms": 4 * 3_600_000, "moves_promoted": 40}
    [more] = [step for step in conclusion(slow, configs=CONFIGS).next_steps if "warm-ups" in step.change]
    assert more.overrides == (("application.configs.max.warmup.replicas", "10"),)
    assert more.sentence == "Try more warm-ups: convergence with a takes 4 h, with 2 warm-ups at a time."
    assert more.options == "--set application.configs.max.warmup.replicas=10"
    probing = conclusion(slow, configs={**CONFIGS, "max_warmup_replicas": 20}).next_steps
    assert probing[0].overrides[0][0] == "application.configs.probing.rebalance.interval.ms"
    assert not any("warm-ups" in step.change for step in conclusion(slow).next_steps), "configs are unknown"
    unqueryable = conclusion({"assignor": "a", "unqueryable_ms": 3_600_000}, configs=CONFIGS).next_steps
    assert unqueryable[0].overrides == (("application.configs.num.standby.replicas", "1"),)


def test_labels_with_separators_are_quoted() -> None:
    result = conclusion({"assignor": "tags and racks", "longest_downtime_ms": 1}, {"assignor": "b"})
    assert result.findings[0].startswith("'tags and racks': best")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_counts_agree_with_their_nouns(count: int) -> None:
    configs = {**CONFIGS, "num_standby_replicas": 1}
    for metric, noun in (
        ("tasks_without_rack_redundancy", "task"),
        ("cross_rack_source_partitions", "source partition"),
    ):
        result = conclusion({"assignor": "a", metric: count}, configs=configs)
        text = " ".join([*result.findings, *(step.sentence for step in result.next_steps)])
        [verb] = set(re.findall(rf"{re.escape(str(count))} {noun}s? (has|have)", text)) or {""}
        assert verb == ("" if not count else "has" if count == 1 else "have"), text
        assert not re.search(rf"\b1 {noun}s\b", text), text
        assert not re.search(rf"\b(0|2) {noun}\b", text), text


@pytest.mark.parametrize("label", ["Kafka's defaults", "HA", "two standbys"])
def test_no_verb_depends_on_the_number_of_a_label(label: str) -> None:
    """Every rule of the conclusion is used; a label is followed by punctuation, a preposition or a past tense."""
    slow = {"assignor": label, "time_to_converge_ms": 4 * 3_600_000, "moves_promoted": 40}
    runs: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
        ([{**slow, "longest_downtime_ms": 1}, {"assignor": "b"}], CONFIGS),
        ([slow], {**CONFIGS, "max_warmup_replicas": 20}),
        ([{**slow, "time_to_converge_ms": None, "verdict": "probing"}], CONFIGS),
        ([{**slow, "time_to_converge_ms": None, "verdict": "never"}], CONFIGS),
        ([{**slow, "time_to_converge_ms": None, "verdict": "restoring"}], CONFIGS),
        ([{"assignor": label, "longest_downtime_ms": 1}, {"assignor": "b"}], CONFIGS),
        ([{"assignor": label, "longest_downtime_ms": 90_000}, {"assignor": "b"}, {"assignor": "c"}], CONFIGS),
        ([{"assignor": label, "verdict": "failed", "cause": "boom"}, {"assignor": "b"}], CONFIGS),
        (
            [
                {"assignor": label, "restored_bytes": 1e9},
                {"assignor": "b", "longest_downtime_ms": 10_000},
                {"assignor": "c", "longest_downtime_ms": 90_000},
            ],
            CONFIGS,
        ),
    ]
    followed = re.compile(
        rf"(?<!\w){re.escape(label)}(?!: |\.| in exchange: | had not | takes? \d| never | \(|, | and )"
    )
    for compared, configs in runs:
        result = conclusion(*compared, configs=configs)
        for text in (*result.findings, *(step.sentence for step in result.next_steps)):
            assert not followed.search(text), text
            assert not re.search(rf"(?<!convergence with ){re.escape(label)} takes", text), text
            assert not re.search(rf"(?<!the run with ){re.escape(label)} never", text), text


def test_run_without_rebalances_or_rates_suggests_an_event_and_rates() -> None:
    idle = {"assignor": "a", "rebalances": 0, "cross_rack_bytes_per_s": 0.0, "cross_rack_source_partitions": 3}
    manifest = {**MANIFEST, "assignors": [{"label": "a", "protocol": "classic", "configs": CONFIGS}]}
    results = {**tables([{**EQUAL, **idle}])}
    runs = results["runs"].to_pylist()[0]
    for name in ("app-0", "a: b, c"):
        results["clients"] = pa.Table.from_pylist(
            [{**{key: runs[key] for key in ("scenario", "assignor")}, "client": name, "rack": None}]
        )
        [result] = conclude(results, [manifest])
        event, rates = result.next_steps
        [(path, value)] = event.overrides
        assert path == "events"
        assert yaml.safe_load(value) == [{"at": "1m", "crash": {"clients": name, "down": "1m"}}]
        assert "bytes_per_s" in rates.change
    busy = conclusion({**idle, "rebalances": 1, "cross_rack_bytes_per_s": 1.0}, configs=CONFIGS)
    assert not any("event" in step.change or "rates" in step.change for step in busy.next_steps)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_options_of_a_next_step_are_one_line_that_a_shell_reads(width: int) -> None:
    nearest = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    overrides = (
        ("cluster.configs.replica.selector.class", nearest),
        ("cluster.topics[my orders].bytes_per_s", "10 MB/s"),
        ("events", "[{at: 1m, crash: {clients: it's}}]"),
    )
    step = NextStep("another setting", "reason", overrides)
    drawn = draw([Conclusion("shop", ("a: x.",), (step,))], width, color=False).splitlines()
    [line] = [line for line in drawn if "--set" in line]
    assert shlex.split(line) == [part for path, value in overrides for part in ("--set", f"{path}={value}")]


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.none() | st.integers(0, 10**8), st.integers(0, 10**12), st.floats(0, 1e9)),
        min_size=2,
        max_size=5,
    )
)
def test_findings_never_contradict_the_figures(figures: list[tuple[int, int | None, int, float]]) -> None:
    keys = ("longest_downtime_ms", "time_to_converge_ms", "restored_bytes", "cross_rack_bytes_per_s")
    results = tables(
        [
            {"assignor": f"a{n}", "verdict": "stable" if row[1] is not None else "probing"}
            | dict(zip(keys, row, strict=True))
            for n, row in enumerate(figures)
        ]
    )
    rows = {row.assignor: row for row in compare_runs(results)}
    [result] = conclude(results)
    assert result.findings
    for finding in result.findings:
        for aspect in MAIN_ASPECTS:
            won = re.fullmatch(r"(a\d): (?!best in everything).*", finding) if aspect.best in finding else None
            if won is None or f"nearly {aspect.best}" in finding:
                continue
            value = rows[won[1]].spreads[aspect.metric]
            assert value is not None
            others = [spread.median for row in rows.values() if (spread := row.spreads[aspect.metric])]
            assert value.median == min(others)
        if dominated := re.fullmatch(r"(a\d): nowhere better than (a\d)\.", finding):
            for key in keys:
                ours, theirs = (rows[name].spreads[key] for name in dominated.groups())
                if ours is not None and theirs is not None:
                    assert theirs.median <= ours.median * 1.1 + 100e6


def test_headline_has_figures_with_units() -> None:
    results = conclude(four_assignors())
    assert [result.scenario for result in results] == ["rack_outage"]
    assert METRIC["cross_rack_bytes_per_s"].write(48.3e6) in results[0].headline


def test_a_figure_of_the_table_that_is_lower_elsewhere_is_named() -> None:
    """The claim to be best in everything does not hide small differences."""
    result = conclusion(
        {"assignor": "a", "longest_downtime_ms": 10_000, "load_skew": 0.5},
        {"assignor": "b", "longest_downtime_ms": 30_000, "load_skew": 0.25, "cross_rack_bytes_per_s": 0.95e6},
    )
    assert result.findings == (
        "a: the shortest task outage (10 s; other 30 s).",
        "Lower with b: cross-rack traffic (950 kB/s instead of 1 MB/s) and load skew (0.25 instead of 0.5).",
    )


def test_cost_above_its_bound_is_not_best_in_everything() -> None:
    """Each assignor has a bound of its own, so that none is best for being at it; the table shows who is not."""
    result = conclusion(
        {"assignor": "a", "longest_downtime_ms": 10_000, "total_cost": 48, "total_cost_bound": 24},
        {"assignor": "b", "total_cost": 40, "total_cost_bound": 40},
        {"assignor": "c", "total_cost": 12, "total_cost_bound": 12},
    )
    assert result.findings == (
        "a: the shortest task outage (10 s; others 60 s).",
        "Lower with b and c: cost above lower bound (at bound instead of +100%).",
    )


def test_total_downtime_is_not_repeated_for_the_best_in_the_longest_outage() -> None:
    twice = {"longest_downtime_ms": 20_000, "worst_downtime_ms": 40_000}
    result = conclusion({"assignor": "a", **twice}, {"assignor": "b", "worst_downtime_ms": 90_000})
    assert result.findings == ("a: best in everything that differs, with the shortest task outage (20 s; other 60 s).",)


UNDISTURBED = {**dict.fromkeys(EQUAL, 0), "restored_bytes": 0, "tasks_without_rack_redundancy": 0}
"""The main figures of an undisturbed run."""


@pytest.mark.parametrize(
    ("figures", "finding"),
    [
        ([{}], "no rebalance, downtime or cross-rack traffic."),
        ([{"cross_rack_bytes": None}], "no rebalance or downtime."),
        (
            [{"cross_rack_bytes": 1_197_000_000}],
            "no rebalance or downtime; 1.2 GB across racks in the whole run.",
        ),
        ([{"rebalances": 1}], "no downtime or cross-rack traffic; 1 rebalance."),
        (
            [{"rebalances": 3, "cross_rack_bytes": 5e6}],
            "no downtime; 3 rebalances and 5 MB across racks in the whole run.",
        ),
        (
            [{}, {}, {"cross_rack_bytes": 5e6, "longest_downtime_ms": 10_000}],
            "no rebalance; a task outage of up to 10 s and up to 5 MB across racks in the whole run.",
        ),
    ],
)
def test_a_conclusion_does_not_deny_figures_of_the_run_table(figures: list[dict[str, Any]], finding: str) -> None:
    """The steady state has no traffic if leaders change during an event only; so the whole run counts."""
    runs = [
        {"seed": seed, **UNDISTURBED, "rebalances": 0, "cross_rack_bytes": 0, **changed}
        for seed, changed in enumerate(figures)
    ]
    assert conclusion(*runs).findings == (f"sticky: {finding}",)


def test_nowhere_better_is_not_said_of_a_lower_figure() -> None:
    runs = [
        {"assignor": "a", "longest_downtime_ms": 10_000, "restored_bytes": 1e9},
        {"assignor": "b", "longest_downtime_ms": 60_000, "restored_bytes": 5e8},
        {"assignor": "c", "longest_downtime_ms": 60_000, "restored_bytes": 1e9},
    ]
    assert "c: nowhere better than a." in conclusion(*runs).findings
    runs[2]["load_skew"] = 0.25
    assert "c: nowhere clearly better than a." in conclusion(*runs).findings
