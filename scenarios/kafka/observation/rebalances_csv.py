"""The rounds that a leader logged, as a table that predictions can be held against."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from scenarios.kafka.observation.client_names import client_names
from scenarios.kafka.observation.history import ObservedRebalance, RebalanceHistory
from scenarios.kafka.observation.observation import Observation

COLUMNS = ("round", "at_ms", "task", "client", "process_id", "role")


def rebalances_csv(seen: Observation, trace: RebalanceHistory) -> str:
    """A line for each task that a round gave to somebody: `role` is active or standby, clients are the scenario's."""
    names = client_names([*seen.processes, *trace.newcomers])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in trace.rounds:
        for task, process, role in _given(one):
            writer.writerow((one.number, one.at_ms, task, names[process], process, role))
    return text.getvalue()


def _given(one: ObservedRebalance) -> Iterator[tuple[str, str, str]]:
    for task, process in one.active.items():
        yield task, process, "active"
    for task, processes in one.standby.items():
        for process in processes:
            yield task, process, "standby"
