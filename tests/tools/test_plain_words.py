"""Phrases that are reported in prose and in names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.plain_words import check, checked_paths, findings_in_module, findings_in_text

MODULE = '''\
"""Whoever reads this."""
TEXT = "nobody is told"  # As far as known.


def test_what_is_told(each, found=1):
    first, one = found, each
    return [told for told in (first, one)]
'''


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("The leader computes the assignment.", []),
        ("Nobody runs it, and whoever\ncame to it is told.", ["nobody", "whoever", "came to", "told"]),
        ("`nobody` and ```\ntold\n``` and [text](docs/told.md) are code.", []),
        ("It is there; there is one. Is there a task?", ["is there"]),
        ("The behaviour of a modelled programme.", ["behaviour", "modelled", "programme"]),
        ("The program analyzes and cancels.", []),
    ],
)
def test_phrases_are_reported_in_prose_and_not_in_code(text: str, phrases: list[str]) -> None:
    assert [finding.phrase for finding in findings_in_text("a.md", text)] == phrases


def test_finding_has_line_where_phrase_starts() -> None:
    assert [finding.line for finding in findings_in_text("a.md", "One.\nTwo.\nAs\nfar as three.")] == [3]


@pytest.mark.parametrize(
    ("name", "phrases"),
    [
        ("test_unknown_rack_is_rejected", []),
        ("test_what_is_given_counts", ["'test what'"]),
        ("test_a_task_of_its_own", ["'of its own'"]),
        ("tell_all", ["'tell'"]),
        ("foretelling", []),
        ("_normalised", ["'normalised'"]),
    ],
)
def test_phrases_are_reported_in_names_of_functions(name: str, phrases: list[str]) -> None:
    findings = list(findings_in_module("a.py", f"def {name}(): pass"))
    assert [finding.phrase for finding in findings] == [name] * len(phrases)
    assert [finding.instead.partition(":")[0] for finding in findings] == phrases


@pytest.mark.parametrize("binding", ["each = 1", "for each in x: pass", "[each for each in x]", "lambda each: 1"])
def test_variables_are_reported_in_tests_only(binding: str) -> None:
    assert [finding.phrase for finding in findings_in_module("tests/a.py", binding)] == ["each"]
    assert not list(findings_in_module("a.py", binding))


def test_variables_that_are_only_read_are_not_reported() -> None:
    assert not list(findings_in_module("tests/a.py", "print(each, error.found)"))


@pytest.mark.parametrize(("path", "lines"), [("a.py", [1, 2, 2, 2, 5]), ("tests/a.py", [1, 2, 5, 5, 5, 6, 7])])
def test_texts_are_checked_except_in_tests(path: str, lines: list[int]) -> None:
    assert sorted(finding.line for finding in findings_in_module(path, MODULE)) == lines


def test_findings_of_a_module_are_sorted_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tests").mkdir()
    Path("tests/test_a.py").write_text(MODULE)
    assert [(finding.line, finding.phrase) for finding in check(["tests/test_a.py"])] == [
        (1, "whoever"),
        (2, "as far as"),
        (5, "each"),
        (5, "found"),
        (5, "test_what_is_told"),
        (6, "one"),
        (7, "told"),
    ]


def test_only_python_files_of_tests_are_checked() -> None:
    paths = checked_paths(["tests/assignor_sim", "docs/README.md"])
    assert "docs/README.md" in paths
    assert {Path(path).suffix for path in paths if path.startswith("tests/")} == {".py"}
