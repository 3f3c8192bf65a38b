"""A sweep worked out by hand, as `assignor-sim aggregate` leaves it, so that its page can be tested without Spark.

Two factors, two assignors and four metrics. Cells, of which `rival` has the second in each setting:

    setting  rate  standbys   cost (steady, rival)   moved (steady, rival)
    0        1     0          10, 8                  4, 6
    1        1     1          12, 9                  4, 5
    2        5     0          20, 15                 2, 9
    3        5     1          22, 30                 1, 9
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.aggregate.tables import AGGREGATE_SCHEMAS
from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep
from reports.analysis.sweeps.reading import read_sweep
from reports.analysis.sweeps.sweep_directory import SweepAggregate

Row = dict[str, Any]

ASSIGNORS = ("steady", "rival")
LEVELS = {"rate": (1.0, 5.0), "standbys": (0.0, 1.0)}
MEANS: dict[str, Sequence[tuple[float | None, float | None]]] = {
    "cross_rack_usd": [(10, 8), (12, 9), (20, 15), (22, 30)],
    "active_moves": [(4, 6), (4, 5), (2, 9), (1, 9)],
    "time_to_converge_ms": [(1000, 3000), (1000, 3000), (2000, None), (2000, 3000)],
    "load_skew": [(1, 1), (1, 1), (1, 1), (1, 1)],
}
OBJECTIVES = ("cross_rack_usd", "active_moves", "time_to_converge_ms")
# Place on the front, or the setting and assignor that dominates.
STANDING: dict[tuple[int, int], int | tuple[int, int]] = {
    (0, 1): 1,
    (1, 1): 2,
    (0, 0): 3,
    (1, 0): (0, 0),
    (2, 0): 4,
    (2, 1): (1, 1),
    (3, 0): 5,
}
LEFT_OUT = "1 of 3 runs ended without an assignment"
BEST = {"cross_rack_usd": (0, 1, 0), "active_moves": (3, 0, 0), "time_to_converge_ms": (0, 0, 1)}
SHARES = {"cross_rack_usd": (0.6, 0.1, 0.05), "active_moves": (0.0, 0.02, 0.7), "time_to_converge_ms": (0.1, 0.0, 0.8)}


def aggregate(
    names: Mapping[str, str] | None = None, *, changes: Sequence[tuple[str, str]] = (), unit: str | None = None
) -> SweepAggregate:
    """The sweep as it is read.

    Args:
        names: what `weights`, the assignors and the factors are called instead.
        changes: what the sweep sets for all runs.
        unit: of the factor `rate`.
    """
    called = dict(names or {})
    name = called.get("weights", "weights")
    assignors = [called.get(each, each) for each in ASSIGNORS]
    factors = [called.get(each, each) for each in LEVELS]
    key = {"scenario": "orders", "sweep": name}
    settings = list(itertools.product(*LEVELS.values()))
    labels = [", ".join(f"{f}={v:g}" for f, v in zip(factors, each, strict=True)) for each in settings]
    cells = [(setting, rank) for setting in range(len(settings)) for rank in range(2)]
    place = {
        (setting, rank): key | {"setting": setting, "label": labels[setting], "assignor": assignors[rank]}
        for setting, rank in cells
    }
    tables = {
        "cells": _cells(place, dict(zip(factors, zip(*settings, strict=True), strict=True))),
        "differences": _differences(place, assignors[0]),
        "front": _front(place, name, assignors),
        "sensitivity": _sensitivity(key, [*factors, "assignor"]),
        "levels": _levels(key, factors, assignors, settings),
        "pairs": _pairs(key, factors, assignors, settings),
    }
    best = [
        {"objective": metric, "others_equal": others, **place[setting, rank]}
        for metric, (setting, rank, others) in BEST.items()
    ]
    scenario = {"scenario": "orders", "objectives": list(OBJECTIVES), "cells_considered": 7, "cells_on_front": 5}
    facts = key | {"baseline": assignors[0], "assignors": assignors, "factors": [{"name": each} for each in factors]}
    summary = {
        "sweeps": [facts | {"settings": 4, "seeds": 3, "runs": 24}],
        "scenarios": [scenario | {"best": best}],
        "left_out": [{"sweep": name, "what": "cells", "number": 1, "why": LEFT_OUT}],
    }
    manifest = {
        "kind": "sweep",
        "name": name,
        "text": f"name: {name}\nscenario: ../orders.yaml  # of a shop\n",
        "scenario": {"name": "orders-of-a-shop", "text": "name: orders-of-a-shop\n"},
        "factors": [
            {"name": factors[0], "paths": ["clients[0].restore"], "unit": unit},
            {"name": factors[1], "paths": ["application.configs.num.standby.replicas"], "unit": None},
        ],
        "changes": [list(each) for each in changes],
        "seeds": [1, 2, 3],
        "baseline": assignors[0],
    }
    return SweepAggregate("out/weights", manifest, summary, tables)


def sweep(names: Mapping[str, str] | None = None) -> AggregatedSweep:
    """The sweep as its page has it."""
    return read_sweep(aggregate(names))


def write(made: SweepAggregate, directory: Path) -> Path:
    """Write it as a directory of results."""
    folder = directory / "aggregate"
    folder.mkdir(parents=True)
    (directory / "manifest.json").write_text(json.dumps(made.manifest), encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(made.summary), encoding="utf-8")
    for name, table in made.tables.items():
        (folder / name).mkdir()
        pq.write_table(table, folder / name / "part-0.parquet")
    return directory


def _table(name: str, rows: Sequence[Row], more: Sequence[pa.Field] = ()) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=pa.schema([*AGGREGATE_SCHEMAS[name], *more]))


def _mean(metric: str, cell: tuple[int, int]) -> float | None:
    return MEANS[metric][cell[0]][cell[1]]


def _cells(place: Mapping[tuple[int, int], Row], values: Mapping[str, Sequence[float]]) -> pa.Table:
    rows = []
    for cell, key in place.items():
        for metric in MEANS:
            mean = _mean(metric, cell)
            ends = {} if mean is None else {"mean": mean, "ci_low": mean * 0.75, "ci_high": mean * 1.5}
            counts = {"runs": 3, "errors": 0, "failed": int(cell == (3, 1)), "stable": 1.0, "known": 3 if ends else 0}
            rows.append(key | {"metric": metric} | counts | ends | {n: v[cell[0]] for n, v in values.items()})
    return _table("cells", rows, [pa.field(name, pa.float64()) for name in values])


def _differences(place: Mapping[tuple[int, int], Row], baseline: str) -> pa.Table:
    """Intervals go one to either side: a difference of one or less is not sure."""
    rows = []
    for (setting, rank), key in place.items():
        for metric in MEANS:
            ours, theirs = _mean(metric, (setting, rank)), _mean(metric, (setting, 0))
            if rank and ours is not None and theirs is not None:
                mean = ours - theirs
                ends = {"mean_difference": mean, "difference_low": mean - 1, "difference_high": mean + 1, "pairs": 3}
                rows.append(key | {"baseline": baseline, "metric": metric} | ends)
    return _table("differences", rows)


def _front(place: Mapping[tuple[int, int], Row], name: str, assignors: Sequence[str]) -> pa.Table:
    rows = []
    for cell, key in place.items():
        standing = STANDING.get(cell)
        on_front = isinstance(standing, int)
        best_of = [metric for metric, best in BEST.items() if best[:2] == cell]
        row = key | {"runs": 3, "errors": 0, "failed": 0, "stable": 1.0, "on_front": on_front, "best_of": best_of}
        row |= {metric: _mean(metric, cell) for metric in OBJECTIVES}
        row |= {"place": standing if on_front else None, "left_out": LEFT_OUT if standing is None else None}
        if isinstance(standing, tuple):
            row |= {"dominated_by_sweep": name, "dominated_by_setting": standing[0]}
            row |= {"dominated_by_assignor": assignors[standing[1]]}
        rows.append(row)
    return _table("front", rows)


def _sensitivity(key: Row, factors: Sequence[str]) -> pa.Table:
    rows = []
    for metric, shares in SHARES.items():
        order = sorted(range(3), key=lambda number: -shares[number])
        for number, (factor, share) in enumerate(zip(factors, shares, strict=True)):
            row = {"metric": metric, "factor": factor, "rank": order.index(number) + 1, "levels": 2, "share": share}
            rows.append(key | row)
    return _table("sensitivity", rows)


def _groups(
    factors: Sequence[str], assignors: Sequence[str], settings: Sequence[Sequence[float]]
) -> list[tuple[str, list[tuple[str, list[tuple[int, int]]]]]]:
    """Every factor with its levels, and the cells of each."""
    cells = [(setting, rank) for setting in range(len(settings)) for rank in range(2)]
    found = [
        (
            factor,
            [(f"{value:g}", [cell for cell in cells if settings[cell[0]][number] == value]) for value in values],
        )
        for number, (factor, values) in enumerate(zip(factors, LEVELS.values(), strict=True))
    ]
    by_rank = [(label, [cell for cell in cells if cell[1] == rank]) for rank, label in enumerate(assignors)]
    return [*found, ("assignor", by_rank)]


def _over(metric: str, cells: Sequence[tuple[int, int]]) -> Row:
    known = [mean for mean in (_mean(metric, cell) for cell in cells) if mean is not None]
    return {"runs": 3 * len(known), "mean": sum(known) / len(known) if known else None}


def _levels(key: Row, factors: Sequence[str], assignors: Sequence[str], settings: Sequence[Any]) -> pa.Table:
    rows = []
    for factor, levels in _groups(factors, assignors, settings):
        for position, (level, cells) in enumerate(levels):
            at = {"factor": factor, "position": position, "level": level}
            if factor != "assignor":
                at |= {"low": float(level), "high": float(level)}
            rows.extend(key | at | {"metric": metric, "sd": 0.5} | _over(metric, cells) for metric in MEANS)
    return _table("levels", rows)


def _pairs(key: Row, factors: Sequence[str], assignors: Sequence[str], settings: Sequence[Any]) -> pa.Table:
    rows = []
    for (one, levels), (other, others) in itertools.combinations(_groups(factors, assignors, settings), 2):
        for (n, (level, cells)), (m, (other_level, its)) in itertools.product(enumerate(levels), enumerate(others)):
            at = {"factor": one, "other": other, "position": n, "other_position": m}
            at |= {"level": level, "other_level": other_level}
            both = [cell for cell in cells if cell in its]
            rows.extend(key | at | {"metric": metric} | _over(metric, both) for metric in MEANS)
    return _table("pairs", rows)
