"""Synthetic sweep directories, in the format of `assignor-sim sweep`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from simulator.results.tables import RUNS

Row = dict[str, Any]


def run(setting: int, assignor: str, seed: int, *, error: str | None = None, **columns: Any) -> Row:
    """Return a row of `runs`: by default a run that converged immediately; other columns are unknown."""
    defaults: Row = (
        {} if error else {"verdict": "stable", "active_moves": 0, "downtime_ms": 0, "time_to_converge_ms": 0}
    )
    return (
        {"scenario": "s", "setting": setting, "assignor": assignor, "seed": seed, "error": error} | defaults | columns
    )


def write_sweep(
    root: Path,
    settings: Sequence[Mapping[str, Any]],
    runs: Sequence[Row],
    *,
    name: str = "weights",
    scenario: str = "orders",
    text: str = "name: orders",
    baseline: str = "ha",
    planned: int | None = None,
) -> str:
    """Write a sweep with one setting per row of `settings` and two batches of runs; return its directory."""
    factors = list(settings[0]) if settings else []
    kinds = {
        factor: "text" if any(isinstance(setting[factor], str) for setting in settings) else "number"
        for factor in factors
    }
    manifest = {
        "kind": "sweep",
        "name": name,
        "text": "",
        "scenario": {
            "name": scenario,
            "text": text,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "imports": {},
        },
        "factors": [
            {"name": factor, "paths": [f"configs.{factor}"], "kind": kinds[factor], "unit": None} for factor in factors
        ],
        "changes": [],
        "assignors": sorted({row["assignor"] for row in runs} | {baseline}),
        "seeds": sorted({row["seed"] for row in runs}),
        "baseline": baseline,
        "tables": ["runs", "rounds"],
        "runs": len(runs) if planned is None else planned,
        "command": "",
        "versions": {},
    }
    root.mkdir(parents=True)
    (root / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    columns: dict[str, pa.Array] = {"setting": pa.array(range(len(settings)), pa.int64())}
    for factor in factors:
        kind = pa.float64() if kinds[factor] == "number" else pa.string()
        columns[factor] = pa.array([setting[factor] for setting in settings], kind)
    _write(root / "settings" / "part-0.parquet", pa.table(columns))
    schema = pa.schema([("run_id", pa.string()), ("setting", pa.int64()), *RUNS, ("error", pa.string())])
    numbered = [row | {"run_id": f"{number:04}"} for number, row in enumerate(runs)]
    half = len(runs) // 2
    for batch, rows in enumerate((numbered[half:], numbered[:half])):
        _write(root / "runs" / f"batch={batch:05}" / "part-0.parquet", pa.Table.from_pylist(rows, schema=schema))
    return str(root)


def _write(file: Path, table: pa.Table) -> None:
    file.parent.mkdir(parents=True)
    pq.write_table(table, file)
