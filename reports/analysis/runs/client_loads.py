"""Load of each client at the end of a run: tasks per thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.analysis.cells import NO_RACK, Cell, Grid
from reports.analysis.comparison import Tables, rows_of_run
from reports.analysis.formatting import format_number
from reports.analysis.runs.breakdowns import Key, assignor_label, runs_by_assignor

MAX_CLIENTS = 1_000
"""Maximum number of clients in a table."""


@dataclass(frozen=True, slots=True)
class ClientLoad:
    """The load of a client in the last round of a run.

    Attributes:
        client: name of the client.
        rack: rack of the client; None if unknown.
        threads: number of its stream threads.
        actives: number of its active tasks.
        standbys: number of its standbys and warm-ups.
    """

    client: str
    rack: str | None
    threads: int
    actives: int
    standbys: int

    @property
    def per_thread(self) -> float:
        """Active tasks and standbys per thread."""
        return (self.actives + self.standbys) / self.threads


def client_loads(tables: Tables) -> dict[str, list[ClientLoad]]:
    """Return the load of each member in the last round of each assignor's first run, most loaded first.

    `tables`: must hold `runs`, `clients` and `assignments`. Returns loads by the label of the assignor.
    """
    runs = runs_by_assignor(tables)
    return {assignor_label(key, runs): _run_loads(tables, key, assignor_runs[0]) for key, assignor_runs in runs.items()}


def load_grid(loads: Mapping[str, list[ClientLoad]]) -> Grid:
    """Return the tasks per thread, one line per client; the note of a cell is `active + standbys / threads`."""
    names = sorted({(load.rack or NO_RACK, load.client) for run_loads in loads.values() for load in run_loads})
    by_client = [{load.client: load for load in run_loads} for run_loads in loads.values()]
    return Grid(
        tuple(loads),
        tuple(
            (client, tuple(_cell(run_loads.get(client)) for run_loads in by_client))
            for _, client in names[:MAX_CLIENTS]
        ),
    )


def _cell(load: ClientLoad | None) -> Cell:
    if load is None:
        return Cell("–")
    parts = f"{load.actives} + {load.standbys} / {load.threads}"
    return Cell(format_number(load.per_thread), (parts,), load.per_thread)


def _run_loads(tables: Tables, key: Key, run: Mapping[str, Any]) -> list[ClientLoad]:
    import pyarrow.compute as pc

    last = run["rebalances"]
    copies = rows_of_run(tables, "assignments", key, run["seed"])
    copies = copies.filter(pc.equal(copies["round"], last))
    counts = {
        (row["client"], row["role"]): row["task_count"]
        for row in copies.group_by(["client", "role"], use_threads=False).aggregate([("task", "count")]).to_pylist()
    }
    loads = [
        ClientLoad(
            row["client"],
            row["rack"],
            row["threads"],
            counts.get((row["client"], "active"), 0),
            counts.get((row["client"], "standby"), 0),
        )
        for row in rows_of_run(tables, "clients", key, run["seed"]).to_pylist()
        if row["from_round"] is not None and row["until_round"] is None
    ]
    return sorted(loads, key=lambda load: (-load.per_thread, load.client))
