"""Result directories: the tables as Parquet files, and a manifest that describes the runs.

Everything is written to a temporary directory next to the target, which is then renamed. So an interrupted run leaves
no incomplete results.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from simulator.results.renamed_keys import rename_tables

MANIFEST = "manifest.json"


class ResultsError(Exception):
    """A directory that cannot be written, or is not a result directory; the message says which and why."""


def write_results(
    directory: Path,
    tables: Mapping[str, pa.Table],
    manifest: Mapping[str, Any],
    files: Mapping[str, bytes] | None = None,
) -> None:
    """Write a result directory, replacing earlier results; the same input gives the same bytes.

    Args:
        directory: the target, created if it does not exist.
        tables: the tables by name, written as NAME.parquet.
        manifest: how the tables were computed, as JSON values.
        files: other files of the results, by relative path.

    Raises:
        ResultsError: the directory has content other than results of this kind, or cannot be written.
    """
    check_writable(directory, manifest.get("kind"))
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as temporary:
            complete = Path(temporary) / "complete"
            complete.mkdir()
            for name, table in tables.items():
                pq.write_table(table, complete / f"{name}.parquet", compression="zstd")
            text = json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
            (complete / MANIFEST).write_text(text, encoding="utf-8")
            for name, content in (files or {}).items():
                (complete / name).parent.mkdir(parents=True, exist_ok=True)
                (complete / name).write_bytes(content)
            if directory.exists():
                directory.rename(Path(temporary) / "replaced")
            complete.rename(directory)
    except OSError as error:
        raise ResultsError(f"{directory}: cannot be written: {error.strerror or error}") from error


def check_writable(directory: Path, kind: str | None = None) -> None:
    """Check that results can be written to a directory: it does not exist, is empty, or has results of the same kind.

    Args:
        directory: the target directory.
        kind: the kind in the manifest; None for runs.

    Raises:
        ResultsError: it has other content, or cannot be created.
    """
    parent = next(path for path in directory.absolute().parents if path.exists())
    if not parent.is_dir():
        raise ResultsError(f"{directory}: cannot be written: {parent} is not a directory; choose another --out")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ResultsError(f"{directory}: cannot be written: no permission to write to {parent}; choose another --out")
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return
    try:
        existing_kind = json.loads((directory / MANIFEST).read_text(encoding="utf-8")).get("kind")
    except (OSError, ValueError, AttributeError):
        raise ResultsError(f"{directory}: exists and is not a result directory; choose another --out") from None
    if existing_kind != kind:
        content = f"a {existing_kind}" if existing_kind else "runs"
        raise ResultsError(f"{directory}: exists and contains {content}; choose another --out")


def read_results(directory: Path) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Read a result directory; warn if an earlier release wrote it with keys that were renamed since.

    Returns:
        The tables with current names and columns, and the manifest.

    Raises:
        ResultsError: the directory is not a result directory.
    """
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        tables = {path.stem: pq.read_table(path) for path in sorted(directory.glob("*.parquet"))}
    except FileNotFoundError as error:
        problem = f"no {MANIFEST}" if directory.is_dir() else "no such directory"
        raise ResultsError(f"{directory}: not a result directory: {problem}") from error
    except OSError as error:
        raise ResultsError(f"{directory}: not a result directory: {error.strerror or error}") from error
    except (ValueError, pa.ArrowException) as error:
        raise ResultsError(f"{directory}: not a result directory: {error}") from error
    return rename_tables(tables, str(directory)), manifest
