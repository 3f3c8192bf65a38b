"""Sweep directories and their aggregates."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from reports.analysis.comparison import TableError
from reports.analysis.sweeps.aggregated_sweep import read_sweep
from reports.analysis.sweeps.sweep_directory import SWEEP_KIND, read_aggregate
from reports.render.sweep_page import sweep_sections
from simulator.results.result_directory import ResultsError, stored_kind
from tests.reports.sample_sweep import aggregate, sweep, write


def test_sweep_directory_is_read_back(tmp_path: Path) -> None:
    directory = write(aggregate(), tmp_path / "weights")
    assert stored_kind(directory) == SWEEP_KIND
    assert stored_kind(tmp_path) is None
    sample = read_sweep(read_aggregate(directory))
    assert sample.cells == sweep().cells
    assert [section.title for section in sweep_sections([sample])] == ["Sweep weights"]


def test_sweep_without_aggregate_is_rejected(tmp_path: Path) -> None:
    directory = write(aggregate(), tmp_path / "weights")
    (directory / "aggregate" / "summary.json").unlink()
    with pytest.raises(TableError, match=f"not aggregated yet; run: assignor-sim aggregate {directory}"):
        read_aggregate(directory)


def test_unreadable_aggregate_is_rejected(tmp_path: Path) -> None:
    directory = write(aggregate(), tmp_path / "weights")
    (directory / "aggregate" / "front" / "part-0.parquet").write_text("not a table")
    with pytest.raises(ResultsError, match=r"weights/aggregate/front: cannot be read as Parquet"):
        read_aggregate(directory)


def test_missing_table_is_rejected(tmp_path: Path) -> None:
    directory = write(aggregate(), tmp_path / "weights")
    shutil.rmtree(directory / "aggregate" / "pairs")
    with pytest.raises(ResultsError, match=r"weights/aggregate: cannot be read.*run: assignor-sim aggregate"):
        read_aggregate(directory)


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("front", "setting", 9, "front: setting 9, assignor '.*' has two rows, expected one"),
        ("front", "place", None, "front: column 'place': null for a cell on the front, expected its rank"),
        ("front", "best_of", None, "front: column 'best_of', row 0: null, expected a value"),
        ("cells", "assignor", "x", "cells: setting 0, assignor 'x', metric 'cross_rack_usd_per_day' has two rows"),
        ("cells", "mean", 1e300, r"cells: column 'mean', row 0: 1e\+300, expected a number from -1e\+100 to"),
        ("cells", "rate", True, "cells: column 'rate' has type bool, expected string"),
        ("cells", "rate", 77.0, "levels: factor 'rate': no level contains '77' of the table cells"),
        ("levels", "position", "0", "levels: column 'position' has type string, expected int64"),
        ("differences", "assignor", "x", "differences: setting 0, assignor 'x' is not in front"),
    ],
)
def test_damaged_table_is_rejected_with_its_place(
    tmp_path: Path, table: str, column: str, value: object, message: str
) -> None:
    results = aggregate()
    old = results.tables[table]
    values = pa.array([value] * old.num_rows, old.schema.field(column).type if value is None else None)
    changed = old.set_column(old.column_names.index(column), column, values)
    directory = write(replace(results, tables={**results.tables, table: changed}), tmp_path / "weights")
    with pytest.raises(ResultsError, match=f"weights/aggregate/{message}"):
        read_sweep(read_aggregate(directory))


@pytest.mark.parametrize(
    ("document", "path", "value", "message"),
    [
        ("manifest", ("factors", 0, "paths"), "x", "factors[0].paths: input should be a valid list"),
        ("manifest", ("seeds", 1), -1, "seeds[1]: "),
        ("manifest", ("text",), "\ud800", "text: has half of a surrogate pair"),
        ("summary", ("sweeps", 0, "factors"), [], "sweeps[0].factors: 0 factors, but manifest.json has 2"),
        ("summary", ("scenarios", 0, "objectives", 0), "x", "scenarios[0].objectives[0]: value error, unknown metric"),
        ("summary", ("scenarios", 0, "best", 0, "setting"), 9, "scenarios[0].best[0]: setting and assignor are not in"),
        ("summary", ("left_out", 0, "number"), 1e999, "left_out[0].number: inf is not a number in JSON"),
    ],
)
def test_damaged_document_is_rejected_with_its_place(
    tmp_path: Path, document: str, path: tuple[str | int, ...], value: object, message: str
) -> None:
    directory = write(aggregate(), tmp_path / "weights")
    file = directory / ("manifest.json" if document == "manifest" else "aggregate/summary.json")
    root = parent = json.loads(file.read_text())
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    file.write_text(json.dumps(root))
    with pytest.raises(ResultsError, match=re.escape(f"{file}: {message}")):
        read_sweep(read_aggregate(directory))


def test_aggregate_of_several_sweeps_is_rejected(tmp_path: Path) -> None:
    results = aggregate()
    doubled = replace(results, summary={**results.summary, "sweeps": results.summary["sweeps"] * 2})
    with pytest.raises(TableError, match="aggregates other sweeps too"):
        read_aggregate(write(doubled, tmp_path / "weights"))
