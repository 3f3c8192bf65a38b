"""Simulation of runs on a Spark executor: takes one row per run, returns its result tables. Does not import Spark.

If a run fails (its setting is invalid, or its custom assignor fails), its row has the error, and the other runs
continue.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from assignors import registry
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.registry import AssignorLike
from scenarios.load import AssignorSpec, Scenario, loads
from scenarios.run import run
from simulator.results.tables import SCHEMAS
from simulator.results.tabulation import tabulate

RUN_SCHEMA = pa.schema(
    [
        ("chunk", pa.int64()),
        ("position", pa.int64()),
        ("run_id", pa.string()),
        ("setting", pa.int64()),
        ("overrides", pa.string()),
        ("assignor", pa.string()),
        ("seed", pa.int64()),
    ]
)
"""One row per run. `position` is its place in the sweep, `run_id` a hash of its inputs, `overrides` a JSON list of
pairs (path, value), `assignor` a label of the scenario or of `SweepInputs.assignors`, or a registered name."""

_CACHED_SCENARIOS = 4
_NO_FOLDER = Path(os.devnull)
"""The folder of a scenario without imported files: relative paths in it never exist, whatever the working directory."""


@dataclass(frozen=True, slots=True)
class SweepInputs:
    """Inputs that all runs of a sweep share.

    Attributes:
        name: name of the scenario in messages.
        text: YAML of the scenario.
        folder: folder of the scenario among `files`, as a relative path.
        files: imported files of the scenario, as pairs (relative path, content).
        tables: names of the tables to return for each run.
        assignors: pickled assignors that were passed as objects, as pairs (label, pickle of registration and
            parameters).
    """

    name: str
    text: str
    folder: str
    files: tuple[tuple[str, bytes], ...]
    tables: tuple[str, ...]
    assignors: tuple[tuple[str, bytes], ...] = ()
    limits: CallLimits = DEFAULT_LIMITS


def pickle_assignors(assignors: Sequence[AssignorLike], labels: Sequence[str]) -> tuple[tuple[str, bytes], ...]:
    """Return the assignors that are objects, not names, in the form of `SweepInputs.assignors`.

    `labels`: their labels, in the same order. Returns pairs (label, pickle); none for names. Raises ValueError if an
    assignor cannot be pickled; the message says how to write one that can.
    """
    pickled = []
    for assignor, label in zip(assignors, labels, strict=True):
        if isinstance(assignor, str):
            continue
        try:
            resolved = registry.resolve(assignor)
            pickled.append((label, pickle.dumps((resolved.info, dict(resolved.parameters)))))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"assignor '{label}' cannot be sent to other processes ({error}): define it in a module that they can "
                "import, not in a notebook cell or inside a function"
            ) from error
    return tuple(pickled)


def outcome_schema(tables: Sequence[str]) -> pa.Schema:
    """Return the schema of a worker's output: one row per run, each of its tables as a list of structs."""
    lists = [pa.field(name, pa.list_(pa.struct(list(_without_metadata(SCHEMAS[name]))))) for name in tables]
    fixed = [pa.field("position", pa.int64()), pa.field("run_id", pa.string()), pa.field("setting", pa.int64())]
    return pa.schema([*fixed, pa.field("error", pa.string()), *lists])


