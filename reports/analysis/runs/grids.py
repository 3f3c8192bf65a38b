"""Tables with the numbers behind the figures of a page, the loads of clients, and the bytes sent from rack to rack."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.analysis.cells import HEAT_STEPS, NO_RACK, UNKNOWN, Cell, Grid, event_cell
from reports.analysis.comparison import Tables, rows_of_run, table
from reports.analysis.formatting import NumberFormat, format_bytes, format_clock, format_duration, format_number
from reports.analysis.runs.breakdowns import (
    TRAFFIC_KINDS,
    Breakdown,
    Key,
    assignor_label,
    runs_by_assignor,
    traffic_bytes,
)
from reports.analysis.runs.time_series import TimeSeries

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
            (client, tuple(_load_cell(run_loads.get(client)) for run_loads in by_client))
            for _, client in names[:MAX_CLIENTS]
        ),
    )


def _load_cell(load: ClientLoad | None) -> Cell:
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


ALL = "all"
"""Key of the sum over all kinds of traffic."""

Sent = Mapping[tuple[str, str], float]
"""Bytes by source rack and target rack."""


@dataclass(frozen=True, slots=True)
class RackMatrix:
    """Bytes that the runs of an assignor sent from rack to rack, mean over seeds.

    Attributes:
        label: label of the assignor.
        racks: names of rows (source) and columns (target).
        cells: bytes of each pair, formatted.
        heat: bytes of each cross-rack pair relative to the maximum of all assignors, from 0 to `HEAT_STEPS`.
        bytes_by_kind: bytes of each pair by kind of traffic; `ALL` is the sum.
    """

    label: str
    racks: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    heat: tuple[tuple[int, ...], ...]
    bytes_by_kind: Mapping[str, Sequence[Sequence[float]]]

    def as_data(self) -> dict[str, Any]:
        """Return the data with which the page shows single kinds; `unknown_racks` are indices of racks."""
        unknown_racks = [index for index, rack in enumerate(self.racks) if rack == NO_RACK]
        return {"unknown_racks": unknown_racks, "kinds": self.bytes_by_kind}


def rack_matrices(tables: Tables) -> list[RackMatrix]:
    """Return a matrix for each assignor with traffic, in the order of the table `runs`."""
    runs = runs_by_assignor(tables)
    sums: dict[Key, dict[str, dict[tuple[str, str], float]]] = {key: {ALL: {}} for key in runs}
    for key, kind, source, target, bytes_ in traffic_bytes(tables):
        pair = (NO_RACK if source is None else source, NO_RACK if target is None else target)
        for name in (ALL, kind):
            sent = sums[key].setdefault(name, {})
            sent[pair] = sent.get(pair, 0.0) + bytes_ / len(runs[key])
    maximum = (
        max((sent for kinds in sums.values() for pair, sent in kinds[ALL].items() if _crosses(*pair)), default=0.0)
        or 1.0
    )
    return [_matrix(assignor_label(key, runs), sums[key], maximum) for key in runs if sums[key][ALL]]


def kinds_in(matrices: Sequence[RackMatrix]) -> list[tuple[str, str]]:
    """Return the kinds of traffic in any of the matrices, with their titles."""
    return [
        (kind, title)
        for kind, title in TRAFFIC_KINDS.items()
        if any(kind in matrix.bytes_by_kind for matrix in matrices)
    ]


def _matrix(label: str, sums: Mapping[str, Sent], maximum: float) -> RackMatrix:
    names = {rack for pair in sums[ALL] for rack in pair}
    racks = tuple(sorted(names, key=lambda rack: (rack == NO_RACK, rack)))
    sent_by_kind = {
        kind: [[sent.get((source, target), 0.0) for target in racks] for source in racks] for kind, sent in sums.items()
    }
    pairs = [[(source, target) for target in racks] for source in racks]
    totals = sums[ALL]
    return RackMatrix(
        label=label,
        racks=racks,
        cells=tuple(tuple(_cell(totals.get(pair, 0.0)) for pair in row) for row in pairs),
        heat=tuple(
            tuple(math.ceil(HEAT_STEPS * totals.get(pair, 0.0) / maximum) if _crosses(*pair) else 0 for pair in row)
            for row in pairs
        ),
        bytes_by_kind={kind: [[round(sent) for sent in row] for row in rows] for kind, rows in sent_by_kind.items()},
    )


def _cell(sent: float) -> Cell:
    return Cell(format_bytes(sent), (), sent)


def _crosses(source: str, target: str) -> bool:
    return source != target and NO_RACK not in (source, target)


_NO_REBALANCE = Cell("–")


def convergence_grid(tables: Tables) -> Grid:
    """Return the time to converge in each assignor's first run: one line per event with rebalances, by time."""
    runs = runs_by_assignor(tables)
    titles: dict[tuple[int, int, str], str] = {}
    columns = []
    for key, assignor_runs in runs.items():
        column = {}
        for row in rows_of_run(tables, "convergence", key, assignor_runs[0]["seed"]).to_pylist():
            event = (row["number"], row["event"])
            since = f" at {format_clock(row['at_ms'])}" if row["number"] else ""
            titles.setdefault((row["at_ms"], *event), f"{row['number']}: {row['event']}{since}")
            column[event] = event_cell(row)
        columns.append(column)
    first: dict[tuple[int, str], str] = {}
    for (_, number, label), title in sorted(titles.items()):
        first.setdefault((number, label), title)
    lines = [(title, tuple(column.get(event, _NO_REBALANCE) for column in columns)) for event, title in first.items()]
    return Grid(tuple(assignor_label(key, runs) for key in runs), tuple(lines))


