"""Environments of processes that find no Java, and cannot import some packages."""

from __future__ import annotations

from pathlib import Path

from tests.assignor_sim.conftest import Shell

NO_JAVA = {"PATH": "", "JAVA_HOME": ""}

_BLOCK = """\
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages}:
            raise ImportError(f"blocked: {{name}}")

sys.meta_path.insert(0, Block())
"""


def without(shell: Shell, *packages: str) -> dict[str, str]:
    """Return the environment of processes that cannot import these packages."""
    folder = shell.folder / "blocked"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_BLOCK.format(packages=set(packages)))
    return {"PYTHONPATH": f"{folder}:{Path(__file__).parents[2]}"}
