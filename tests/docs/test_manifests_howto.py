"""The fields in the table of scale-by-lag-on-kubernetes.md are those that the reader of manifests looks at."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "scale-by-lag-on-kubernetes.md"
READERS = {"node", "nodes", "text", "texts", "integer", "seconds_ms", "boolean", "choice", "pods", "records"}


def read_fields() -> set[str]:
    """Return the literal field names that the modules of scenarios/kubernetes read."""
    matches: set[str] = set()
    for path in (ROOT / "scenarios" / "kubernetes").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READERS:
                matches |= {
                    part.value
                    for part in ast.walk(node)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                matches |= {
                    arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
                }
    return matches


def test_every_listed_field_is_read() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## What is read")[2].partition("\n\nA note")[0]
    listed = set(re.findall(r"`([A-Za-z]+)`", table))
    assert len(listed) > 45
    assert listed - read_fields() <= {"lag", "Recreate", "strategy", "tolerance"}
