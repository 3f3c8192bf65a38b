"""Plan folders that `assignor-sim plan --out` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.analysis.comparison import TableError, Tables
from reports.analysis.plans.plan_row import PlanRow, parse_plan_rows
from reports.analysis.plans.tables import PLAN_SCHEMAS
from simulator.results.renamed_keys import rename_keys, warn_of_old_keys
from simulator.results.result_directory import MANIFEST, ResultsError, read_results

PLAN_KIND = "plan"
"""Value of `kind` in the manifest of a plan folder."""


@dataclass(frozen=True, slots=True)
class PlanResults:
    """The content of a plan folder.

    Attributes:
        rows: the cluster before any plan, then one row per strategy.
        tables: the tables of `PLAN_SCHEMAS`.
        manifest: cluster, request, versions and command.
    """

    rows: tuple[PlanRow, ...]
    tables: Tables
    manifest: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Name and size of the cluster."""
        return str(self.manifest["title"])

    @property
    def source(self) -> str:
        """Name of the cluster that the user gave."""
        return str(self.manifest["cluster"]["source"])

    @property
    def planned(self) -> list[str]:
        """Strategies that have a plan."""
        return [row.strategy for row in self.rows[1:] if row.has_plan]


def is_plan_directory(directory: Path) -> bool:
    """Return whether a directory is a plan folder; False also if it cannot be read."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == PLAN_KIND


def read_plans(directories: Sequence[Path]) -> list[PlanResults]:
    """Return the content of plan folders; of several folders, each manifest gets its `directory`.

    Raises:
        ResultsError: a folder cannot be read.
        TableError: a folder lacks a table because an earlier version wrote it.
    """
    results = [_read(directory) for directory in directories]
    if len(results) == 1:
        return results
    return [
        PlanResults(result.rows, result.tables, {"directory": str(directory), **result.manifest})
        for directory, result in zip(directories, results, strict=True)
    ]


def _read(directory: Path) -> PlanResults:
    tables, manifest = read_results(directory)
    for name in PLAN_SCHEMAS:
        if name not in tables:
            raise TableError(f"{directory}: table {name!r} is missing; plan again with this version")
    try:
        records = [rename_keys(record) for record in manifest["plans"]]
        warn_of_old_keys(str(directory), (key for _, old in records for key in old))
        return PlanResults(tuple(parse_plan_rows([record for record, _ in records])), tables, manifest)
    except (KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{directory / MANIFEST}: not the manifest of a plan: {error!r}") from error
