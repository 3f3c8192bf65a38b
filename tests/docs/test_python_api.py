"""The Python API: every public name exists and is documented, and every example in docs and docstrings runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import assignor_sim as sim
import assignor_sim.api

pytestmark = pytest.mark.answers

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "python-api.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^(<!-- .*? -->\n)?```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = {
    str(page.relative_to(ROOT)): blocks
    for page in sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
    if (blocks := [code for mark, code in BLOCK.findall(page.read_text(encoding="utf-8")) if not mark])
}
MODULES = [
    importlib.import_module(f"assignor_sim.api.{module.name}") for module in pkgutil.iter_modules(sim.api.__path__)
]
INTERNAL = {
    "as_scenario",
    "as_scenarios",
    "batch_rows",
    "compare_plans",
    "estimate",
    "explain",
    "folder_names",
    "imports_not_stored",
    "investigate",
    "investigate_consumers",
    "list_moves",
    "load_cluster",
    "may_state_expectations",
    "observed_counts",
    "partition_changes",
    "plan_tables",
    "prepare",
    "read_stored_scenario",
    "replay_night",
    "rounds_path",
    "scenario_files",
    "scenario_record",
    "spark_session",
    "stored_results_path",
    "stored_scenario_files",
    "stored_scenario_path",
    "verify_file",
}
"""Functions of the API's modules that only the commands use."""


def names_for_type_checkers() -> set[str]:
    """Return the names that `assignor_sim/__init__.py` imports under TYPE_CHECKING."""
    tree = ast.parse((ROOT / "assignor_sim" / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.asname or alias.name for node in block.body for alias in node.names}  # type: ignore[attr-defined]


def doctests() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder()
    objects = {f"{module.__name__}": module for module in MODULES}
    tests = [test for name, module in objects.items() for test in finder.find(module, name)]
    for name in sim.__all__:
        item = getattr(sim, name)
        if not item.__module__.startswith("assignor_sim."):
            module = importlib.import_module(item.__module__)
            tests += finder.find(item, f"sim.{name}", module, globs=vars(module).copy())
    return [test for test in tests if test.examples]


def test_every_public_name_exists() -> None:
    assert all(getattr(sim, name) is not None for name in sim.__all__)
    assert dir(sim) == sorted(sim.__all__)


def test_type_checkers_see_same_names() -> None:
    assert names_for_type_checkers() == set(sim.__all__)


def test_every_name_has_docstring_and_is_documented() -> None:
    named = set(re.findall(r"\w+", PAGE))
    assert [name for name in sim.__all__ if name not in named] == []
    assert [name for name in sim.__all__ if not inspect.getdoc(getattr(sim, name))] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.__name__).rpartition(".")[2])
def test_every_api_function_is_public(module: ModuleType) -> None:
    defined = {
        name
        for name, item in vars(module).items()
        if inspect.isfunction(item) and item.__module__ == module.__name__ and not name.startswith("_")
    }
    assert defined - INTERNAL <= set(sim.__all__)


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulate'"):
        _ = sim.simulate  # type: ignore[attr-defined]


@pytest.mark.parametrize("test", doctests(), ids=lambda test: str(test.name))
def test_docstring_examples_run(test: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("page", EXAMPLES)
def test_page_examples_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "example"}
    for code in EXAMPLES[page]:
        exec(compile(code, page, "exec", dont_inherit=True), namespace)
    capsys.readouterr()
