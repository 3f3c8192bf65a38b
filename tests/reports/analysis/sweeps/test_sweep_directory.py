"""Sweep directories and their aggregates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reports.analysis.comparison import TableError
from reports.analysis.sweeps.reading import read_sweep
from reports.analysis.sweeps.sweep_directory import is_sweep_directory, read_aggregate
from reports.render.sweep_page.sections import sweep_sections
from tests.reports.sample_sweep import aggregate, sweep, write


def test_sweep_directory_is_read_back(tmp_path: Path) -> None:
    directory = write(aggregate(), tmp_path / "weights")
    assert is_sweep_directory(directory)
    assert not is_sweep_directory(tmp_path)
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
    with pytest.raises(TableError, match=r"weights/aggregate: cannot be read .*assignor-sim aggregate"):
        read_aggregate(directory)


def test_aggregate_of_several_sweeps_is_rejected(tmp_path: Path) -> None:
    results = aggregate()
    doubled = replace(results, summary={**results.summary, "sweeps": results.summary["sweeps"] * 2})
    with pytest.raises(TableError, match="aggregates other sweeps too"):
        read_aggregate(write(doubled, tmp_path / "weights"))
