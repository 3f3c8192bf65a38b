"""Directories of sweeps, and what `assignor-sim aggregate` made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reports.analysis.comparison import TableError

NEEDED = ("cells", "differences", "front", "sensitivity", "levels", "pairs")
"""The tables of an aggregate."""

_MANIFEST, _FOLDER, _SUMMARY = "manifest.json", "aggregate", "summary.json"


@dataclass(frozen=True, slots=True)
class SweepAggregate:
    """What a directory of a sweep says.

    Attributes:
        name: what people call the directory.
        manifest: how its runs came about.
        summary: what people read first.
        tables: those of `NEEDED`.
    """

    name: str
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    tables: Mapping[str, pa.Table]


def is_sweep_directory(directory: Path) -> bool:
    """Whether it is a directory of a sweep; False also of what cannot be read at all."""
    try:
        manifest = json.loads((directory / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == "sweep"


def read_aggregate(directory: Path) -> SweepAggregate:
    """Read what was worked out of a sweep.

    Raises:
        TableError: that has not been done, or is not about this sweep alone; says what to do.
    """
    remedy = f"work it out with: assignor-sim aggregate {directory}"
    folder = directory / _FOLDER
    if not (folder / _SUMMARY).is_file():
        raise TableError(f"{directory}: is a sweep of which nothing has been worked out yet; {remedy}")
    try:
        manifest, summary = (_json(path) for path in (directory / _MANIFEST, folder / _SUMMARY))
        tables = {name: pq.read_table(folder / name) for name in NEEDED}
    except (OSError, ValueError, pa.ArrowException) as error:
        raise TableError(f"{folder}: cannot be read ({error}); {remedy}") from error
    if len(summary.get("sweeps", ())) != 1 or len(summary.get("scenarios", ())) != 1:
        raise TableError(f"{folder}: is not about the sweep beside it alone; {remedy}")
    return SweepAggregate(str(directory), manifest, summary, tables)


def _json(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} is not an object")
    return value
