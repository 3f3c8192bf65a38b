"""Which cells of a scenario nobody would give up for another: the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.aggregate.tables import FRONT, MONEY, OBJECTIVES
from reports.analysis.statistics import Floats

Row = dict[str, Any]

NOT_DOMINATED = -1


def dominators(values: Floats) -> NDArray[np.int64]:
    """By whom each row is dominated: who is at least as good in every column, and better in one. Less is better.

    Guarantees:
        Rows that nobody dominates, the front, get `NOBODY`; equal ones are all on it. Others get the first row of the
        front, by the columns from left to right, that dominates them; infinity is as bad as infinity.

    Complexity: O(rows · rows of the front · columns).

    Source: H. T. Kung, F. Luccio, F. P. Preparata, On Finding the Maxima of a Set of Vectors (1975): in lexical order
    nobody is dominated by who comes after, nor by somebody off the front alone.

    Args:
        values: (rows, columns), infinite where there is no finite value.
    """
    by_whom = np.full(len(values), NOT_DOMINATED, dtype=np.int64)
    front = np.empty_like(values)
    of_front = np.empty(len(values), dtype=np.int64)
    size = 0
    for row in lexicographic_order(values):
        met = front[:size]
        dominates = (met <= values[row]).all(axis=1) & (met < values[row]).any(axis=1)
        if dominates.any():
            by_whom[row] = of_front[np.argmax(dominates)]
        else:
            front[size], of_front[size] = values[row], row
            size += 1
    return by_whom


def lexicographic_order(values: Floats) -> list[int]:
    """The rows by the first column, then by the next; equal ones as they stand."""
    order: list[int] = np.lexsort(values.T[::-1]).tolist()
    return order


def choose_objectives(known: Mapping[str, int], cells: int) -> tuple[str, ...]:
    """What the cells of a scenario are judged by: what traffic costs, or if that is not known of all, its bytes, and
    the other objectives; without those that no cell has.

    Args:
        known: for each of `OBJECTIVES`, how many of the considered cells have it.
        cells: how many cells are considered.
    """
    money = next((name for name in MONEY if known[name] == cells), MONEY[-1])
    return tuple(name for name in (money, *OBJECTIVES[len(MONEY) :]) if known[name])


def pareto_front(figures: Sequence[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """Find the front of a scenario.

    Args:
        figures: the rows of `FIGURES` about `OBJECTIVES`, of all cells of the scenario, in any order.

    Returns:
        Rows of `FRONT`, one a cell, by sweep, setting and assignor; and by what they were judged.
    """
    cells = _cells(figures)
    considered = [cell for cell in cells if cell["left_out"] is None]
    known = {name: sum(cell[name] is not None for cell in considered) for name in OBJECTIVES}
    names = choose_objectives(known, len(considered))
    _judge(considered, names)
    return cells, names


def _judge(cells: Sequence[Row], names: Sequence[str]) -> None:
    """Say of each cell whether it is on the front, and of what it is best."""
    if not names:
        return
    values = np.array([[np.inf if cell[name] is None else cell[name] for name in names] for cell in cells])
    by_whom = dominators(values).tolist()
    on_front = [row for row in lexicographic_order(values) if by_whom[row] == NOT_DOMINATED]
    for place, row in enumerate(on_front, start=1):
        cells[row] |= {"on_front": True, "place": place}
    for cell, by in zip(cells, by_whom, strict=True):
        if by != NOT_DOMINATED:
            cell |= {f"dominated_by_{name}": cells[by][name] for name in ("sweep", "setting", "assignor")}
    for position, name in enumerate(names):
        # Whoever has least of the others among those that have least of it, is on the front.
        others = [position, *(other for other in range(len(names)) if other != position)]
        cells[lexicographic_order(values[:, others])[0]]["best_of"].append(name)


def _cells(figures: Sequence[Row]) -> list[Row]:
    cells: dict[tuple[str, int, str], Row] = {}
    for row in figures:
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
        reasons.append(f"{row['errors']} of {row['runs']} runs could not be made")
    if row["failed"]:
        reasons.append(f"{row['failed']} of {row['runs']} runs came to no assignment")
    return ", ".join(reasons) or None
