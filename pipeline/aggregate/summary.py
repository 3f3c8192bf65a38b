"""Summary of an aggregate as JSON: the results that the terminal and the page show first.

It begins with the Pareto front of the cells of each scenario.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.aggregate.stored_sweeps import StoredSweep
from reports.analysis.metrics import is_relevant, least_relevant
from reports.analysis.pareto import NOT_DOMINATED, dominators, lexicographic_order
from reports.analysis.statistics import CONFIDENCE, RESAMPLES
from reports.analysis.sweeps.tables import FRONT, MONEY, OBJECTIVES

Row = Mapping[str, Any]
Json = dict[str, Any]

_CELL = ("sweep", "setting", "label", "assignor")

MAX_FRONT_CELLS = 200
"""Maximum number of front cells in the summary; the table `front` has all."""

MAX_FACTORS = 3
"""Maximum number of factors per metric in the summary; the table `sensitivity` has all."""

FRONT_AND_FACTS = pa.schema([*FRONT, ("facts", pa.string())]).remove_metadata()
"""The table `front` with a column `facts`: JSON for the summary, in the first row of each scenario."""


def choose_objectives(known: Mapping[str, int], cells: int) -> tuple[str, ...]:
    """Return the objectives by which the cells of a scenario are compared.

    The first objective is the cost of cross-rack traffic, or its bytes if a cell has no cost. Objectives that no cell
    has are omitted. `known`: for each of `OBJECTIVES`, the number of considered cells that have it. Returns names of
    metrics, in the order of `OBJECTIVES`.
    """
    money = next((name for name in MONEY if known[name] == cells), MONEY[-1])
    return tuple(name for name in (money, *OBJECTIVES[len(MONEY) :]) if known[name])


def pareto_front(statistics: Sequence[Row]) -> tuple[list[Json], tuple[str, ...]]:
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


def _mark_front(cells: list[Json], names: Sequence[str]) -> None:
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


def _cells(statistics: Sequence[Row]) -> list[Json]:
    cells: dict[tuple[str, int, str], Json] = {}
    for row in statistics:
        cell = cells.setdefault((row["sweep"], row["setting"], row["assignor"]), _cell(row))
        if row["known"] == row["runs"]:
            name = row["metric"]
            cell |= {name: row["mean"], f"{name}_low": row["ci_low"], f"{name}_high": row["ci_high"]}
    return [cells[key] for key in sorted(cells)]


def _cell(row: Row) -> Json:
    cell = {name: row.get(name) for name in FRONT.names}
    return cell | {"on_front": False, "best_of": [], "left_out": _left_out(row)}


def _left_out(row: Row) -> str | None:
    reasons = []
    if row["errors"]:
        reasons.append(f"{row['errors']} of {row['runs']} runs raised an error")
    if row["failed"]:
        reasons.append(f"{row['failed']} of {row['runs']} runs ended without an assignment")
    return ", ".join(reasons) or None


def scenario_front(statistics: pa.Table) -> pa.Table:
    """Compute the Pareto front of a scenario and its part of the summary.

    `statistics`: rows of `CELL_STATISTICS` for `OBJECTIVES`, of all cells of the scenario, in any order. Returns rows
    of `FRONT_AND_FACTS`, by sweep, setting and assignor.
    """
    rows = statistics.to_pylist()
    cells, objectives = pareto_front(rows)
    facts = {
        "scenario": _scenario(cells, objectives),
        "counts": {sweep: _counts(sweep_cells) for sweep, sweep_cells in _by_sweep(cells).items()},
        "against": _against(rows),
    }
    cells[0] |= {"facts": json.dumps(facts)}
    return pa.Table.from_pylist(cells, schema=FRONT_AND_FACTS)


def with_all_seeds(fact: Json, of_all_seeds: Json) -> Json:
    """Return the facts of a scenario whose front compares shared seeds, with the counts and differences of all seeds.

    `fact`: the column `facts` of the scenario, from the statistics of the shared seeds; `of_all_seeds`: the same from
    the statistics of all seeds.
    """
    considered = {sweep: {"cells_considered": count["cells_considered"]} for sweep, count in fact["counts"].items()}
    counts = {sweep: count | considered[sweep] for sweep, count in of_all_seeds["counts"].items()}
    return fact | {"counts": counts, "against": of_all_seeds["against"]}


def build_summary(sweeps: Sequence[StoredSweep], facts: Sequence[Json], strongest: Sequence[Row]) -> Json:
    """Build the summary of an aggregate.

    It has counts, fronts, the best cell per objective, the most influential factors, significant differences from the
    baseline, and the excluded runs and metrics with the reason. `facts`: the column `facts` of each scenario (see
    `scenario_front`), in any order; `strongest`: rows of the table `sensitivity`, in any order. Returns a
    JSON-serializable mapping.
    """
    facts = sorted(facts, key=lambda fact: str(fact["scenario"]["scenario"]))
    counts = {sweep: count for fact in facts for sweep, count in fact["counts"].items()}
    scenarios = [fact["scenario"] for fact in facts]
    return {
        "kind": "aggregate",
        "level": CONFIDENCE,
        "resamples": RESAMPLES,
        "sweeps": [_sweep(sweep, counts[sweep.name]) for sweep in sweeps],
        "scenarios": scenarios,
        "against_baseline": [row for fact in facts for row in fact["against"]],
        "sensitivity": _sensitivity(strongest),
        "left_out": [*_runs_left_out(sweeps, counts), *_objectives_left_out(scenarios)],
    }


def _sweep(sweep: StoredSweep, count: Row) -> Json:
    facts = {"sweep": sweep.name, "scenario": sweep.scenario, "baseline": sweep.baseline}
    lists = {
        "assignors": list(sweep.assignors),
        "factors": [{"name": factor.name, "paths": list(factor.paths)} for factor in sweep.factors],
    }
    numbers = {name: count[name] for name in ("settings", "cells", "runs", "errors", "failed", "stable")}
    stopped = {"stopped": sweep.stopped} if sweep.stopped else {}
    return facts | lists | {"seeds": sweep.seeds, "runs_planned": sweep.planned} | numbers | stopped


def _by_sweep(cells: Sequence[Row]) -> dict[str, list[Row]]:
    cells_by_sweep: dict[str, list[Row]] = {}
    for cell in cells:
        cells_by_sweep.setdefault(cell["sweep"], []).append(cell)
    return cells_by_sweep


def _counts(cells: Sequence[Row]) -> Json:
    return {
        "settings": len({cell["setting"] for cell in cells}),
        "cells": len(cells),
        "cells_considered": sum(cell["left_out"] is None for cell in cells),
        **{name: sum(cell[name] for cell in cells) for name in ("runs", "errors", "failed")},
        "stable": sum(round(cell["stable"] * cell["runs"]) for cell in cells),
    }


def _scenario(cells: Sequence[Row], objectives: Sequence[str]) -> Json:
    considered = [cell for cell in cells if cell["left_out"] is None]
    on_front = sorted((cell for cell in considered if cell["on_front"]), key=lambda cell: int(cell["place"]))
    return {
        "scenario": cells[0]["scenario"],
        "objectives": list(objectives),
        "cells": len(cells),
        "cells_considered": len(considered),
        "cells_with": {name: sum(cell[name] is not None for cell in considered) for name in objectives},
        "cells_on_front": len(on_front),
        "front": [_front_cell(cell, objectives) for cell in on_front[:MAX_FRONT_CELLS]],
        "best": [_best(name, cell, considered) for name in objectives for cell in on_front if name in cell["best_of"]],
    }


def _front_cell(cell: Row, objectives: Sequence[str]) -> Json:
    facts = {name: cell[name] for name in (*_CELL, "runs", "stable", "best_of")}
    intervals = {name: _interval(cell, name) for name in objectives}
    return facts | {"means": {name: cell[name] for name in objectives}, "intervals": intervals}


def _best(objective: str, cell: Row, considered: Sequence[Row]) -> Json:
    equal = sum(other[objective] == cell[objective] for other in considered) - 1
    figures = {"mean": cell[objective], "interval": _interval(cell, objective), "others_equal": equal}
    return {"objective": objective} | {name: cell[name] for name in _CELL} | figures


def _interval(cell: Row, objective: str) -> list[float] | None:
    low, high = cell[f"{objective}_low"], cell[f"{objective}_high"]
    return None if low is None else [low, high]


def _against(rows: Sequence[Row]) -> list[Json]:
    """Count the settings that differ significantly from the baseline, by a difference that counts."""
    counts: dict[tuple[str, str, int], Json] = {}
    for row in rows:
        if row["pairs"]:
            key = (row["sweep"], row["assignor"], OBJECTIVES.index(row["metric"]))
            names = {name: row[name] for name in ("sweep", "baseline", "assignor", "metric")}
            count = counts.setdefault(key, names | {"settings": 0, "less": 0, "more": 0})
            count["settings"] += 1
            difference = row["mean_difference"]
            if row["excludes_zero"] and is_relevant(
                difference, row["mean"] - difference, least_relevant(row["metric"])
            ):
                count["less" if difference < 0 else "more"] += 1
    return [counts[key] for key in sorted(counts)]


def _sensitivity(rows: Sequence[Row]) -> list[Json]:
    """Return the most influential factors by sweep and metric; metrics without any are omitted."""
    strongest: dict[tuple[str, str], list[Json]] = {}
    for row in sorted(rows, key=lambda row: (row["sweep"], row["metric"], row["rank"])):
        if row["share"]:
            factor = {"factor": row["factor"], "share": row["share"], "levels": row["levels"]}
            strongest.setdefault((row["sweep"], row["metric"]), []).append(factor)
    return [{"sweep": sweep, "metric": metric, "factors": factors} for (sweep, metric), factors in strongest.items()]


def _runs_left_out(sweeps: Sequence[StoredSweep], counts: Mapping[str, Row]) -> Iterator[Json]:
    for sweep in sweeps:
        count = counts[sweep.name]
        stopped = sweep.stopped.get("runs", 0)
        missing = sweep.planned - stopped - count["runs"]
        reasons = (
            (missing, "not run yet; assignor-sim sweep --resume runs them"),
            (stopped, "not needed: --until-significant stopped seeds of decided pairs; see table stops"),
            (count["errors"], "raised an error; see column error of table runs"),
            (count["failed"], "ended without an assignment; see column cause of table runs"),
        )
        for number, why in reasons:
            if number:
                yield {"sweep": sweep.name, "what": "runs", "number": number, "why": why}
        if out := count["cells"] - count["cells_considered"]:
            why = "not considered for the front: a run raised an error or ended without an assignment"
            yield {"sweep": sweep.name, "what": "cells", "number": out, "why": why}


def _objectives_left_out(scenarios: Sequence[Json]) -> Iterator[Json]:
    for scenario in scenarios:
        name, considered = scenario["scenario"], scenario["cells_considered"]
        if considered and MONEY[0] not in scenario["objectives"]:
            why = f"{MONEY[0]} is unknown for some runs" + (
                f"; {MONEY[1]} is used instead" if MONEY[1] in scenario["objectives"] else f", and so is {MONEY[1]}"
            )
            yield {"scenario": name, "what": "objectives", "number": 1, "why": why}
        for objective, known in scenario["cells_with"].items():
            if known < considered:
                why = f"{objective} is unknown for some runs: treated as worse than any value"
                yield {"scenario": name, "what": "cells", "number": considered - known, "why": why}
        if (shown := len(scenario["front"])) < scenario["cells_on_front"]:
            why = f"only the first {shown} cells of the front are listed; table front has all"
            yield {"scenario": name, "what": "cells", "number": scenario["cells_on_front"] - shown, "why": why}
