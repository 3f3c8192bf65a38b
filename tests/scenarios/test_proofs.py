"""A run with proven bounds differs from a run without them in nothing else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from scenarios.assignor_specs import assignor_specs
from scenarios.load import load
from scenarios.run import run
from scenarios.shipped import find_scenario
from simulator.results.tabulation import tabulate

BOUND = "total_cost_bound"
OF_BOUNDS = (BOUND, "mean_total_cost_bound", "worst_cost_round", "worst_total_cost", "worst_total_cost_bound")
"""The columns that may differ: bounds, and values of the round with the largest gap to its bound."""


def tables_of(name: str, assignor: str) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
    """Return the tables of a run without and with proofs."""
    scenario = load(find_scenario(Path(name)))
    [one] = assignor_specs(scenario, [assignor])
    traces = (run(scenario, one), run(scenario, one, prove=60.0))
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
def test_only_bounds_differ_from_the_run_without_proofs(name: str, assignor: str) -> None:
    plain, proven = tables_of(name, assignor)
    for table in plain:
        if table != "proofs":
            columns = [each for each in plain[table].column_names if each not in OF_BOUNDS]
            assert proven[table].select(columns).equals(plain[table].select(columns)), table
    assert len(plain["proofs"]) == 0
    rounds, proofs = proven["rounds"].to_pylist(), proven["proofs"].to_pylist()
    assert [row["relaxed_total_cost_bound"] for row in proofs] == plain["rounds"][BOUND].to_pylist()
    assert [row[BOUND] for row in proofs] == [row[BOUND] for row in rounds]
    assert all(row[BOUND] == row["best_known_total_cost"] for row in proofs)
    assert all(row[BOUND] <= row["total_cost"] for row in rounds)
    [of_run] = proven["runs"].to_pylist()
    assert [of_run[BOUND]] == [row[BOUND] for row in rounds if row["round"] == of_run["deciding_round"]]
    assert of_run["mean_total_cost_bound"] >= plain["runs"]["mean_total_cost_bound"].to_pylist()[0]
    assert any(row[BOUND] > row["relaxed_total_cost_bound"] for row in proofs)
