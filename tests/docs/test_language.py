"""Names mean one thing, and prose is plain."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from tools.plain_words import PACKAGES, check, checked_paths, findings_in_text

ROOT = Path(__file__).parents[2]


def test_docs_help_texts_docstrings_and_comments_are_in_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    paths = checked_paths()
    assert len(paths) > 500
    assert not check(paths)


def test_a_class_name_means_one_thing_in_the_project() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    modules[node.name].append(str(path.relative_to(ROOT)))
    assert len(modules) > 500
    assert not {name: files for name, files in modules.items() if len(files) > 1}


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
def test_phrases_are_found_in_prose_and_not_in_code(text: str, phrases: list[str]) -> None:
    assert [finding.phrase for finding in findings_in_text("a.md", text)] == phrases


def test_a_finding_has_the_line_on_which_the_phrase_begins() -> None:
    assert [finding.line for finding in findings_in_text("a.md", "One.\nTwo.\nAs\nfar as three.")] == [3]
