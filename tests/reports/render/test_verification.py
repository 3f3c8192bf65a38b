"""Verifications as text, for people and for CI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest

from reports.analysis.stored.changes import ResultChange, compare_origins
from reports.analysis.stored.verification import Verification, VerificationStatus
from reports.render.junit import junit
from reports.render.verification import FORMATS, as_text, render
from tests.reports.sample_runs import HOSTILE
from tests.reports.sample_stored_results import ORIGIN

SINCE = compare_origins(ORIGIN, ORIGIN)
MOVED = ResultChange("ha", 1, "task", "0_3", 2, ["a"], ["b", "c"])
WORSE = ResultChange("ha", 1, "metric", "active_moves", None, 4, 5)
SAME = Verification("calm.yaml", VerificationStatus.SAME, (), SINCE, runs=[("ha", 1), ("sticky", 1)])
CHANGED = Verification("wild.yaml", VerificationStatus.CHANGED, [WORSE, MOVED], SINCE, runs=[("ha", 1), ("sticky", 1)])
WRONG = Verification("bad.yaml", VerificationStatus.UNREADABLE, error="bad.yaml:3: no\nbad.yaml:4: no either")
BARE = Verification("new.yaml", VerificationStatus.NOT_STORED)
EVERY = (SAME, CHANGED, WRONG, BARE)


def test_text_says_what_has_changed_run_by_run() -> None:
    assert render(EVERY, "text") == (
        "calm.yaml: as stored\n"
        "wild.yaml: 2 differences; neither the scenario nor the model has changed, nor any version\n"
        "  ha, seed 1\n"
        "    active_moves: stored 4, now 5 (+25 %, worse)\n"
        "    round 2: task 0_3: stored on a, now on b, standby on c\n"
        "bad.yaml:3: no\nbad.yaml:4: no either\n"
        "new.yaml: no stored results; run assignor-sim record new.yaml\n"
    )


def test_of_very_many_changes_the_first_rounds_are_shown_and_json_has_them_all() -> None:
    many = [ResultChange("ha", 1, "task", f"0_{number}", number, ["a"], ["b"]) for number in range(1, 101)]
    verification = Verification("wild.yaml", VerificationStatus.CHANGED, many, SINCE)
    lines = as_text(verification).splitlines()
    assert len(lines) < 20
    assert lines[-1].strip() == "… and 88 more up to round 100; --format json lists them all"
    assert len(json.loads(render([verification], "json"))[0]["changes"]) == 100


def test_json_says_what_and_why_in_fields() -> None:
    same, changed, wrong, bare = json.loads(render(EVERY, "json"))
    assert (same["status"], same["cause"], same["runs"][1]) == ("same", None, {"assignor": "sticky", "seed": 1})
    assert (changed["status"], changed["cause"]) == ("changed", "other")
    assert changed["changes"][1] == {
        **{"assignor": "ha", "seed": 1, "kind": "task", "name": "0_3", "round": 2},
        **{"before": ["a"], "after": ["b", "c"]},
    }
    assert wrong["error"].startswith("bad.yaml:3")
    assert bare["status"] == "not stored"


def test_github_gets_a_line_for_each_scenario_that_is_not_as_stored() -> None:
    error, wrong, warning = render(EVERY, "github").splitlines()
    assert error.startswith("::error file=wild.yaml,title=wild.yaml%3A changed::2 differences; ")
    assert "%0A  round 2: task 0_3" in error
    assert "(+25 %25, worse)" in error
    assert wrong.startswith("::error file=bad.yaml,")
    assert warning.startswith("::warning file=new.yaml,")
    assert render([SAME], "github") == "::notice::all scenarios as stored\n"


def test_junit_has_a_suite_a_scenario_and_a_case_a_run() -> None:
    same, changed, wrong, bare = ElementTree.fromstring(junit(EVERY))
    assert [suite.get("tests") for suite in (same, changed, wrong, bare)] == ["2", "2", "1", "1"]
    assert (same.get("failures"), changed.get("failures"), wrong.get("errors"), bare.get("skipped")) == tuple("0111")
    failed, passed = changed
    assert (failed.get("name"), passed.get("name")) == ("ha, seed 1", "sticky, seed 1")
    assert "task 0_3: stored on a" in (failed.findtext("failure") or "")
    assert not list(passed)


@pytest.mark.parametrize("name", [*HOSTILE, "nul\0", "\ufffe", "::set-output name=x::y", "a,b:c%0A"])
def test_whatever_a_name_holds_is_text_in_every_format(name: str) -> None:
    change = ResultChange(name, 1, "task", name, 2, [name], [None, name])
    every = [
        Verification(name, VerificationStatus.CHANGED, [change], compare_origins(ORIGIN, ORIGIN), runs=[(name, 1)]),
        Verification(name, VerificationStatus.UNREADABLE, error=name),
    ]
    json.loads(render(every, "json"))
    ElementTree.fromstring(junit(every))
    github = render(every, "github").splitlines()
    assert len(github) == 2
    assert all(line.startswith("::error file=") for line in github)
    markdown = render(every, "markdown")
    assert "<script>" not in markdown
    assert all(not line or line.startswith(("|", "- ", "**")) for line in markdown.split("\n"))
    assert not {"\x1b", "\0", "\u202e"} & set(render(every, "text"))


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="formats: text, json, markdown, github"):
        render(EVERY, "xml")
    assert FORMATS == ("text", "json", "markdown", "github")


def statuses(every: Sequence[Verification]) -> list[str]:
    return [each.status for each in every]


def test_markdown_has_a_row_a_scenario() -> None:
    lines = render(EVERY, "markdown").splitlines()
    assert [line.split(" | ")[1] for line in lines[2:6]] == statuses(EVERY)
