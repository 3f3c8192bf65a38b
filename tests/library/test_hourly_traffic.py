"""The time to converge does not depend on whether traffic is constant, hourly or measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenarios.load import load
from scenarios.run import run
from scenarios.shipped import find_scenario
from simulator.results.tabulation import tabulate
from tests.scenarios.ingested_folders import rate_row, write_ingested_folder

Row = dict[str, Any]
SCALE_OUT = find_scenario(Path("slow_return_of_balance"))
HALF_DAY = ("duration", "6h")


def convergence(*overrides: tuple[str, str], label: str = "10 warm-ups") -> tuple[list[Row], Row]:
    """Return the rows of the table `convergence` and the row of `runs`."""
    scenario = load(SCALE_OUT, [HALF_DAY, *overrides])
    tables = tabulate(run(scenario, label, 1), label, 1)
    return tables["convergence"].to_pylist(), tables["runs"].to_pylist()[0]


def test_equal_hourly_factors_are_constant_traffic() -> None:
    assert convergence(("traffic.hourly", str([1.0] * 24))) == convergence()


@pytest.mark.parametrize("starts_at", ["00:00", "09:20"])
def test_hourly_traffic_does_not_change_time_to_converge(tmp_path: Path, starts_at: str) -> None:
    constant, run_row = convergence()
    assert (run_row["rebalances_to_converge"], run_row["time_to_converge_ms"]) == (13, 3_639_523)
    hourly, same = convergence(("traffic.hourly", str([1.0, 1.0625] * 12)))
    assert same["slowest_event"] == run_row["slowest_event"] == "join of 4 clients (new-0, new-1, new-2, …)"
    assert [(row["number"], row["rebalances"]) for row in hourly] == [(0, 1), (1, 13)]
    assert hourly == constant

    rates = [rate_row("trips", p, h, 5e5 + h % 2 * 4e4) for p in range(60) for h in range(24)]
    folder = write_ingested_folder(tmp_path / "ingested", rates)
    traffic = f"{{from: {folder}, starts_at: '{starts_at}'}}"
    measured, same = convergence(("traffic", traffic))
    assert (same["verdict"], same["rebalances_to_converge"]) == ("stable", 13)
    assert measured == constant