WORST = 20
"""Number of tasks in the table of the worst tasks."""

MAX_TASKS = 500
"""Maximum number of tasks in the table of all tasks."""

MAX_TIMES = 400
"""Maximum number of times in a table of values over time."""


def breakdown_grid(breakdown: Breakdown) -> Grid:
    """Return the parts of each sum, and the sum; without parts that are 0 in all bars."""
    groups = [(breakdown.parts[part], [part]) for part in breakdown.present()]
    if not breakdown.rising:
        groups.append(("all", breakdown.present()))
    lines = []
    for name, parts in groups:
        amounts = [None if bar.values is None else sum(bar.values[part] for part in parts) for bar in breakdown.bars]
        lines.append((name, tuple(_known(amount, breakdown.write) for amount in amounts)))
    return Grid(tuple(bar.label for bar in breakdown.bars), tuple(lines))


def worst_tasks(tables: Tables) -> Grid:
    """Return the tasks of each assignor with the longest downtime over all seeds, longest first."""
    import pyarrow.compute as pc

    tasks = table(tables, "tasks")
    order = [("downtime_ms", "descending"), ("seed", "ascending"), ("task", "ascending")]
    runs = runs_by_assignor(tables)
    columns = []
    for (scenario, assignor), assignor_runs in runs.items():
        own = pc.and_(pc.equal(tasks["scenario"], scenario), pc.equal(tasks["assignor"], assignor))
        down = tasks.filter(pc.and_(own, pc.greater(tasks["downtime_ms"], 0))).sort_by(order)
        columns.append([_task_cell(row, several=len(assignor_runs) > 1) for row in down.slice(0, WORST).to_pylist()])
    return Grid(
        tuple(assignor_label(key, runs) for key in runs),
        tuple(
            (str(rank + 1), tuple(cells[rank] if rank < len(cells) else Cell("–") for cells in columns))
            for rank in range(max(map(len, columns), default=0))
        ),
    )


def _task_cell(row: Mapping[str, object], *, several: bool) -> Cell:
    seed = f", seed {row['seed']}" if several else ""
    downtime_ms = float(str(row["downtime_ms"]))
    return Cell(format_duration(downtime_ms), (f"{row['task']}{seed}",), downtime_ms)


def series_grid(lines: Sequence[TimeSeries], write: NumberFormat) -> Grid:
    """Return values over time: one line per time at which any series changes, the first `MAX_TIMES`."""
    times = sorted({time for line in lines for time in line.at_ms})[:MAX_TIMES]
    return Grid(
        tuple(line.label for line in lines),
        tuple((format_clock(time), tuple(_known(line.at(time), write) for line in lines)) for time in times),
    )


def task_grid(tables: Tables) -> Grid:
    """Return the downtime of each task, mean over seeds, for the `MAX_TASKS` tasks with the longest downtime."""
    runs = runs_by_assignor(tables)
    grouped = table(tables, "tasks").group_by(["scenario", "assignor", "task"], use_threads=False)
    down: dict[str, dict[Key, float]] = {}
    for row in grouped.aggregate([("downtime_ms", "mean")]).to_pylist():
        down.setdefault(row["task"], {})[row["scenario"], row["assignor"]] = row["downtime_ms_mean"]
    chosen = set(sorted(down, key=lambda task: -max(down[task].values()))[:MAX_TASKS])
    return Grid(
        tuple(assignor_label(key, runs) for key in runs),
        tuple(
            (task, tuple(_known(task_downtimes.get(key), format_duration) for key in runs))
            for task, task_downtimes in down.items()
            if task in chosen
        ),
    )


def _known(value: float | None, write: NumberFormat) -> Cell:
    return Cell(UNKNOWN) if value is None else Cell(write(value), (), value)
