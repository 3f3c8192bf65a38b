"""Docs, prose and names of the whole project use plain words, and each class name is unique."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from tools.plain_words import PACKAGES, check, checked_paths

ROOT = Path(__file__).parents[2]


def test_prose_and_names_use_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    paths = checked_paths()
    assert len(paths) > 500
    assert not check(paths)


def test_class_names_are_unique() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    modules[node.name].append(str(path.relative_to(ROOT)))
    assert len(modules) > 500
    assert not {name: files for name, files in modules.items() if len(files) > 1}
