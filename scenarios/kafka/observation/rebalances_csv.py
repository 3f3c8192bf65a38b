"""Observed rebalances as a CSV table, for comparison with simulated ones."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from scenarios.kafka.observation.observation import Observation, ObservedRebalance, RebalanceHistory, client_names
from simulator.results.files import csv_cell

COLUMNS = ("round", "at_ms", "task", "client", "process_id", "role")


def rebalances_csv(observation: Observation, history: RebalanceHistory) -> str:
    """Return a CSV table with one line for each task copy of each rebalance.

    The role is `active` or `standby`; clients have their names in the scenario, after an apostrophe if a spreadsheet
    would read the name as a formula.
    """
    names = client_names([*observation.processes, *history.newcomers])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for rebalance in history.rebalances:
        for task, process, role in _assignments(rebalance):
            cells = (csv_cell(cell) for cell in (task, names[process], process, role))
            writer.writerow((rebalance.number, rebalance.at_ms, *cells))
    return text.getvalue()


def _assignments(rebalance: ObservedRebalance) -> Iterator[tuple[str, str, str]]:
    for task, process in rebalance.active.items():
        yield task, process, "active"
    for task, processes in rebalance.standby.items():
        for process in processes:
            yield task, process, "standby"
