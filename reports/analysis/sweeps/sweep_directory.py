"""Directories of sweeps, and the aggregates that `assignor-sim aggregate` writes to them.

The tables of an aggregate have rules: nulls, keys, and references between tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, Field

from reports.analysis.comparison import TableError
from reports.analysis.metrics import METRIC
from reports.analysis.sweeps.tables import AGGREGATE_SCHEMAS
from simulator.results.files import read_document
from simulator.results.result_directory import MANIFEST, ResultsError
from simulator.results.schema_checks import (
    Reference,
    SchemaError,
    StoredRecord,
    TableRules,
    check_record,
    check_relations,
    check_schema,
    read_json,
    read_table,
)

SWEEP_KIND: Final = "sweep"
"""Value of `kind` in the manifest of a sweep."""

_Count = Annotated[int, Field(ge=0, le=2**53)]


def _known_metric(name: str) -> str:
    if name not in METRIC:
        raise ValueError("unknown metric")
    return name


class SweepScenario(StoredRecord):
    """The scenario of a sweep."""

    name: str
    text: str
    sha256: str
    imports: dict[str, str]


class SweepFactorRecord(StoredRecord):
    """A factor of a sweep."""

    name: str
    paths: list[str]
    kind: Annotated[str, Field(pattern="^(number|text)$")]
    unit: str | None


class StoppedLook(StoredRecord):
    """The pairs that stopped at a look."""

    seeds: _Count
    stopped_pairs: _Count


class SweepStops(StoredRecord):
    """What a finished sweep with `--until-significant` did not run."""

    pairs: _Count
    cells: _Count
    runs: _Count
    shared_seeds: _Count
    looks: list[StoppedLook]
    baseline_setting: _Count | None = None


class SweepStopRule(StoredRecord):
    """When the seeds of a pair stop."""

    metrics: list[Annotated[str, AfterValidator(_known_metric)]]
    looks: Annotated[list[_Count], Field(min_length=1)]


class SweepManifest(StoredRecord):
    """The manifest of a sweep directory."""

    name: str
    text: str
    scenario: SweepScenario
    factors: list[SweepFactorRecord]
    changes: list[Annotated[list[str], Field(min_length=2, max_length=2)]]
    assignors: list[str]
    seeds: list[Annotated[int, Field(ge=0, le=2**63 - 1)]]
    baseline: str
    runs: _Count
    command: str
    versions: dict[str, str]
    until_significant: SweepStopRule | None = None
    stopped: SweepStops | None = None


class _SummaryFactor(StoredRecord):
    name: str


class _SweepStopSummary(SweepStops):
    metrics: list[Annotated[str, AfterValidator(_known_metric)]]


class _SweepSummary(StoredRecord):
    sweep: str
    baseline: str
    assignors: list[str]
    factors: list[_SummaryFactor]
    settings: _Count
    seeds: _Count
    runs: _Count
    stopped: _SweepStopSummary | None = None


class _Best(StoredRecord):
    objective: Annotated[str, AfterValidator(_known_metric)]
    setting: _Count
    assignor: str
    others_equal: _Count


class _ScenarioSummary(StoredRecord):
    scenario: str
    objectives: list[Annotated[str, AfterValidator(_known_metric)]]
    cells_considered: _Count
    cells_on_front: _Count
    best: list[_Best]


class _LeftOut(StoredRecord):
    what: str
    number: _Count
    why: str


class AggregateSummary(StoredRecord):
    """The summary of an aggregate."""

    sweeps: list[_SweepSummary]
    scenarios: list[_ScenarioSummary]
    left_out: list[_LeftOut]


_CELL: Final = ("setting", "assignor")


def _all_but(table: str, *never_null: str) -> frozenset[str]:
    return frozenset(AGGREGATE_SCHEMAS[table].names) - frozenset((*_KEYS[table], "scenario", "sweep", *never_null))


_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "cells": (*_CELL, "metric"),
    "differences": (*_CELL, "metric"),
    "front": _CELL,
    "sensitivity": ("metric", "factor"),
    "levels": ("metric", "factor", "position"),
    "pairs": ("metric", "factor", "other", "position", "other_position"),
}

AGGREGATE_RULES: Final[Mapping[str, TableRules]] = MappingProxyType(
    {
        "cells": TableRules(
            _all_but("cells", "label", "runs", "errors", "failed", "stable", "known"), key=_KEYS["cells"]
        ),
        "differences": TableRules(_all_but("differences", "label", "baseline", "pairs"), key=_KEYS["differences"]),
        "front": TableRules(
            _all_but("front", "label", "runs", "errors", "failed", "stable", "on_front", "best_of"), key=_KEYS["front"]
        ),
        "sensitivity": TableRules(_all_but("sensitivity", "rank", "levels", "runs"), key=_KEYS["sensitivity"]),
        "levels": TableRules(_all_but("levels", "level", "runs"), key=_KEYS["levels"]),
        "pairs": TableRules(_all_but("pairs", "level", "other_level", "runs"), key=_KEYS["pairs"]),
    }
)
"""The rules of each table of the aggregate of one sweep."""

AGGREGATE_REFERENCES: Final = (
    Reference("cells", _CELL, "front", _CELL),
    Reference("differences", _CELL, "front", _CELL),
    Reference("front", ("setting",), "cells", ("setting",)),
)
"""References between these tables, on which their readers rely."""


_FOLDER, _SUMMARY = "aggregate", "summary.json"


@dataclass(frozen=True, slots=True)
class SweepAggregate:
    """The aggregate of a sweep.

    Attributes:
        name: name of the directory.
        manifest: manifest of the sweep.
        summary: summary for people.
        tables: the tables of `AGGREGATE_SCHEMAS`.
    """

    name: str
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    tables: Mapping[str, pa.Table]


def read_aggregate(directory: Path) -> SweepAggregate:
    """Read the aggregate of a sweep.

    Readers need no further checks: manifest, summary, columns, types, nulls, numbers and references are valid.
    `directory`: the directory of the sweep, possibly of an unknown author. Raises TableError if the sweep is not
    aggregated, or was aggregated together with other sweeps. Raises ResultsError if a file is not valid; the message
    names the file, the place and what would be right.
    """
    remedy = f"run: assignor-sim aggregate {directory}"
    folder = directory / _FOLDER
    if not (folder / _SUMMARY).is_file():
        raise TableError(f"{directory}: not aggregated yet; {remedy}")
    try:
        manifest = _read_record(directory / MANIFEST, SweepManifest)
        summary = _read_record(folder / _SUMMARY, AggregateSummary)
        tables = {name: read_table(folder / name) for name in AGGREGATE_SCHEMAS}
        if len(summary["sweeps"]) != 1 or len(summary["scenarios"]) != 1:
            raise TableError(f"{folder}: aggregates other sweeps too; {remedy}")
        checked = _checked(folder, tables, remedy)
        _check_cells(folder, manifest, summary, checked)
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be read: {error.strerror or error}; {remedy}") from None
    except SchemaError as error:
        raise ResultsError(str(error)) from None
    return SweepAggregate(str(directory), manifest, summary, checked)


def _checked(folder: Path, tables: Mapping[str, pa.Table], remedy: str) -> dict[str, pa.Table]:
    """Return the columns of the schemas, and the columns of the factors of the table `cells`."""
    checked = {}
    for name, schema in AGGREGATE_SCHEMAS.items():
        table, rules = tables[name], AGGREGATE_RULES[name]
        if name == "cells":
            more = [field for field in table.schema if field.name not in schema.names]
            known = [pa.field(field.name, pa.string()) if field.type != pa.float64() else field for field in more]
            schema = pa.schema([*schema, *known])
            rules = TableRules(rules.nullable | {field.name for field in more}, key=rules.key)
        checked[name] = check_schema(folder / name, table, schema, rules, remedy)
    check_relations(folder.joinpath, checked, AGGREGATE_RULES, AGGREGATE_REFERENCES)
    return checked


def _check_cells(
    folder: Path, manifest: Mapping[str, Any], summary: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> None:
    """Check what the tables and the two documents say about cells and factors.

    Raises SchemaError if they contradict each other.
    """
    front = tables["front"]
    if pc.any(pc.and_(front["on_front"], pc.is_null(front["place"]))).as_py():
        raise SchemaError(f"{folder / 'front'}: column 'place': null for a cell on the front, expected its rank")
    cells = set(zip(front["setting"].to_pylist(), front["assignor"].to_pylist(), strict=True))
    for number, best in enumerate(summary["scenarios"][0]["best"]):
        if (best["setting"], best["assignor"]) not in cells:
            where = f"scenarios[0].best[{number}]"
            raise SchemaError(f"{folder / _SUMMARY}: {where}: setting and assignor are not in the table front")
    names = [factor["name"] for factor in summary["sweeps"][0]["factors"]]
    columns = tables["cells"].num_columns - len(AGGREGATE_SCHEMAS["cells"])
    for number, source in ((len(manifest["factors"]), MANIFEST), (columns, "the table cells")):
        if number != len(names):
            raise SchemaError(
                f"{folder / _SUMMARY}: sweeps[0].factors: {len(names)} factors, but {source} has {number}"
            )


def _read_record(path: Path, model: type[StoredRecord]) -> dict[str, Any]:
    try:
        value: dict[str, Any] = read_json(read_document(path))
        check_record(model, value)
    except (SchemaError, UnicodeDecodeError) as error:
        raise SchemaError(f"{path}: {error}") from None
    return value
