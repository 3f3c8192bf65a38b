"""Result directories: the tables as Parquet files, and a manifest that describes the runs.

Everything is written to a directory next to the target, which then takes its place (see `output_lock`). So a killed run
leaves the old results or the new ones.

The result tables of runs have rules: nulls, values, keys, and references between tables.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AfterValidator, Field

from simulator.results.files import local_target, output_lock, read_document, replace_directory
from simulator.results.schema_checks import (
    MAX_ROWS,
    Reference,
    SchemaError,
    StoredRecord,
    TableRules,
    check_kind,
    check_record,
    check_relations,
    check_schema,
    read_json,
    read_table,
)
from simulator.results.tables import SCHEMAS
from simulator.results.verdict import Verdict

RUN: Final = ("scenario", "assignor", "seed")
"""The columns that identify a run."""

_VERDICTS: Final = frozenset(map(str, Verdict))
_ROLES: Final = frozenset({"active", "standby"})
_SCALERS: Final = frozenset({"HPA", "KEDA"})
_STATES: Final = frozenset({"unassigned", "assigned", "restoring", "running", "blocked", "revoked"})
_MOVE_REASONS: Final = frozenset(
    name.removeprefix("moves_") for name in SCHEMAS["runs"].names if name.startswith("moves_")
)
_NEVER_NULL_IN_RUNS: Final = frozenset((*RUN, "verdict"))
_NEVER_NULL_IN_REASONS: Final = frozenset((*RUN, "round", "task", "role", "step", "kind"))
_NEVER_NULL_IN_NEIGHBORS: Final = frozenset((*RUN, "application", "neighbor", "verdict"))
_UNKNOWN_WITHOUT_RACKS: Final = frozenset(
    name for name in SCHEMAS["rounds"].names if name.startswith("cross_rack_") or name.endswith("_rack_redundancy")
)
_COSTS: Final = frozenset(
    (
        "stateful_cost",
        "stateless_cost",
        "standby_cost",
        "total_cost",
        "total_cost_bound",
        "worst_total_cost",
        "worst_total_cost_bound",
    )
)


def _all_but(table: str, never_null: frozenset[str]) -> frozenset[str]:
    return frozenset(SCHEMAS[table].names) - never_null


RULES: Final[Mapping[str, TableRules]] = MappingProxyType(
    {
        "runs": TableRules(_all_but("runs", _NEVER_NULL_IN_RUNS), {"verdict": _VERDICTS}, _COSTS, RUN),
        "rounds": TableRules(_COSTS | _UNKNOWN_WITHOUT_RACKS | {"followup_delay_ms"}, {}, _COSTS, (*RUN, "round")),
        "tasks": TableRules(frozenset({"unqueryable_ms"}), key=(*RUN, "task")),
        "assignments": TableRules(values={"role": _ROLES}, key=(*RUN, "round", "task", "client")),
        "moves": TableRules(
            frozenset({"from_client", "to_client", "reason"}),
            {"role": _ROLES, "reason": _MOVE_REASONS},
        ),
        "task_states": TableRules(frozenset({"client"}), {"state": _STATES}),
        "traffic": TableRules(frozenset({"from_rack", "to_rack"})),
        "other_traffic": TableRules(frozenset({"name", "from_rack", "to_rack"})),
        "clients": TableRules(frozenset({"rack", "from_round", "until_round"})),
        "reasons": TableRules(
            _all_but("reasons", _NEVER_NULL_IN_REASONS),
            {"role": _ROLES},
            frozenset({"lag_from", "lag_to", "acceptable_lag", "break_even", "held", "room"}),
        ),
        "cycles": TableRules(
            frozenset({"cycle_break_even"}),
            {"role": _ROLES},
            frozenset({"traffic_from", "traffic_to", "non_overlap_cost", "cost", "cycle_cost", "cycle_break_even"}),
        ),
        "proofs": TableRules(
            signed=frozenset({"total_cost_bound", "relaxed_total_cost_bound", "best_known_total_cost"}),
            key=(*RUN, "round"),
        ),
        "thread_loads": TableRules(frozenset({"max_records_per_s", "behind_since_ms"}), key=(*RUN, "client", "thread")),
        "overloads": TableRules(frozenset({"until_ms", "all_max_records_per_s"}), key=(*RUN, "from_ms")),
        "losses": TableRules(),
        "unavailable_partitions": TableRules(),
        "events": TableRules(frozenset({"number"})),
        "convergence": TableRules(
            frozenset({"time_to_converge_ms", "cut_short_by"}), {"verdict": _VERDICTS}, key=(*RUN, "number")
        ),
        "scaling": TableRules(values={"scaler": _SCALERS}),
        "scaled_rounds": TableRules(values={"scaler": _SCALERS}),
        "time_ranges": TableRules(
            _all_but("time_ranges", frozenset((*RUN, "uncertainty"))), signed=frozenset({"caught_up_after_ms"})
        ),
        "neighbors": TableRules(_all_but("neighbors", _NEVER_NULL_IN_NEIGHBORS), {"verdict": _VERDICTS}),
    }
)
"""The rules of each table in `SCHEMAS`."""


def _references() -> Iterator[Reference]:
    for table in SCHEMAS:
        if table != "runs":
            yield Reference(table, RUN, "runs", RUN)
    for table in ("assignments", "moves", "traffic", "reasons", "cycles", "proofs", "scaled_rounds"):
        yield Reference(table, (*RUN, "round"), "rounds", (*RUN, "round"))
    for column in ("deciding_round", "worst_cost_round"):
        yield Reference("runs", (*RUN, column), "rounds", (*RUN, "round"))
    for table in ("assignments", "moves", "task_states", "overloads", "reasons", "cycles"):
        yield Reference(table, (*RUN, "task"), "tasks", (*RUN, "task"))
    clients = {
        "assignments": ("client",),
        "moves": ("from_client", "to_client"),
        "task_states": ("client",),
        "thread_loads": ("client",),
        "overloads": ("client",),
        "reasons": ("from_client", "to_client", "step_from", "step_to"),
        "cycles": ("from_client", "to_client"),
    }
    for table, columns in clients.items():
        for column in columns:
            yield Reference(table, (*RUN, column), "clients", (*RUN, "client"))
    yield Reference("reasons", (*RUN, "round", "cycle"), "cycles", (*RUN, "round", "cycle"))
    yield Reference("convergence", (*RUN, "cut_short_by"), "convergence", (*RUN, "number"))


REFERENCES: Final = tuple(_references())
"""References between the tables in `SCHEMAS`, on which their readers rely."""


MANIFEST = "manifest.json"


def _relative(path: str) -> str:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or "\0" in path or not parts.name:
        raise ValueError("must be a path inside the result directory")
    return path


def _override(text: str) -> str:
    if "=" not in text:
        raise ValueError("must be PATH=VALUE")
    return text


Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]


class ScenarioRecord(StoredRecord):
    """The scenario of the runs."""

    name: str
    text: str
    file: Annotated[str, AfterValidator(_relative)]
    sha256: str
    imports: dict[str, str]
    renamed: list[str]
    inferred: list[str]
    warnings: list[str]
    overrides: list[Annotated[str, AfterValidator(_override)]]


class GroupRecord(StoredRecord):
    """The timeouts and members of the group of an assignor's runs."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    has_leave_config: bool
    static: list[str]
    of_consumers: bool


