"""No modules import each other in a circle, not even for annotations; imports within functions do not count."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("assignor_sim", "assignors", "pipeline", "reports", "scenarios", "simulator")


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_names(file: Path) -> Iterator[str]:
    statements = list(ast.parse(file.read_text(encoding="utf-8")).body)
    for statement in statements:
        match statement:
            case ast.If():  # `if TYPE_CHECKING:`
                statements += statement.body
            case ast.Import():
                yield from (alias.name for alias in statement.names)
            case ast.ImportFrom(module=str(module)):
                yield from (f"{module}.{alias.name}" for alias in statement.names)


def test_no_modules_import_each_other() -> None:
    files = {module_name(file): file for package in PACKAGES for file in (ROOT / package).rglob("*.py")}
    imports = {
        module: {name if name in files else name.rpartition(".")[0] for name in imported_names(file)} & files.keys()
        for module, file in files.items()
    }
    assert sum(map(len, imports.values())) > len(files)
    TopologicalSorter(imports).prepare()
