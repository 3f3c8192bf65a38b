"""How much each client has to do in the end: tasks per thread of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.analysis.cells import Cell
from reports.analysis.comparison import Tables, rows_of_run
from reports.analysis.formatting import format_number
from reports.analysis.grids import NO_RACK, Grid
from reports.analysis.runs.breakdowns import Key, assignor_label, runs_by_assignor

MAX_CLIENTS = 1_000
"""How many clients a table names."""


@dataclass(frozen=True, slots=True)
class ClientLoad:
    """What a client has in the last round of a run.

    Attributes:
        client: its name.
        rack: where it stands; None if that is not known.
        threads: how many it has.
        actives: tasks that it is to run.
        standbys: standbys and warm-ups.
    """

    client: str
    rack: str | None
    threads: int
    actives: int
    standbys: int

    @property
    def per_thread(self) -> float:
        """Actives and standbys, a thread."""
        return (self.actives + self.standbys) / self.threads


def loads(tables: Tables) -> dict[str, list[ClientLoad]]:
    """The members of each assignor's first run in its last round, by the label of the assignor, most loaded first.

    Raises:
        TableError: there is no table `runs`, `clients` or `assignments`.
    """
    runs = runs_by_assignor(tables)
    return {assignor_label(key, runs): _of_run(tables, key, of_one[0]) for key, of_one in runs.items()}


def load_grid(of_runs: Mapping[str, list[ClientLoad]]) -> Grid:
    """Tasks per thread, a line a client: sum, and in a note what it is made of."""
    names = sorted({(load.rack or NO_RACK, load.client) for of_run in of_runs.values() for load in of_run})
    places = {label: {load.client: load for load in of_run} for label, of_run in of_runs.items()}
    return Grid(
        tuple(of_runs),
        tuple(
            (client, tuple(_cell(of_run.get(client)) for of_run in places.values()))
            for _, client in names[:MAX_CLIENTS]
        ),
    )


def _cell(load: ClientLoad | None) -> Cell:
    if load is None:
        return Cell("–")
    made_of = f"{load.actives} + {load.standbys} / {load.threads}"
    return Cell(format_number(load.per_thread), (made_of,), load.per_thread)


def _of_run(tables: Tables, key: Key, run: Mapping[str, Any]) -> list[ClientLoad]:
    import pyarrow.compute as pc

    last = run["rebalances"]
    held = rows_of_run(tables, "assignments", key, run["seed"])
    held = held.filter(pc.equal(held["round"], last))
    counts = {
        (row["client"], row["role"]): row["task_count"]
        for row in held.group_by(["client", "role"], use_threads=False).aggregate([("task", "count")]).to_pylist()
    }
    found = [
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
    return sorted(found, key=lambda load: (-load.per_thread, load.client))
