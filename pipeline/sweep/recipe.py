"""What all runs of a sweep have in common, packed so that it can travel to any machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pipeline.sweep.design import Sweep
from pipeline.worker import Recipe
from scenarios.importers.rates import files_of


def recipe_of(sweep: Sweep, text: str, names: Sequence[str], tables: Sequence[str]) -> Recipe:
    """Pack the scenario of a sweep with the files that it names.

    Files that are named by an absolute path do not travel: they have to lie there on every machine.

    Args:
        sweep: whose scenario it is.
        text: of the scenario.
        names: the files that it names, as it names them.
        tables: what is wanted of each run.
    """
    folder = sweep.scenario.parent.resolve()
    named = [folder / name for name in names if not Path(name).is_absolute()]
    root = Path(os.path.commonpath([folder, *(Path(os.path.normpath(path)).parent for path in named)]))
    files = {
        str(Path(os.path.normpath(file)).relative_to(root)): file.read_bytes()
        for path in named
        for file in (files_of(path) if path.is_dir() else [path])
    }
    return Recipe(
        name=str(sweep.scenario.name),
        text=text,
        folder=str(folder.relative_to(root)),
        files=tuple(sorted(files.items())),
        tables=tuple(tables),
    )
