"""Commands that reproduce the runs of a sweep."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis.sweeps.aggregated_sweep import command, read_sweep
from tests.reports.sample_sweep import aggregate


def test_command_contains_all_settings_of_a_cell() -> None:
    sample = read_sweep(aggregate(changes=[("duration", '"6h"')], unit="MB/s"))
    cell = sample.cells[5]
    assert command(sample, cell.assignor, cell.args) == (
        "assignor-sim run orders.yaml --assignor rival --seed 1 --seed 2 --seed 3 --set 'duration=\"6h\"' "
        "--set 'clients[0].restore=5 MB/s' --set application.configs.num.standby.replicas=0"
    )


def test_command_falls_back_to_name_of_scenario() -> None:
    results = aggregate()
    without_file = read_sweep(replace(results, manifest={**results.manifest, "text": "name: weights\n"}))
    assert command(without_file, "steady").startswith("assignor-sim run orders-of-a-shop --assignor steady ")
