"""Plan folders that `assignor-sim plan --out` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, create_model

from reports.analysis.comparison import Tables
from reports.analysis.plans.plan_row import CRITERIA, FIGURES, TODAY, PlanRow, parse_plan_rows
from reports.analysis.plans.tables import PLAN_REFERENCES, PLAN_RULES, PLAN_SCHEMAS
from simulator.results.result_directory import MANIFEST, ResultFormat, ResultsError, read_results
from simulator.results.schema_checks import StoredRecord

PLAN_KIND = "plan"
"""Value of `kind` in the manifest of a plan folder."""

_Amount = Annotated[float, Field(ge=-(2**63), le=2**63)]
_Count = Annotated[int, Field(ge=0, le=2**53)]


class _ClusterRecord(StoredRecord):
    source: str


class _PlanRecord(StoredRecord):
    """A plan in the manifest without its figures, as `reports.analysis.plans.plan_row.records` writes it."""

    strategy: str
    status: str | None
    reason: str | None
    aims: list[Annotated[str, Field(pattern=f"^({'|'.join(CRITERIA)})$")]]
    notes: list[str]
    objective: str | None
    value: _Amount | None
    bound: _Amount | None
    changes: _Count | None
    elections: _Count | None
    batches: _Count | None
    folder: str | None


_FIGURE_FIELDS: dict[str, Any] = dict.fromkeys(FIGURES, (_Amount | None, None))
_PlanRecordWithFigures = create_model("_PlanRecordWithFigures", __base__=_PlanRecord, **_FIGURE_FIELDS)


class PlanManifest(StoredRecord):
    """The manifest of a plan folder."""

    title: str
    asked: str
    remarks: list[str]
    cluster: _ClusterRecord
    plans: Annotated[list[_PlanRecordWithFigures], Field(min_length=1)]  # type: ignore[valid-type]


PLAN_FORMAT: Final = ResultFormat(
    PLAN_KIND, "a plan", PLAN_SCHEMAS, PLAN_RULES, PLAN_REFERENCES, PlanManifest, "plan again with this version"
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


def read_plans(directories: Sequence[Path]) -> list[PlanResults]:
    """Return the content of plan folders; of several folders, each manifest gets its `directory`.

    Raises ResultsError if a folder cannot be read.
    """
    results = [_read(directory) for directory in directories]
    if len(results) == 1:
        return results
    return [
        PlanResults(result.rows, result.tables, {"directory": str(directory), **result.manifest})
        for directory, result in zip(directories, results, strict=True)
    ]


def _read(directory: Path) -> PlanResults:
    tables, manifest = read_results(directory, PLAN_FORMAT)
    records = manifest["plans"]
    names = [record["strategy"] for record in records]
    for number, name in enumerate(names):
        place = f"{directory / MANIFEST}: plans[{number}].strategy"
        if (name == TODAY) != (number == 0):
            raise ResultsError(f"{place}: expected '{TODAY}' in the first plan, and only there")
        if name in names[:number]:
            raise ResultsError(f"{place}: occurs twice")
    for table_name, table in tables.items():
        unknown = sorted(set(table["strategy"].unique().to_pylist()) - set(names))
        if unknown:
            raise ResultsError(
                f"{directory / table_name}.parquet: column 'strategy': {ascii(unknown[0])[:60]} is not in {MANIFEST}"
            )
    return PlanResults(tuple(parse_plan_rows(records)), tables, manifest)
