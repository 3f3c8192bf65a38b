"""The total cost of every stored result is at least its lower bound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"


@pytest.mark.parametrize(
    "stored", sorted(LIBRARY.glob("*.expected.json")), ids=lambda path: path.name.partition(".")[0]
)
def test_stored_costs_are_at_least_their_bounds(stored: Path) -> None:
    runs = [run["figures"] for run in json.loads(stored.read_text(encoding="utf-8"))["runs"]]
    assert runs
    known = [run for run in runs if run["total_cost"] is not None]
    assert all(run["total_cost_bound"] <= run["total_cost"] for run in known)
