"""Simulation in Spark workers: rows that describe runs in, rows with results out; does not import Spark.

A run that fails, because its setting is invalid or its assignor raises an error, yields a row with the error and does
not affect other runs.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from scenarios.assignor_specs import assignor_specs, run
from scenarios.load import Scenario, loads
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
"""One row per run: chunk, position in the sweep, hash of its content, and what to run.

`overrides` is JSON, a list of pairs of path and value; `assignor` is a label of the scenario or a name.
"""

_CACHED_SCENARIOS = 4


@dataclass(frozen=True, slots=True)
class SweepInputs:
    """What all runs of a sweep have in common.

    Attributes:
        name: name of the scenario in messages.
        text: YAML of the scenario.
        folder: folder of the scenario relative to the files.
        files: content of the imported files by relative path.
        tables: names of the result tables.
    """

    name: str
    text: str
    folder: str
    files: tuple[tuple[str, bytes], ...]
    tables: tuple[str, ...]


def outcome_schema(tables: Sequence[str]) -> pa.Schema:
    """Return the schema of the results: one row per run, with the rows of each table as a list of structs."""
    lists = [pa.field(name, pa.list_(pa.struct(list(_plain(SCHEMAS[name]))))) for name in tables]
    fixed = [pa.field("position", pa.int64()), pa.field("run_id", pa.string()), pa.field("setting", pa.int64())]
    return pa.schema([*fixed, pa.field("error", pa.string()), *lists])


def simulate_chunks(sweep_inputs: SweepInputs, chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Simulate all runs of chunks.

    Args:
        sweep_inputs: what the runs have in common.
        chunks: rows of `RUN_SCHEMA`, in any order.

    Yields:
        Rows of `outcome_schema(sweep_inputs.tables)`, sorted by position in each chunk.
    """
    for chunk in chunks:
        rows = sorted(chunk.to_pylist(), key=lambda row: int(row["position"]))
        if rows:
            yield _outcomes(sweep_inputs, rows, [_simulate(sweep_inputs, row) for row in rows])


def _simulate(sweep_inputs: SweepInputs, row: Mapping[str, Any]) -> tuple[dict[str, pa.Table], str | None]:
    """Return the tables of a run and None, or empty tables and the error."""
    try:
        scenario = _scenario(sweep_inputs, row["overrides"])
        (one,) = assignor_specs(scenario, [row["assignor"]])
        made = tabulate(run(scenario, one, row["seed"]), one.choice.label, row["seed"])
        return {name: made[name] for name in sweep_inputs.tables}, None
    except (Exception, SystemExit) as error:
        return _failed_run(sweep_inputs, row), f"{type(error).__name__}: {error}"


@lru_cache(_CACHED_SCENARIOS)
def _scenario(sweep_inputs: SweepInputs, overrides: str) -> Scenario:
    """Load the scenario in one setting from temporary copies of its files.

    Returns:
        The scenario.

    Raises:
        ValueError: the setting is invalid.
    """
    changes = [(path, value) for path, value in json.loads(overrides)]
    with tempfile.TemporaryDirectory(prefix="assignor-sim-") as folder:
        for name, content in sweep_inputs.files:
            file = Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        # Relative paths with `..` need the folder to exist.
        Path(folder, sweep_inputs.folder).mkdir(parents=True, exist_ok=True)
        try:
            return loads(sweep_inputs.text, sweep_inputs.name, changes, Path(folder) / sweep_inputs.folder)
        except ValueError as error:
            raise ValueError(str(error).replace(f"{folder}/", "")) from None


def _failed_run(sweep_inputs: SweepInputs, row: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Return empty tables with a single row in `runs` that identifies the failed run."""
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
    """Return one list of structs per table."""
    offsets = np.concatenate(([0], np.cumsum([part.num_rows for part in parts]))).astype(np.int32)
    whole = pa.concat_tables(parts).combine_chunks()
    columns = [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in whole.columns]
    rows = pa.StructArray.from_arrays(columns, fields=list(_plain(whole.schema)))
    return pa.ListArray.from_arrays(pa.array(offsets), rows)


def _plain(schema: pa.Schema) -> Iterator[pa.Field]:
    return (pa.field(field.name, field.type) for field in schema)