class AssignorRecord(StoredRecord):
    """An assignor of the runs."""

    label: str
    assignor: str
    kafka_version: str | None
    parameters: dict[str, Any]
    configs: dict[str, Any]
    protocol: str
    broker_release: str | None
    client_release: str | None
    group: GroupRecord
    unused: list[str]
    ignored: list[str]
    refused: list[str]


class RunManifest(StoredRecord):
    """The manifest of the results of runs."""

    scenario: ScenarioRecord
    assignors: Annotated[list[AssignorRecord], Field(min_length=1)]
    seeds: Annotated[list[Seed], Field(min_length=1)]
    command: str
    model: int
    versions: dict[str, str]
    proofs: dict[str, int | float] | None = None


class ResultsError(Exception):
    """A directory that cannot be written, or is not a valid result directory; the message says where and why."""


def write_results(
    directory: Path,
    tables: Mapping[str, pa.Table],
    manifest: Mapping[str, Any],
    files: Mapping[str, bytes] | None = None,
) -> None:
    """Write a result directory, replacing earlier results; the same input gives the same bytes.

    `directory`: the target, created if it does not exist; `tables`: the tables by name, written as NAME.parquet;
    `manifest`: how the tables were computed, as JSON values; `files`: other files of the results, by relative path.
    Raises ResultsError if the directory has content other than results of this kind, or cannot be written; a table has
    more than `MAX_ROWS` rows.
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

    `directory`: the target directory; None to do nothing. `kind`: the kind in the manifest; None for runs. Raises
    ResultsError if it has other content, cannot be created, or another process writes to it.
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

    `kind`: the kind in the manifest; None for runs. Raises ResultsError if it has other content, or cannot be created.
    """
    try:
        target = local_target(directory)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise  # The command line shortens the name.
        raise ResultsError(f"{directory}: cannot be written: {error.strerror}; choose another --out") from None
    parent = next((path for path in target.parents if path.exists()), target)
    if not parent.is_dir():
        raise ResultsError(f"{directory}: cannot be written: {parent} is not a directory; choose another --out")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ResultsError(f"{directory}: cannot be written: no permission to write to {parent}; choose another --out")
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return
    existing_kind = stored_kind(directory)
    if existing_kind is None:
        raise ResultsError(f"{directory}: exists and is not a result directory; choose another --out")
    if existing_kind != (kind or "runs"):
        content = "runs" if existing_kind == "runs" else f"a {existing_kind}"
        raise ResultsError(f"{directory}: exists and contains {content}; choose another --out")


