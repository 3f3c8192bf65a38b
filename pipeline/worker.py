"""What a Spark worker does: rows that say what to run in, rows with what came of it out. Knows nothing of Spark.

A run that fails, be it that its setting makes no scenario or that an assignor breaks, gives a row with its error and
disturbs nobody else.
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

from scenarios.assignor_specs import assignor_specs
from scenarios.load import Scenario, loads
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
"""A row a run: its place in the sweep, its content's hash, and what is to be done. Overrides are JSON, a list of pairs
of path and value; the assignor is a label of the scenario or a name."""

_KEPT_SCENARIOS = 4


@dataclass(frozen=True, slots=True)
class SweepInputs:
    """What all runs of a sweep have in common.

    Attributes:
        name: what messages call the scenario.
        text: the scenario's YAML.
        folder: where it stands among the files, as a relative path.
        files: what the scenario names, by relative path.
        tables: what is wanted of each run.
    """

    name: str
    text: str
    folder: str
    files: tuple[tuple[str, bytes], ...]
    tables: tuple[str, ...]


def outcome_schema(tables: Sequence[str]) -> pa.Schema:
    """What a worker gives: a row a run, with the rows of each of its tables as a list of structs."""
    lists = [pa.field(name, pa.list_(pa.struct(list(_plain(SCHEMAS[name]))))) for name in tables]
    fixed = [pa.field("position", pa.int64()), pa.field("run_id", pa.string()), pa.field("setting", pa.int64())]
    return pa.schema([*fixed, pa.field("error", pa.string()), *lists])


def simulate_chunks(sweep_inputs: SweepInputs, chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make every run of some chunks.

    Args:
        recipe: what the runs have in common.
        chunks: rows of `RUN_TABLE`, in any order.

    Yields:
        Rows of `outcome_schema(recipe.tables)`, in the order of their positions.
    """
    for chunk in chunks:
        rows = sorted(chunk.to_pylist(), key=lambda row: int(row["position"]))
        if rows:
            yield _outcomes(sweep_inputs, rows, [_attempt(sweep_inputs, row) for row in rows])


def _attempt(sweep_inputs: SweepInputs, row: Mapping[str, Any]) -> tuple[dict[str, pa.Table], str | None]:
    """The tables of a run, or why there are none."""
    try:
        scenario = _scenario(sweep_inputs, row["overrides"])
        (one,) = assignor_specs(scenario, [row["assignor"]])
        made = tabulate(run(scenario, one, row["seed"]), one.choice.label, row["seed"])
        return {name: made[name] for name in sweep_inputs.tables}, None
    except (Exception, SystemExit) as error:
        return _nothing(sweep_inputs, row), f"{type(error).__name__}: {error}"


@lru_cache(_KEPT_SCENARIOS)
def _scenario(sweep_inputs: SweepInputs, overrides: str) -> Scenario:
    """The scenario in one setting, read from files that are there only meanwhile."""
    changes = [(path, value) for path, value in json.loads(overrides)]
    with tempfile.TemporaryDirectory(prefix="assignor-sim-") as here:
        for name, content in sweep_inputs.files:
            file = Path(here) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        # Without the folder itself, no path leads up from it.
        Path(here, sweep_inputs.folder).mkdir(parents=True, exist_ok=True)
        try:
            return loads(sweep_inputs.text, sweep_inputs.name, changes, Path(here) / sweep_inputs.folder)
        except ValueError as error:
            raise ValueError(str(error).replace(f"{here}/", "")) from None


def _nothing(sweep_inputs: SweepInputs, row: Mapping[str, Any]) -> dict[str, pa.Table]:
    """No rows, but one among the runs that says who failed."""
    tables = {name: SCHEMAS[name].empty_table() for name in sweep_inputs.tables}
    key = {"scenario": Path(sweep_inputs.name).stem, "assignor": row["assignor"], "seed": row["seed"]}
    return tables | {"runs": pa.Table.from_pylist([key], schema=SCHEMAS["runs"])}


def _outcomes(
    sweep_inputs: SweepInputs, rows: Sequence[Mapping[str, Any]], made: Sequence[tuple[dict[str, pa.Table], str | None]]
) -> pa.RecordBatch:
    schema = outcome_schema(sweep_inputs.tables)
    columns = [
        *(pa.array([row[name] for row in rows], schema.field(name).type) for name in ("position", "run_id", "setting")),
        pa.array([error for _, error in made], pa.string()),
        *(_nested([tables[name] for tables, _ in made]) for name in sweep_inputs.tables),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _nested(parts: Sequence[pa.Table]) -> pa.ListArray:
    """One list of structs for each table."""
    offsets = np.concatenate(([0], np.cumsum([part.num_rows for part in parts]))).astype(np.int32)
    whole = pa.concat_tables(parts).combine_chunks()
    columns = [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in whole.columns]
    rows = pa.StructArray.from_arrays(columns, fields=list(_plain(whole.schema)))
    return pa.ListArray.from_arrays(pa.array(offsets), rows)


def _plain(schema: pa.Schema) -> Iterator[pa.Field]:
    return (pa.field(field.name, field.type) for field in schema)
