"""Pareto front of the cells of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reports.analysis.pareto import NOT_DOMINATED, dominators, lexicographic_order
from reports.analysis.sweeps.tables import FRONT, MONEY, OBJECTIVES

Row = dict[str, Any]


def choose_objectives(known: Mapping[str, int], cells: int) -> tuple[str, ...]:
    """Return the objectives by which the cells of a scenario are compared.

    The first objective is the cost of cross-rack traffic, or its bytes if a cell has no cost. Objectives that no cell
    has are omitted. `known`: for each of `OBJECTIVES`, the number of considered cells that have it. Returns names of
    metrics, in the order of `OBJECTIVES`.
    """
    money = next((name for name in MONEY if known[name] == cells), MONEY[-1])
    return tuple(name for name in (money, *OBJECTIVES[len(MONEY) :]) if known[name])


def pareto_front(statistics: Sequence[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """Compute the Pareto front of a scenario.

    `statistics`: rows of `CELL_STATISTICS` for `OBJECTIVES`, of all cells of the scenario, in any order. Returns rows
    of `FRONT`, one per cell, by sweep, setting and assignor; and the objectives they were compared by.
    """
    cells = _cells(statistics)
    considered = [cell for cell in cells if cell["left_out"] is None]
    known = {name: sum(cell[name] is not None for cell in considered) for name in OBJECTIVES}
    names = choose_objectives(known, len(considered))
    _mark_front(considered, names)
    return cells, names


def _mark_front(cells: Sequence[Row], names: Sequence[str]) -> None:
    """Mark in each cell whether it is on the front and in which objectives it is best."""
    if not names:
        return
    values = np.array([[np.inf if cell[name] is None else cell[name] for name in names] for cell in cells])
    dominator = dominators(values).tolist()
    on_front = [row for row in lexicographic_order(values) if dominator[row] == NOT_DOMINATED]
    for place, row in enumerate(on_front, start=1):
        cells[row] |= {"on_front": True, "place": place}
    for cell, dominating_row in zip(cells, dominator, strict=True):
        if dominating_row != NOT_DOMINATED:
            cell |= {f"dominated_by_{name}": cells[dominating_row][name] for name in ("sweep", "setting", "assignor")}
    for position, name in enumerate(names):
        # Among the cells with the lowest value, the one with the lowest other objectives is on the front.
        others = [position, *(other for other in range(len(names)) if other != position)]
        cells[lexicographic_order(values[:, others])[0]]["best_of"].append(name)


def _cells(statistics: Sequence[Row]) -> list[Row]:
    cells: dict[tuple[str, int, str], Row] = {}
    for row in statistics:
        cell = cells.setdefault((row["sweep"], row["setting"], row["assignor"]), _cell(row))
        if row["known"] == row["runs"]:
            name = row["metric"]
            cell |= {name: row["mean"], f"{name}_low": row["ci_low"], f"{name}_high": row["ci_high"]}
    return [cells[key] for key in sorted(cells)]


def _cell(row: Mapping[str, Any]) -> Row:
    cell = {name: row.get(name) for name in FRONT.names}
    return cell | {"on_front": False, "best_of": [], "left_out": _left_out(row)}


def _left_out(row: Mapping[str, Any]) -> str | None:
    reasons = []
    if row["errors"]:
        reasons.append(f"{row['errors']} of {row['runs']} runs raised an error")
    if row["failed"]:
        reasons.append(f"{row['failed']} of {row['runs']} runs ended without an assignment")
    return ", ".join(reasons) or None
