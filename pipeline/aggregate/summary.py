"""Summary of an aggregate as JSON: the results that the terminal and the page show first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipeline.aggregate.front import pareto_front
from pipeline.aggregate.stored_sweeps import StoredSweep
from reports.analysis.metrics import is_relevant, least_relevant
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
