"""Directories of sweeps, and the aggregates that `assignor-sim aggregate` writes to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reports.analysis.comparison import TableError
from simulator.results.renamed_keys import RENAMED_KEYS, rename_columns, rename_keys, warn_of_old_keys

REQUIRED_TABLES = ("cells", "differences", "front", "sensitivity", "levels", "pairs")
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
        manifest = json.loads((directory / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == "sweep"


def read_aggregate(directory: Path) -> SweepAggregate:
    """Read the aggregate of a sweep; warn if an earlier release wrote it with keys that were renamed since.

    Returns:
        The aggregate, with current keys.

    Raises:
        TableError: the sweep is not aggregated, or was aggregated together with other sweeps.
    """
    remedy = f"run: assignor-sim aggregate {directory}"
    folder = directory / _FOLDER
    if not (folder / _SUMMARY).is_file():
        raise TableError(f"{directory}: not aggregated yet; {remedy}")
    try:
        manifest, summary = (_json(path) for path in (directory / _MANIFEST, folder / _SUMMARY))
        tables = {name: pq.read_table(folder / name) for name in REQUIRED_TABLES}
    except (OSError, ValueError, pa.ArrowException) as error:
        raise TableError(f"{folder}: cannot be read ({error}); {remedy}") from error
    if len(summary.get("sweeps", ())) != 1 or len(summary.get("scenarios", ())) != 1:
        raise TableError(f"{folder}: aggregates other sweeps too; {remedy}")
    return SweepAggregate(str(directory), manifest, *_with_current_keys(summary, tables, str(folder)))


def _with_current_keys(
    summary: dict[str, Any], tables: Mapping[str, pa.Table], source: str
) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """Return summary and tables with current metric keys; warn if any were old."""
    old: set[str] = set()

    def rename(value: Any) -> Any:
        if isinstance(value, Mapping):
            record, renamed = rename_keys({key: rename(item) for key, item in value.items()})
            old.update(renamed)
            return record
        if isinstance(value, list):
            return [rename(item) for item in value]
        if isinstance(value, str) and value in RENAMED_KEYS:
            old.add(value)
            return RENAMED_KEYS[value]
        return value

    current = {}
    for name, table in tables.items():
        table, renamed = rename_columns(table)
        old.update(renamed)
        for column in {"metric", "best_of"} & set(table.column_names):
            field = table.schema.field(column)
            values = pa.array(rename(table[column].to_pylist()), field.type)
            table = table.set_column(table.column_names.index(column), field, values)
        current[name] = table
    result = rename(summary)
    warn_of_old_keys(source, old)
    return result, current


def _json(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} is not an object")
    return value
