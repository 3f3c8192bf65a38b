"""Benchmarks run on request only, so each run of the tests imports them: what they measure may have another name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "file", sorted(path.stem for path in (Path(__file__).parents[1] / "benchmarks").glob("test_*.py"))
)
def test_benchmark_can_be_imported(file: str) -> None:
    import_module(f"tests.benchmarks.{file}")