def stored_kind(directory: Path) -> str | None:
    """Return the kind of results in a directory: `runs` without one in the manifest; None without a valid manifest."""
    try:
        manifest = json.loads(read_document(directory / MANIFEST))
    except (OSError, ValueError, RecursionError):
        return None
    return str(manifest.get("kind") or "runs") if isinstance(manifest, dict) else None


@dataclass(frozen=True, slots=True)
class ResultFormat:
    """What a result directory of one kind holds.

    Attributes:
        kind: the kind in the manifest; None for runs.
        title: name of the kind, for messages.
        schemas: the tables by name; further files of a directory are not read.
        references: references between the tables.
        remedy: how to write such results again.
    """

    kind: str | None
    title: str
    schemas: Mapping[str, pa.Schema]
    rules: Mapping[str, TableRules]
    references: Sequence[Reference]
    manifest: type[StoredRecord]
    remedy: str


RUNS_FORMAT: Final = ResultFormat(
    None, "runs", SCHEMAS, RULES, REFERENCES, RunManifest, "run the scenario again with this version"
)
"""The results of `assignor-sim run --out`."""


def read_results(directory: Path, expected: ResultFormat = RUNS_FORMAT) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Read a result directory.

    Readers need no further checks: manifest, columns, types, nulls, numbers and references between tables are valid.
    `directory`: the directory, possibly of an unknown author; `expected`: what it should hold. Returns the tables and
    the manifest. Raises ResultsError if the directory does not hold such results; the message names the file, the
    column and what would be right.
    """
    try:
        manifest = _read_manifest(directory / MANIFEST, expected)
        files = {name: directory / f"{name}.parquet" for name in expected.schemas}
        tables = {name: read_table(path) for name, path in files.items()}
        empty = TableRules()
        for name, table in tables.items():
            rules = expected.rules.get(name, empty)
            tables[name] = check_schema(files[name], table, expected.schemas[name], rules, expected.remedy)
        check_relations(files.__getitem__, tables, expected.rules, expected.references)
    except FileNotFoundError as error:
        if (directory / MANIFEST).exists():
            raise ResultsError(f"{error.filename}: {error.strerror}; {expected.remedy}") from error
        problem = f"no {MANIFEST}" if directory.is_dir() else "no such directory"
        raise ResultsError(f"{directory}: not a result directory: {problem}") from error
    except OSError as error:
        place = directory / MANIFEST if directory.is_dir() else directory
        raise ResultsError(f"{place}: not a result directory: {error.strerror or error}") from error
    except SchemaError as error:
        raise ResultsError(str(error)) from error
    if expected is RUNS_FORMAT:
        _check_labels(directory, tables["runs"], manifest)
    return tables, manifest


def _read_manifest(file: Path, expected: ResultFormat) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = read_json(read_document(file))
        check_kind(manifest, expected.kind, expected.title)
        check_record(expected.manifest, manifest)
    except (SchemaError, UnicodeDecodeError) as error:
        raise ResultsError(f"{file}: not a result directory: {error}") from None
    return manifest


def _check_labels(directory: Path, runs: pa.Table, manifest: Mapping[str, Any]) -> None:
    labels = {assignor["label"] for assignor in manifest["assignors"]}
    unknown = sorted(set(runs["assignor"].unique().to_pylist()) - labels)
    if unknown:
        raise ResultsError(
            f"{directory / MANIFEST}: assignors: none has the label {ascii(unknown[0])[:60]} of runs.parquet"
        )
