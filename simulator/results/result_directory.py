"""A directory of results: the tables as Parquet, and a manifest that says how they came about.

Everything is written to a temporary directory beside the wanted one, which then takes its name: a run that is killed
leaves nothing half-made.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from simulator.results.renamed_keys import rename_tables

MANIFEST = "manifest.json"


class ResultsError(Exception):
    """A directory that cannot be written, or is not one of results; says which and why."""


def write_results(
    directory: Path,
    tables: Mapping[str, pa.Table],
    manifest: Mapping[str, Any],
    files: Mapping[str, bytes] | None = None,
) -> None:
    """Write results, in place of earlier ones in the same directory; the same input gives the same bytes.

    Args:
        directory: made if it is not there.
        tables: each becomes NAME.parquet.
        manifest: how the tables came about, JSON-able.
        files: what else belongs to them, by relative path.

    Raises:
        ResultsError: the directory holds something else than results of this kind, or cannot be written.
    """
    check_writable(directory, manifest.get("kind"))
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as parts:
            made = Path(parts) / "made"
            made.mkdir()
            for name, table in tables.items():
                pq.write_table(table, made / f"{name}.parquet", compression="zstd")
            text = json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
            (made / MANIFEST).write_text(text, encoding="utf-8")
            for name, content in (files or {}).items():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_bytes(content)
            if directory.exists():
                directory.rename(Path(parts) / "replaced")
            made.rename(directory)
    except OSError as error:
        raise ResultsError(f"{directory}: cannot be written: {error.strerror or error}") from error


def check_writable(directory: Path, kind: str | None = None) -> None:
    """See that a directory may be written: it is not there, is empty, or holds earlier results of the same kind.

    Args:
        directory: where results are to go.
        kind: what the manifest calls them; None for those of runs.

    Raises:
        ResultsError: it holds something else.
    """
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return
    try:
        held = json.loads((directory / MANIFEST).read_text(encoding="utf-8")).get("kind")
    except (OSError, ValueError, AttributeError):
        raise ResultsError(f"{directory}: is there already and holds no results; name another directory") from None
    if held != kind:
        what = f"a {held}" if held else "runs"
        raise ResultsError(f"{directory}: is there already and holds {what}; name another directory")


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
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ResultsError(f"{directory}: not a directory of results: {error}") from error
    return rename_tables(tables, str(directory)), manifest
