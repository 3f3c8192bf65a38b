"""Proofs replace the lower bounds of a run and change no other value."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from scenarios.load import assignor_specs, load
from scenarios.run import run
from scenarios.shipped import find_scenario
from simulator.processes.run_options import RunOptions
from simulator.results.tabulation import tabulate

BOUND = "total_cost_bound"
BOUND_COLUMNS = (BOUND, "mean_total_cost_bound", "worst_cost_round", "worst_total_cost", "worst_total_cost_bound")
"""The columns that may differ: bounds, and values of the round with the largest gap to its bound."""


def tables_of(name: str, assignor: str) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
    """Return the tables of a run without and with proofs."""
    scenario = load(find_scenario(Path(name)))
    [spec] = assignor_specs(scenario, [assignor])
    traces = (run(scenario, spec), run(scenario, spec, options=RunOptions(prove=60.0)))
    plain, proven = (tabulate(trace, assignor, 1) for trace in traces)
    return plain, proven


@pytest.mark.parametrize(
    ("name", "assignor"),
    [
        ("migration_to_streams_groups", "streams sticky"),
        ("order_processing", "streams sticky"),
        ("stateful_imbalance", "classic HA"),
    ],
)
def test_proofs_change_only_bounds(name: str, assignor: str) -> None:
    plain, proven = tables_of(name, assignor)
    for table in plain:
        if table != "proofs":
            columns = [column for column in plain[table].column_names if column not in BOUND_COLUMNS]
            assert proven[table].select(columns).equals(plain[table].select(columns)), table
    assert len(plain["proofs"]) == 0
    rounds, proofs = proven["rounds"].to_pylist(), proven["proofs"].to_pylist()
    assert [row["relaxed_total_cost_bound"] for row in proofs] == plain["rounds"][BOUND].to_pylist()
    assert [row[BOUND] for row in proofs] == [row[BOUND] for row in rounds]
    assert all(row[BOUND] == row["best_known_total_cost"] for row in proofs)
    assert all(row[BOUND] <= row["total_cost"] for row in rounds)
    [run_row] = proven["runs"].to_pylist()
    assert [run_row[BOUND]] == [row[BOUND] for row in rounds if row["round"] == run_row["deciding_round"]]
    assert run_row["mean_total_cost_bound"] >= plain["runs"]["mean_total_cost_bound"].to_pylist()[0]
    assert any(row[BOUND] > row["relaxed_total_cost_bound"] for row in proofs)