def simulate_chunks(sweep_inputs: SweepInputs, chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Simulate every run of some chunks.

    `chunks`: rows of `RUN_SCHEMA`, in any order. Yields rows of `outcome_schema(sweep_inputs.tables)`, by position.
    """
    for chunk in chunks:
        rows = sorted(chunk.to_pylist(), key=lambda row: int(row["position"]))
        if rows:
            yield _outcomes(sweep_inputs, rows, [_run_row(sweep_inputs, row) for row in rows])


def simulate_chunks_on_executor(
    sweep_inputs: SweepInputs, chunks: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Simulate chunks as `simulate_chunks` does, in a process that PySpark reuses for many tasks.

    PySpark collects garbage after every task. That takes 50 ms because of the objects of the loaded modules, an eighth
    of the time of a chunk, so they are excluded. `sweep_inputs`: inputs that the runs share; `chunks`: rows of
    `RUN_SCHEMA`, in any order. Yields rows of `outcome_schema(sweep_inputs.tables)`, by position.
    """
    yield from simulate_chunks(sweep_inputs, chunks)
    exclude_modules_from_collection(len(sys.modules))


@lru_cache(maxsize=1)
def exclude_modules_from_collection(loaded: int) -> None:
    """Exclude all live objects from later garbage collections of this process.

    `loaded`: number of loaded modules; nothing happens if it is that of the last call.
    """
    gc.collect()
    gc.freeze()


def _run_row(sweep_inputs: SweepInputs, row: Mapping[str, Any]) -> tuple[dict[str, pa.Table], str | None]:
    """Return the tables of a run and None, or empty tables and the error."""
    try:
        scenario = _scenario(sweep_inputs, row["overrides"])
        spec = _assignor_spec(sweep_inputs, scenario, row["assignor"])
        trace = run(scenario, spec, row["seed"])
        if trace.failure is not None and not registry.is_built_in(spec.info):
            return _failed_run(sweep_inputs, row), trace.failure
        tables = tabulate(trace, spec.label, row["seed"])
        return {name: tables[name] for name in sweep_inputs.tables}, None
    except (Exception, SystemExit) as error:
        return _failed_run(sweep_inputs, row), f"{type(error).__name__}: {error}"


def _assignor_spec(sweep_inputs: SweepInputs, scenario: Scenario, label: str) -> AssignorSpec:
    pickled = dict(sweep_inputs.assignors).get(label)
    if pickled is None:
        return replace(scenario.assignor_spec(label), limits=sweep_inputs.limits)
    info, parameters = pickle.loads(pickled)
    return AssignorSpec(label, info, parameters, scenario.assignment_configs, limits=sweep_inputs.limits)


@lru_cache(_CACHED_SCENARIOS)
def _scenario(sweep_inputs: SweepInputs, overrides: str) -> Scenario:
    """Load the scenario in one setting, from temporary copies of its files."""
    if not sweep_inputs.files:
        return _load_in(_NO_FOLDER, sweep_inputs, overrides)
    with tempfile.TemporaryDirectory(prefix="assignor-sim-", dir=_executor_folder()) as root:
        for name, content in sweep_inputs.files:
            file = Path(root) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        # The folder must exist for `..` in paths of imports to resolve.
        Path(root, sweep_inputs.folder).mkdir(parents=True, exist_ok=True)
        return _load_in(Path(root), sweep_inputs, overrides)


def _load_in(root: Path, sweep_inputs: SweepInputs, overrides: str) -> Scenario:
    changes = [(path, value) for path, value in json.loads(overrides)]
    try:
        return loads(sweep_inputs.text, sweep_inputs.name, changes, root / sweep_inputs.folder)
    except ValueError as error:
        raise ValueError(str(error).replace(f"{root}/", "")) from None


def _executor_folder() -> str | None:
    """Return the folder that Spark removes when the executor stops, even if it has killed this worker; None without.

    Source: `BasePythonRunner` of Spark 4 sets the variable to the folders of the executor's block manager.
    """
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return folder if folder and os.path.isdir(folder) else None


def _failed_run(sweep_inputs: SweepInputs, row: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Return empty tables, except for a row in `runs` with the key of the run."""
    tables = {name: SCHEMAS[name].empty_table() for name in sweep_inputs.tables}
    key = {"scenario": Path(sweep_inputs.name).stem, "assignor": row["assignor"], "seed": row["seed"]}
    return tables | {"runs": pa.Table.from_pylist([key], schema=SCHEMAS["runs"])}


def _outcomes(
    sweep_inputs: SweepInputs,
    rows: Sequence[Mapping[str, Any]],
    results: Sequence[tuple[dict[str, pa.Table], str | None]],
) -> pa.RecordBatch:
    schema = outcome_schema(sweep_inputs.tables)
    columns = [
        *(pa.array([row[name] for row in rows], schema.field(name).type) for name in ("position", "run_id", "setting")),
        pa.array([error for _, error in results], pa.string()),
        *(_nested([tables[name] for tables, _ in results]) for name in sweep_inputs.tables),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _nested(parts: Sequence[pa.Table]) -> pa.ListArray:
    """Return one list of structs for each table."""
    offsets = np.concatenate(([0], np.cumsum([part.num_rows for part in parts]))).astype(np.int32)
    whole = pa.concat_tables(parts).combine_chunks()
    columns = [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in whole.columns]
    rows = pa.StructArray.from_arrays(columns, fields=list(_without_metadata(whole.schema)))
    return pa.ListArray.from_arrays(pa.array(offsets), rows)


def _without_metadata(schema: pa.Schema) -> Iterator[pa.Field]:
    return (pa.field(field.name, field.type) for field in schema)
