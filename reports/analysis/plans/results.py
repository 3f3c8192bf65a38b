"""Plan folders that `assignor-sim plan --out` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reports.analysis.comparison import TableError, Tables
from reports.analysis.plans.plan_row import TODAY, PlanRow, parse_plan_rows
from reports.analysis.plans.tables import PLAN_REFERENCES, PLAN_RULES, PLAN_SCHEMAS
from simulator.results.regular_files import read_document
from simulator.results.result_directory import MANIFEST, ResultFormat, ResultsError, read_results

if TYPE_CHECKING:
    from pydantic import BaseModel

PLAN_KIND = "plan"
"""Value of `kind` in the manifest of a plan folder."""


def _plan_manifest() -> type[BaseModel]:
    from reports.analysis.plans.stored_manifest import PlanManifest

    return PlanManifest


PLAN_FORMAT: Final = ResultFormat(
    PLAN_KIND, "a plan", PLAN_SCHEMAS, PLAN_RULES, PLAN_REFERENCES, _plan_manifest, "plan again with this version"
)
"""The results of `assignor-sim plan --out`."""


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
        manifest = json.loads(read_document(directory / MANIFEST))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == PLAN_KIND


def read_plans(directories: Sequence[Path]) -> list[PlanResults]:
    """Return the content of plan folders; of several folders, each manifest gets its `directory`.

    Raises ResultsError if a folder cannot be read, and TableError if a folder lacks a table because an earlier version
    wrote it.
    """
    results = [_read(directory) for directory in directories]
    if len(results) == 1:
        return results
    return [
        PlanResults(result.rows, result.tables, {"directory": str(directory), **result.manifest})
        for directory, result in zip(directories, results, strict=True)
    ]


def _read(directory: Path) -> PlanResults:
    from reports.analysis.plans.stored_manifest import PlanRecord
    from simulator.results.json_documents import JsonError, validated

    tables, manifest = read_results(directory, PLAN_FORMAT)
    for name in PLAN_SCHEMAS:
        if name not in tables:
            raise TableError(f"{directory}: table {name!r} is missing; plan again with this version")
    records = manifest["plans"]
    for number, record in enumerate(records):
        try:
            validated(PlanRecord, record)
            _check_strategy(number, record["strategy"], [earlier["strategy"] for earlier in records[:number]])
        except JsonError as error:
            raise ResultsError(f"{directory / MANIFEST}: plans[{number}].{error}") from None
    names = {record["strategy"] for record in records}
    for name, table in tables.items():
        unknown = sorted(set(table["strategy"].unique().to_pylist()) - names)
        if unknown:
            raise ResultsError(
                f"{directory / name}.parquet: column 'strategy': {ascii(unknown[0])[:60]} is not in {MANIFEST}"
            )
    return PlanResults(tuple(parse_plan_rows(records)), tables, manifest)


def _check_strategy(number: int, name: str, earlier: Sequence[str]) -> None:
    from simulator.results.json_documents import JsonError

    if (name == TODAY) != (number == 0):
        raise JsonError(f"strategy: expected '{TODAY}' in the first plan, and only there")
    if name in earlier:
        raise JsonError("strategy: occurs twice")
