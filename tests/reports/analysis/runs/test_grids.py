"""Tables with the numbers behind figures."""

from __future__ import annotations

from reports.analysis.runs.grids import worst_tasks
from tests.reports.sample_runs import tables


def test_worst_tasks_are_sorted_and_exclude_tasks_without_downtime() -> None:
    down = [{"task": f"0_{n}", "downtime_ms": 1_000 * (n % 7), "seed": 1 + n % 2} for n in range(60)]
    grid = worst_tasks(tables([{"seed": 1}, {"seed": 2}, {"assignor": "calm"}], tasks=down))
    assert grid.columns == ("sticky", "calm")
    assert len(grid.lines) == 20
    first_column = [str(cells[0]) for _, cells in grid.lines]
    assert first_column[:2] == ["6 s (0_20, seed 1)", "6 s (0_34, seed 1)"]
    assert first_column[-1].startswith("4 s")
    assert {str(cells[1]) for _, cells in grid.lines} == {"–"}
