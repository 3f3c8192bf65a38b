"""Result directories: the tables as Parquet files, and a manifest that describes the runs.

Everything is written to a directory next to the target, which then takes its place (see `output_lock`). So a killed run
leaves the old results or the new ones.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from simulator.results.output_lock import output_lock, replace_directory, without_link
from simulator.results.regular_files import read_document
from simulator.results.renamed_keys import RENAMED_TABLES, rename_tables
from simulator.results.run_table_rules import REFERENCES, RULES
from simulator.results.table_checks import (
    MAX_ROWS,
    Reference,
    TableMistake,
    TableRules,
    check_relations,
    check_schema,
    read_table,
)
from simulator.results.tables import SCHEMAS

if TYPE_CHECKING:
    from pydantic import BaseModel

MANIFEST = "manifest.json"


class ResultsError(Exception):
    """A directory that cannot be written, or is not a valid result directory; the message says where and why."""


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
        ResultsError: the directory has content other than results of this kind, or cannot be written; a table has more
            than `MAX_ROWS` rows.
    """
    check_writable(directory, manifest.get("kind"))
    for name, table in tables.items():
        if table.num_rows > MAX_ROWS:
            rows = f"{table.num_rows:,} rows (maximum: {MAX_ROWS:,})"
            raise ResultsError(f"{directory}: {name} would have {rows}; simulate fewer seeds or a shorter duration")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with output_lock(directory) as complete:
            complete.mkdir()
            for name, table in tables.items():
                # Arrow cannot open every path: not one with characters that the locale's encoding lacks.
                with (complete / f"{name}.parquet").open("wb") as file:
                    pq.write_table(table, file, compression="zstd")
            text = json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
            (complete / MANIFEST).write_text(text, encoding="utf-8")
            for name, content in (files or {}).items():
                (complete / name).parent.mkdir(parents=True, exist_ok=True)
                (complete / name).write_bytes(content)
            replace_directory(complete, directory)
    except OSError as error:
        raise ResultsError(f"{directory}: cannot be written: {error.strerror or error}") from error


@contextmanager
def reserved_directory(directory: Path | None, kind: str | None = None) -> Iterator[None]:
    """Check that results can be written to a directory, and lock it until they are.

    Args:
        directory: the target directory; None to do nothing.
        kind: the kind in the manifest; None for runs.

    Yields:
        Nothing.

    Raises:
        ResultsError: it has other content, cannot be created, or another process writes to it.
    """
    if directory is None:
        yield
        return
    check_writable(directory, kind)
    with ExitStack() as stack:
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(output_lock(directory))
        except OSError as error:
            raise ResultsError(f"{directory}: cannot be written: {error.strerror or error}") from error
        yield


def check_writable(directory: Path, kind: str | None = None) -> None:
    """Check that results can be written to a directory: it does not exist, is empty, or has results of the same kind.

    Args:
        directory: the target directory.
        kind: the kind in the manifest; None for runs.

    Raises:
        ResultsError: it has other content, or cannot be created.
    """
    if (scheme := re.match(r"(\w{2,}):/", str(directory))) is not None:
        raise ResultsError(f"{directory}: is not a local folder, but an address ({scheme[1]}:); choose another --out")
    absolute = without_link(directory.absolute())
    parent = next((path for path in absolute.parents if path.exists()), absolute)
    if not parent.is_dir():
        raise ResultsError(f"{directory}: cannot be written: {parent} is not a directory; choose another --out")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ResultsError(f"{directory}: cannot be written: no permission to write to {parent}; choose another --out")
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return
    try:
        existing_kind = json.loads(read_document(directory / MANIFEST)).get("kind")
    except (OSError, ValueError, AttributeError, RecursionError):
        raise ResultsError(f"{directory}: exists and is not a result directory; choose another --out") from None
    if existing_kind != kind:
        content = f"a {existing_kind}" if existing_kind else "runs"
        raise ResultsError(f"{directory}: exists and contains {content}; choose another --out")


