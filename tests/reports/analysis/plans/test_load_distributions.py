"""The load of brokers and racks before and after each plan."""

from __future__ import annotations

from reports.analysis.plans.broker_tables import disk_usage_grid, load_distributions, load_grid
from reports.analysis.plans.results import TODAY
from tests.reports.sample_plans import GB, NAMES, results

FIGURES = ["leaders", "replicas", "bytes"]


def test_load_of_a_rack_is_the_sum_of_its_brokers() -> None:
    by_name = {(load.measure.name, load.level): load for load in load_distributions(results())}
    assert list(by_name) == [(name, level) for name in FIGURES for level in ("broker", "rack")]
    rack = by_name["replicas", "rack"]
    assert (rack.names, rack.may_hold) == (("az1", "az2", "no rack"), (True, True, False))
    assert rack.after["even"] == (6, 6, 0)
    assert rack.balanced_value("even") == 6


def test_disk_use_is_a_percentage_of_capacity() -> None:
    grid = disk_usage_grid(results())
    assert grid is not None
    used = {name: [str(cell) for cell in cells] for name, cells in grid.lines}
    assert used["4"] == ["0 % (of 100 GB)", "7 % (of 100 GB)", "10 % (of 100 GB)"]
    assert used["9"] == ["n/a", "n/a", "n/a"]


def test_tables_have_the_values_of_figures() -> None:
    grids = [load_grid(load) for load in load_distributions(results())]
    assert all(grid.columns == (TODAY, *NAMES[1:3]) for grid in grids)
    assert sum(cells[0].value or 0 for _, cells in grids[4].lines) == 42 * GB
