"""Expectations of scenarios, as `run`, `verify` and `record` check them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import assignor_sim as sim
from reports.analysis.expectations import check_expectations, count_settings
from tests.assignor_sim.conftest import SMALL, Shell

MET = "expect: {worst_downtime_ms: '< 1h', rebalances: '>= 1'}\n"
UNMET = "expect: {restored_bytes: '< 1', rebalances: '>= 1'}\n"


def write(shell: Shell, expect: str) -> Path:
    return shell.write("small.yaml", SMALL + expect)


def test_run_meets_expectations_with_exit_code_0(shell: Shell) -> None:
    write(shell, MET)
    result = shell("run", "small.yaml")
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith("\nExpectations: 4 met\n")


def test_unmet_expectation_is_an_error_with_its_place_and_both_values(shell: Shell) -> None:
    write(shell, UNMET)
    result = shell("run", "small.yaml")
    values = sim.run(str(shell.folder / "small.yaml")).to_pandas("runs")["restored_bytes"].tolist()
    assert result.code == 1
    assert result.out.endswith("\nExpectations: 2 met, 2 not met\n")
    first, second = result.err.splitlines()
    start = "error: small.yaml:23: expect.restored_bytes: "
    assert first.startswith(f"{start}high_availability: expected < 1; found ")
    assert second.startswith(f"{start}sticky: expected < 1; found ")
    assert all(value > 1 for value in values)
    assert first.endswith(" (seed 1)")


def test_run_in_json_prints_json_only_and_exits_with_code_1(shell: Shell) -> None:
    write(shell, UNMET)
    result = shell("run", "small.yaml", "--format", "json")
    assert result.code == 1
    assert json.loads(result.out)


def test_each_seed_must_meet_an_expectation_and_the_worst_is_shown(shell: Shell) -> None:
    file = write(shell, "expect: {restored_bytes: '< 1'}\n")
    seeds = [1, 2, 3]
    result = shell("run", "small.yaml", "--assignor", "sticky", *(f"--seed={seed}" for seed in seeds))
    runs = sim.run(str(file), "sticky", seeds).to_pandas("runs")
    worst = int(runs["seed"][runs["restored_bytes"].idxmax()])
    (line,) = result.err.splitlines()
    assert line.endswith(f"(seed {worst}; {int((runs['restored_bytes'] >= 1).sum())} of 3 runs)")


@pytest.mark.parametrize("share", [-100, -50, -1, 0, 1, 50, 400])
@pytest.mark.parametrize("metric", ["restored_bytes", "worst_downtime_ms", "active_moves"])
def test_relative_condition_is_that_of_the_two_values(shell: Shell, share: int, metric: str) -> None:
    file = write(shell, f"expect: {{against: sticky, {metric}: '<= {share:+d}%'}}\n")
    result = sim.run(str(file), explain=False, ranges=False)
    value, reference = result.to_pandas("runs")[metric].tolist()
    (checked,) = result.expectations()
    assert checked.assignor == "high_availability"
    assert checked.is_met == (value <= reference * (1 + share / 100))


def test_relative_condition_names_the_reference_and_the_limit_in_its_error(shell: Shell) -> None:
    write(shell, "expect: {restored_bytes: ['<= -100%', '>= +100000%']}\n")
    result = shell("run", "small.yaml")
    assert result.code == 1
    first = result.err.splitlines()[0]
    assert "sticky: expected <= -100% of high_availability, that is <= 0 B; found " in first


def test_relative_condition_without_its_reference_is_not_checked_and_says_so(shell: Shell) -> None:
    write(shell, "expect: {active_moves: '<= +5%'}\n")
    result = shell("run", "small.yaml", "--assignor", "sticky")
    assert result.code == 0
    assert result.out.endswith("\nExpectations: 1 not checked\n")
    assert "warning: small.yaml:23: expect.active_moves: <= +5%: not checked, as it needs" in result.err
    assert shell("verify", "small.yaml", "--assignor", "sticky").code == 1


def test_unknown_value_does_not_meet_an_expectation(shell: Shell) -> None:
    write(shell, "expect: {time_to_converge_ms: '< 30d'}\n")
    result = shell("run", "small.yaml", "--set", "duration=1801s", "--assignor", "high_availability")
    assert result.code == 1
    assert "expected < 30d; found no value, as the run ended " in result.err


def test_a_value_that_rounds_to_its_limit_is_shown_in_full(shell: Shell) -> None:
    file = write(shell, "")
    value = sim.run(str(file), "sticky", explain=False).to_pandas("runs")["restored_bytes"][0]
    result = shell("run", "small.yaml", "--assignor", "sticky", "--set", f"expect.restored_bytes=< {value}")
    assert result.code == 1
    assert f"({value:,}, limit {value:,})" in result.err


def test_verify_checks_expectations_without_stored_results(shell: Shell) -> None:
    write(shell, MET)
    result = shell("verify", "small.yaml")
    assert (result.code, result.out) == (0, "small.yaml: expectations: 4 met; no stored results\n")
    write(shell, UNMET)
    for argument in ("small.yaml", "."):
        result = shell("verify", argument, "--junit", "out.xml")
        assert result.code == 1
        assert "small.yaml: expectations: 2 met, 2 not met; no stored results\n  " in result.out
    root = ElementTree.parse(shell.folder / "out.xml").getroot()
    failures = root.findall("testsuite/testcase[@name='expectations']/failure")
    assert len(failures) == 1
    assert root.find("testsuite").attrib["failures"] == "1"  # type: ignore[union-attr]


def test_verify_fails_for_unmet_expectations_although_the_results_are_as_stored(shell: Shell) -> None:
    write(shell, UNMET)
    recorded = shell("record", "small.yaml")
    assert recorded.out == "small.expected.json: stored; expectations: 2 met, 2 not met\n"
    result = shell("verify", "small.yaml")
    assert result.code == 1
    assert "small.yaml: expectations: 2 met, 2 not met; results as stored\n" in result.out
    (record,) = json.loads(shell("verify", "small.yaml", "--format", "json").out)
    assert record["status"] == "not met"
    assert [expectation["met"] for expectation in record["expectations"]] == [False, False, True, True]
    assert "::error file=small.yaml" in shell("verify", "small.yaml", "--format", "github").out
    assert "expected &lt; 1; found" in shell("verify", "small.yaml", "--format", "markdown").out


def test_invalid_scenario_with_expectations_is_not_skipped(shell: Shell) -> None:
    shell.write("good.yaml", SMALL + MET)
    shell.write("bad.yaml", SMALL.replace("duration: 6h", "duration: six") + MET)
    result = shell("verify", ".")
    assert result.code == 2
    assert "bad.yaml:21: duration" in result.err


def test_compare_shows_which_expectations_are_met(shell: Shell) -> None:
    write(shell, UNMET)
    command = ("compare", "small.yaml", "--assignor", "high_availability", "--assignor", "sticky", "--seeds", "2")
    result = shell(*command)
    assert result.code == 0
    assert "\nExpectations: 2 met, 2 not met\n" in result.out
    assert "sticky: expected < 1; found" in " ".join(result.out.split())
    checked = json.loads(shell(*command, "--format", "json").out)["expectations"]
    assert [(result["assignor"], result["metric"], result["met"]) for result in checked] == [
        ("high_availability", "restored_bytes", False),
        ("sticky", "restored_bytes", False),
        ("high_availability", "rebalances", True),
        ("sticky", "rebalances", True),
    ]


def test_page_and_manifest_have_the_checked_expectations(shell: Shell) -> None:
    write(shell, UNMET)
    assert shell("run", "small.yaml", "--out", "out").code == 1
    stored = json.loads((shell.folder / "out" / "manifest.json").read_text())["expectations"]
    page = (shell.folder / "out" / "report.html").read_text()
    assert [record["met"] for record in stored] == [False, False, True, True]
    assert (page.count("<strong>Not met:</strong>"), page.count("<strong>Met:</strong>")) == (2, 2)
    write(shell, "")
    shell("run", "small.yaml", "--out", "plain")
    assert 'aria-label="Expectations"' not in (shell.folder / "plain" / "report.html").read_text()


def test_settings_of_a_sweep_are_counted_by_expectation_and_assignor(shell: Shell) -> None:
    """Each count equals that of checking the runs of every setting on their own."""
    file = write(shell, "expect: {against: sticky, restored_bytes: '<= +20%', worst_downtime_ms: '< 5s'}\n")
    settings = [
        sim.run(sim.load(str(file), [("clients[0].count", count)]), seed=[1, 2], explain=False, ranges=False)
        for count in ("2", "3", "4")
    ]
    runs = [{**row, "setting": number} for number, run in enumerate(settings) for row in run.tables["runs"].to_pylist()]
    expectations = sim.load(str(file)).expectations
    for count in count_settings(runs, expectations):
        checked = [
            result
            for run in settings
            for result in check_expectations(run.tables["runs"].to_pylist(), expectations)
            if (result.expectation, result.assignor) == (count.expectation, count.assignor)
        ]
        assert (count.settings, count.met) == (len(checked), sum(result.is_met for result in checked))
        assert str(count).endswith(f"met in {count.met} of 3 settings")
