"""Directories of sweeps, and the aggregates that `assignor-sim aggregate` writes to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from reports.analysis.comparison import TableError
from reports.analysis.sweeps.tables import AGGREGATE_SCHEMAS
from simulator.results.json_documents import JsonError, read_json, validated
from simulator.results.regular_files import read_document
from simulator.results.result_directory import ResultsError
from simulator.results.table_checks import (
    Reference,
    TableMistake,
    TableRules,
    check_relations,
    check_schema,
    read_table,
)

if TYPE_CHECKING:
    from pydantic import BaseModel


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


REQUIRED_TABLES = tuple(AGGREGATE_SCHEMAS)
"""Tables of an aggregate."""

_MANIFEST, _FOLDER, _SUMMARY = "manifest.json", "aggregate", "summary.json"


@dataclass(frozen=True, slots=True)
class SweepAggregate:
    """The aggregate of a sweep.

    Attributes:
        name: name of the directory.
        manifest: manifest of the sweep.
        summary: summary for people.
        tables: the tables `REQUIRED_TABLES`.
    """

    name: str
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    tables: Mapping[str, pa.Table]


def is_sweep_directory(directory: Path) -> bool:
    """Return whether a directory holds a sweep; False also if it cannot be read."""
    try:
        manifest = json.loads(read_document(directory / _MANIFEST))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == "sweep"


def read_aggregate(directory: Path) -> SweepAggregate:
    """Read the aggregate of a sweep.

    Readers need no further checks: manifest, summary, columns, types, nulls, numbers and references are valid.
    `directory`: the directory of the sweep, possibly of an unknown author. Raises TableError if the sweep is not
    aggregated, or was aggregated together with other sweeps. Raises ResultsError if a file is not valid; the message
    names the file, the place and what would be right.
    """
    from reports.analysis.sweeps.stored_manifest import AggregateSummary, SweepManifest

    remedy = f"run: assignor-sim aggregate {directory}"
    folder = directory / _FOLDER
    if not (folder / _SUMMARY).is_file():
        raise TableError(f"{directory}: not aggregated yet; {remedy}")
    try:
        manifest, summary = (_json(path) for path in (directory / _MANIFEST, folder / _SUMMARY))
        tables = {name: read_table(folder / name) for name in REQUIRED_TABLES}
        _validate(directory / _MANIFEST, SweepManifest, manifest)
        _validate(folder / _SUMMARY, AggregateSummary, summary)
        if len(summary["sweeps"]) != 1 or len(summary["scenarios"]) != 1:
            raise TableError(f"{folder}: aggregates other sweeps too; {remedy}")
        checked = _checked(folder, tables, remedy)
        _check_cells(folder, manifest, summary, checked)
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be read: {error.strerror or error}; {remedy}") from None
    except TableMistake as error:
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

    Raises TableMistake if they contradict each other.
    """
    front = tables["front"]
    if pc.any(pc.and_(front["on_front"], pc.is_null(front["place"]))).as_py():
        raise TableMistake(f"{folder / 'front'}: column 'place': null for a cell on the front, expected its rank")
    cells = set(zip(front["setting"].to_pylist(), front["assignor"].to_pylist(), strict=True))
    for number, best in enumerate(summary["scenarios"][0]["best"]):
        if (best["setting"], best["assignor"]) not in cells:
            where = f"scenarios[0].best[{number}]"
            raise TableMistake(f"{folder / _SUMMARY}: {where}: setting and assignor are not in the table front")
    names = [factor["name"] for factor in summary["sweeps"][0]["factors"]]
    columns = tables["cells"].num_columns - len(AGGREGATE_SCHEMAS["cells"])
    for number, source in ((len(manifest["factors"]), _MANIFEST), (columns, "the table cells")):
        if number != len(names):
            raise TableMistake(
                f"{folder / _SUMMARY}: sweeps[0].factors: {len(names)} factors, but {source} has {number}"
            )


def _json(path: Path) -> dict[str, Any]:
    try:
        value = read_json(read_document(path))
        if not isinstance(value, dict):
            raise JsonError("expected an object")
    except (JsonError, UnicodeDecodeError) as error:
        raise ResultsError(f"{path}: {error}") from None
    return value


def _validate(path: Path, model: type[BaseModel], value: Any) -> None:
    try:
        validated(model, value)
    except JsonError as error:
        raise ResultsError(f"{path}: {error}") from None