@dataclass(frozen=True, slots=True)
class ResultFormat:
    """What a result directory of one kind holds.

    Attributes:
        kind: the kind in the manifest; None for runs.
        title: name of the kind, for messages.
        schemas: the tables by name; further tables of a directory are not read.
        rules: the rules of each table.
        references: references between the tables.
        manifest: returns the pydantic model of the manifest, which is imported only when results are read.
        remedy: how to write such results again.
    """

    kind: str | None
    title: str
    schemas: Mapping[str, pa.Schema]
    rules: Mapping[str, TableRules]
    references: Sequence[Reference]
    manifest: Callable[[], type[BaseModel]]
    remedy: str


def _run_manifest() -> type[BaseModel]:
    from simulator.results.stored_manifest import RunManifest

    return RunManifest


RUNS_FORMAT: Final = ResultFormat(
    None, "runs", SCHEMAS, RULES, REFERENCES, _run_manifest, "run the scenario again with this version"
)
"""The results of `assignor-sim run --out`."""


def read_results(directory: Path, expected: ResultFormat = RUNS_FORMAT) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Read a result directory; warn if an earlier release wrote it with keys that were renamed since.

    Readers need no further checks: manifest, columns, types, nulls, numbers and references between tables are valid.
    A table may be missing, because an earlier release did not write it.

    Args:
        directory: the directory, possibly of an unknown author.
        expected: what it should hold.

    Returns:
        The tables with current names and columns, and the manifest.

    Raises:
        ResultsError: the directory does not hold such results; names the file, the column and what would be right.
    """
    try:
        manifest = _read_manifest(directory, expected)
        files = {path.stem: path for path in sorted(directory.glob("*.parquet"))}
        known = {name: path for name, path in files.items() if RENAMED_TABLES.get(name, name) in expected.schemas}
        read = {name: read_table(path) for name, path in known.items()}
        tables = rename_tables(read, str(directory))
        paths = {RENAMED_TABLES.get(name, name): path for name, path in known.items()} | known
        empty = TableRules()
        for name, table in tables.items():
            rules = expected.rules.get(name, empty)
            tables[name] = check_schema(paths[name], table, expected.schemas[name], rules, expected.remedy)
        check_relations(paths.__getitem__, tables, expected.rules, expected.references)
    except FileNotFoundError as error:
        problem = f"no {MANIFEST}" if directory.is_dir() else "no such directory"
        raise ResultsError(f"{directory}: not a result directory: {problem}") from error
    except OSError as error:
        place = directory / MANIFEST if directory.is_dir() else directory
        raise ResultsError(f"{place}: not a result directory: {error.strerror or error}") from error
    except TableMistake as error:
        raise ResultsError(str(error)) from error
    if expected is RUNS_FORMAT and "runs" in tables:
        _check_labels(directory, tables["runs"], manifest)
    return tables, manifest


def _read_manifest(directory: Path, expected: ResultFormat) -> dict[str, Any]:
    from simulator.results.json_documents import JsonError, read_json, validated

    file = directory / MANIFEST
    try:
        manifest = read_json(read_document(file))
        if not isinstance(manifest, dict):
            raise JsonError("expected an object")
        kind = manifest.get("kind")
        if kind != expected.kind:
            found = f"'{kind}'" if isinstance(kind, str) else "runs" if kind is None else "another kind"
            raise JsonError(f"kind: holds {found}, expected {expected.title}")
        validated(expected.manifest(), manifest)
    except (JsonError, UnicodeDecodeError) as error:
        raise ResultsError(f"{file}: not a result directory: {error}") from None
    return manifest


def _check_labels(directory: Path, runs: pa.Table, manifest: Mapping[str, Any]) -> None:
    labels = {assignor["label"] for assignor in manifest["assignors"]}
    unknown = sorted(set(runs["assignor"].unique().to_pylist()) - labels)
    if unknown:
        raise ResultsError(
            f"{directory / MANIFEST}: assignors: none has the label {ascii(unknown[0])[:60]} of runs.parquet"
        )
