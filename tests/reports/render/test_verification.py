"""Verifications as text, JSON, Markdown, GitHub annotations and JUnit XML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest

from reports.analysis.stored.verification import ResultChange, Verification, VerificationStatus, compare_origins
from reports.render.verification import FORMATS, as_text, junit, render
from tests.reports.sample_runs import HOSTILE
from tests.reports.sample_stored_results import ORIGIN

NO_CHANGES = compare_origins(ORIGIN, ORIGIN)
MOVED = ResultChange("ha", 1, "task", "0_3", 2, ["a"], ["b", "c"])
WORSE = ResultChange("ha", 1, "metric", "active_moves", None, 4, 5)
SAME = Verification("calm.yaml", VerificationStatus.SAME, (), NO_CHANGES, runs=[("ha", 1), ("sticky", 1)])
CHANGED = Verification(
    "wild.yaml", VerificationStatus.CHANGED, [WORSE, MOVED], NO_CHANGES, runs=[("ha", 1), ("sticky", 1)]
)
UNREADABLE = Verification("bad.yaml", VerificationStatus.UNREADABLE, error="bad.yaml:3: no\nbad.yaml:4: no either")
NOT_STORED = Verification("new.yaml", VerificationStatus.NOT_STORED)
ALL = (SAME, CHANGED, UNREADABLE, NOT_STORED)


def test_text_lists_changes_by_run() -> None:
    assert render(ALL, "text") == (
        "calm.yaml: as stored\n"
        "wild.yaml: 2 differences; neither the scenario nor the model has changed, nor any version\n"
        "  ha, seed 1\n"
        "    active_moves: stored 4, now 5 (+25 %, worse)\n"
        "    round 2: task 0_3: stored on a, now on b, standby on c\n"
        "bad.yaml:3: no\nbad.yaml:4: no either\n"
        "new.yaml: no stored results; run assignor-sim record new.yaml\n"
    )


def test_many_changes_are_shortened_in_text_but_complete_in_json() -> None:
    many = [ResultChange("ha", 1, "task", f"0_{number}", number, ["a"], ["b"]) for number in range(1, 101)]
    verification = Verification("wild.yaml", VerificationStatus.CHANGED, many, NO_CHANGES)
    lines = as_text(verification).splitlines()
    assert len(lines) < 20
    assert lines[-1].strip() == "… and 88 more up to round 100; --format json lists them all"
    assert len(json.loads(render([verification], "json"))[0]["changes"]) == 100


def test_spreadsheets_calculate_no_cell_of_csv() -> None:
    change = ResultChange("=1+1", 1, "metric", "active_moves", None, 4, 5)
    verification = Verification("@sum.yaml", VerificationStatus.CHANGED, [change], NO_CHANGES)
    row = render([verification], "csv").splitlines()[1]
    assert row.startswith("'@sum.yaml,")
    assert ",'=1+1," in row


def test_json_has_changes_and_their_cause() -> None:
    same, changed, unreadable, not_stored = json.loads(render(ALL, "json"))
    assert (same["status"], same["cause"], same["runs"][1]) == ("same", None, {"assignor": "sticky", "seed": 1})
    assert (changed["status"], changed["cause"]) == ("changed", "other")
    assert changed["changes"][1] == {
        **{"assignor": "ha", "seed": 1, "kind": "task", "name": "0_3", "round": 2},
        **{"before": ["a"], "after": ["b", "c"]},
    }
    assert unreadable["error"].startswith("bad.yaml:3")
    assert not_stored["status"] == "not stored"


def test_github_has_an_annotation_per_changed_scenario() -> None:
    error, unreadable, warning = render(ALL, "github").splitlines()
    assert error.startswith("::error file=wild.yaml,title=wild.yaml%3A changed::2 differences; ")
    assert "%0A  round 2: task 0_3" in error
    assert "(+25 %25, worse)" in error
    assert unreadable.startswith("::error file=bad.yaml,")
    assert warning.startswith("::warning file=new.yaml,")
    assert render([SAME], "github") == "::notice::all scenarios as stored\n"


def test_junit_has_a_suite_per_scenario_and_a_case_per_run() -> None:
    same, changed, unreadable, not_stored = ElementTree.fromstring(junit(ALL))
    assert [suite.get("tests") for suite in (same, changed, unreadable, not_stored)] == ["2", "2", "1", "1"]
    assert (
        same.get("failures"),
        changed.get("failures"),
        unreadable.get("errors"),
        not_stored.get("skipped"),
    ) == tuple("0111")
    failed, passed = changed
    assert (failed.get("name"), passed.get("name")) == ("ha, seed 1", "sticky, seed 1")
    assert "task 0_3: stored on a" in (failed.findtext("failure") or "")
    assert not list(passed)


@pytest.mark.parametrize("name", [*HOSTILE, "nul\0", "\ufffe", "::set-output name=x::y", "a,b:c%0A"])
def test_hostile_names_are_drawn_as_text_in_every_format(name: str) -> None:
    change = ResultChange(name, 1, "task", name, 2, [name], [None, name])
    verifications = [
        Verification(name, VerificationStatus.CHANGED, [change], compare_origins(ORIGIN, ORIGIN), runs=[(name, 1)]),
        Verification(name, VerificationStatus.UNREADABLE, error=name),
    ]
    json.loads(render(verifications, "json"))
    ElementTree.fromstring(junit(verifications))
    github = render(verifications, "github").splitlines()
    assert len(github) == 2
    assert all(line.startswith("::error file=") for line in github)
    markdown = render(verifications, "markdown")
    assert "<script>" not in markdown
    assert all(not line or line.startswith(("|", "- ", "**")) for line in markdown.split("\n"))
    assert not {"\x1b", "\0", "\u202e"} & set(render(verifications, "text"))


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(ValueError, match="formats: text, json, csv, markdown, github"):
        render(ALL, "xml")
    assert FORMATS == ("text", "json", "csv", "markdown", "github")


def statuses(verifications: Sequence[Verification]) -> list[str]:
    return [verification.status for verification in verifications]


def test_markdown_has_one_row_per_scenario() -> None:
    lines = render(ALL, "markdown").splitlines()
    assert [line.split(" | ")[1] for line in lines[2:6]] == statuses(ALL)
