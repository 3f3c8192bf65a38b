"""Each class name of the packages is unique; `make lint` checks the wording."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from tools.plain_words import PACKAGES

ROOT = Path(__file__).parents[2]


def test_class_names_are_unique() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    modules[node.name].append(str(path.relative_to(ROOT)))
    assert len(modules) > 500
    assert not {name: files for name, files in modules.items() if len(files) > 1}
