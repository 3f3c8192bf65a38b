"""Build hook of the wheel: nests the project's packages in the package `assignor_sim`.

In the checkout, `simulator`, `scenarios`, `reports`, … are top-level packages. In a wheel these names would collide
with packages of a user's project, because Python imports the first match on `sys.path`. A wheel therefore has one
top-level package: `simulator` becomes `assignor_sim.simulator`, and every import of it is rewritten.
Nothing else in the code changes; line numbers stay. Editable installs use the checkout as it is.

docs/development/packaging.md compares the alternatives.
"""

from __future__ import annotations

import ast
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT_PACKAGE = "assignor_sim"
NESTED_PACKAGES = ("assignors", "pipeline", "reports", "scenarios", "simulator")

_IGNORED = shutil.ignore_patterns("__pycache__", ".DS_Store", "*.pyc")
_MODULE_PATH = re.compile(rf"({'|'.join(NESTED_PACKAGES)})(\.\w+)*(:\w+)?")
_TAKES_PACKAGE = {"files", "import_module", "PackageLoader"}
"""Functions whose first argument names a package."""


BRIDGE = Path("assignors", "jvm", "bridge.jar")
"""The Java program that runs assignors in Java, which `make bridge` builds."""


class MissingBridgeError(Exception):
    """The Java bridge is not built."""


class NestingError(Exception):
    """An import or a module name cannot be rewritten; the message has file and line."""


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the nested packages to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the nested packages to a temporary folder and include it; does nothing for an editable install.

        Raises MissingBridgeError if the wheel would lack the Java bridge.
        """
        if version == "editable":
            return
        if not Path(self.root, BRIDGE).is_file():
            raise MissingBridgeError(f"{BRIDGE.as_posix()} is missing; run make bridge, which needs a JDK and Maven")
        self._folder = Path(tempfile.mkdtemp(prefix="assignor-sim-wheel-"))
        nest_packages(Path(self.root), self._folder)
        build_data["force_include"][str(self._folder / ROOT_PACKAGE)] = ROOT_PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if version != "editable":
            shutil.rmtree(self._folder, ignore_errors=True)


def nest_packages(root: Path, target: Path) -> None:
    """Write the packages of a checkout to `target/assignor_sim`, with their imports rewritten.

    `target`: a folder without `assignor_sim`. Raises NestingError if a module imports or names a package in a way that
    cannot be rewritten.
    """
    package = target / ROOT_PACKAGE
    shutil.copytree(root / ROOT_PACKAGE, package, ignore=_IGNORED)
    for name in NESTED_PACKAGES:
        shutil.copytree(root / name, package / name, ignore=_IGNORED)
    for file in sorted(package.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        rewritten = rewrite_imports(text, str(file.relative_to(package)), root)
        if rewritten != text:
            file.write_text(rewritten, encoding="utf-8")


def rewrite_imports(text: str, name: str, root: Path) -> str:
    """Return a module's code with `assignor_sim.` before every import of a nested package.

    `name`: the module's file, for messages; `root`: the checkout, in which modules that strings name are looked up.
    Raises NestingError as `nest_packages` does.
    """
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    prefix = f"{ROOT_PACKAGE}.".encode()
    for line, column in sorted(_find_insertions(ast.parse(text), lines, name, root), reverse=True):
        lines[line] = lines[line][:column] + prefix + lines[line][column:]
    return b"".join(lines).decode()


def _find_insertions(tree: ast.Module, lines: list[bytes], name: str, root: Path) -> Iterator[tuple[int, int]]:
    """Yield the positions of the prefix: line (from 0) and column (in bytes)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_nested(node.module or ""):
            yield node.lineno - 1, lines[node.lineno - 1].index(b"from ", node.col_offset) + len(b"from ")
        elif isinstance(node, ast.Import) and any(_is_nested(alias.name) for alias in node.names):
            for alias in node.names:
                if alias.asname is None:
                    raise NestingError(f"{name}:{node.lineno}: import {alias.name}: use from … import, or import … as")
                yield alias.lineno - 1, alias.col_offset
        elif isinstance(node, ast.JoinedStr):
            first = node.values[0] if node.values else None
            if isinstance(first, ast.Constant) and str(first.value).startswith(tuple(f"{p}." for p in NESTED_PACKAGES)):
                raise NestingError(f"{name}:{node.lineno}: an f-string names a module: use __package__ or __name__")
        elif isinstance(node, ast.Call) and node.args and _function_name(node) in _TAKES_PACKAGE:
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and argument.value in NESTED_PACKAGES:
                yield argument.lineno - 1, argument.col_offset + 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _names_module(node.value, root):
            quote = lines[node.lineno - 1][node.col_offset :]
            if not quote.startswith((b'"', b"'")) or quote.startswith(b'"""'):
                raise NestingError(f"{name}:{node.lineno}: a string that names a module must be a plain string")
            yield node.lineno - 1, node.col_offset + 1


def _function_name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_nested(module: str) -> bool:
    return module.partition(".")[0] in NESTED_PACKAGES


def _names_module(text: str, root: Path) -> bool:
    """Return whether a string names a module of a nested package, or an object in one (`a.b:C`)."""
    if "." not in text or not _MODULE_PATH.fullmatch(text):
        return False
    path = root.joinpath(*text.partition(":")[0].split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()
