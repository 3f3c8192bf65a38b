"""Plan folders, as `assignor-sim plan --out` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.analysis.comparison import TableError, Tables
from reports.analysis.plans.plan_row import PlanRow, parse_plan_rows
from reports.analysis.plans.tables import PLAN_SCHEMAS
from simulator.results.result_directory import MANIFEST, ResultsError, read_results

PLAN_KIND = "plan"
"""What the manifest of a plan folder calls it."""


@dataclass(frozen=True, slots=True)
class PlanResults:
    """What a plan folder holds.

    Attributes:
        rows: the cluster before any plan, then one row per strategy.
        tables: those of `PLAN_SCHEMAS`.
        manifest: the cluster, the request, versions and the command.
    """

    rows: tuple[PlanRow, ...]
    tables: Tables
    manifest: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The name of the cluster with its size."""
        return str(self.manifest["title"])

    @property
    def source(self) -> str:
        """What the user calls the cluster."""
        return str(self.manifest["cluster"]["source"])

    @property
    def planned(self) -> list[str]:
        """The strategies that have a plan."""
        return [row.strategy for row in self.rows[1:] if row.has_plan]


def is_plan_directory(directory: Path) -> bool:
    """Return whether a directory is a plan folder; False also if it cannot be read."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == PLAN_KIND


def read_plans(directories: Sequence[Path]) -> list[PlanResults]:
    """Read plan folders; of several, each manifest gets a `directory`.

    Raises:
        ResultsError: a folder cannot be read.
        TableError: a folder lacks a table, because an earlier version wrote it.
    """
    found = [_read(directory) for directory in directories]
    if len(found) == 1:
        return found
    return [
        PlanResults(each.rows, each.tables, {"directory": str(directory), **each.manifest})
        for directory, each in zip(directories, found, strict=True)
    ]


def _read(directory: Path) -> PlanResults:
    tables, manifest = read_results(directory)
    for name in PLAN_SCHEMAS:
        if name not in tables:
            raise TableError(f"{directory}: the table {name!r} is missing; plan again with this version")
    try:
        return PlanResults(tuple(parse_plan_rows(manifest["plans"])), tables, manifest)
    except (KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{directory / MANIFEST}: not the manifest of a plan: {error!r}") from error
