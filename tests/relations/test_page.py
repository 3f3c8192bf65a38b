"""The page of relations lists all tests in the same words."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.answers

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "development" / "relations.md"


def test_page_has_a_row_for_every_relation() -> None:
    rows = re.findall(r"^\| (.+) \| `(\w+\.py::test_\w+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted((sentence, name) for sentence, name, _ in relations())


def test_shares_of_relations_add_up() -> None:
    assert sum(share for _, _, share in relations()) == 2_000


def relations() -> list[tuple[str, str, int]]:
    """Return the sentence, the name and the share of worlds of each relation, from the source of the tests."""
    rows = []
    for file in sorted(HERE.glob("test_*.py")):
        if file.name == Path(__file__).name:
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                sentence = ast.get_docstring(node)
                assert sentence is not None, node.name
                rows.append((sentence, f"{file.name}::{node.name}", share_of(node)))
    return rows


def share_of(test: ast.FunctionDef) -> int:
    """Return the number of worlds out of 2,000 for which a relation is checked."""
    for call in test.decorator_list:
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "relation":
            return int(ast.literal_eval(call.args[0]))
    return HASH_SEED_SHARE


HASH_SEED_SHARE = 40
"""The number of worlds out of 2,000 that are simulated with several hash seeds."""
