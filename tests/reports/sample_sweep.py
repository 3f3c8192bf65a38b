"""An aggregated sweep computed by hand, as `assignor-sim aggregate` writes it: tests of its page need no Spark.

Two factors, two assignors and four metrics. Means of the two cells of each setting:

    setting  rate  standbys   cost (steady, rival)   moves (steady, rival)
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

from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep, read_sweep
from reports.analysis.sweeps.sweep_directory import SweepAggregate
from reports.analysis.sweeps.tables import AGGREGATE_SCHEMAS

Row = dict[str, Any]

ASSIGNORS = ("steady", "rival")
LEVELS = {"rate": (1.0, 5.0), "standbys": (0.0, 1.0)}
MEANS: dict[str, Sequence[tuple[float | None, float | None]]] = {
    "cross_rack_usd_per_day": [(10, 8), (12, 9), (20, 15), (22, 30)],
    "active_moves": [(4, 6), (4, 5), (2, 9), (1, 9)],
    "time_to_converge_ms": [(1000, 3000), (1000, 3000), (2000, None), (2000, 3000)],
    "load_skew": [(1, 1), (1, 1), (1, 1), (1, 1)],
}
OBJECTIVES = ("cross_rack_usd_per_day", "active_moves", "time_to_converge_ms")
# Position on the Pareto front, or the setting and assignor that dominates the cell.
FRONT_POSITIONS: dict[tuple[int, int], int | tuple[int, int]] = {
    (0, 1): 1,
    (1, 1): 2,
    (0, 0): 3,
    (1, 0): (0, 0),
    (2, 0): 4,
    (2, 1): (1, 1),
    (3, 0): 5,
}
LEFT_OUT = "1 of 3 runs ended without an assignment"
BEST = {"cross_rack_usd_per_day": (0, 1, 0), "active_moves": (3, 0, 0), "time_to_converge_ms": (0, 0, 1)}
SHARES = {
    "cross_rack_usd_per_day": (0.6, 0.1, 0.05),
    "active_moves": (0.0, 0.02, 0.7),
    "time_to_converge_ms": (0.1, 0.0, 0.8),
}


def aggregate(
    names: Mapping[str, str] | None = None, *, changes: Sequence[tuple[str, str]] = (), unit: str | None = None
) -> SweepAggregate:
    """Return the aggregate of the sweep.

    Args:
        names: new names of `weights`, the assignors and the factors.
        changes: values that the sweep sets for all runs, by path.
        unit: unit of the factor `rate`.
    """
    new_names = dict(names or {})
    name = new_names.get("weights", "weights")
    assignors = [new_names.get(label, label) for label in ASSIGNORS]
    factors = [new_names.get(factor, factor) for factor in LEVELS]
    key = {"scenario": "orders", "sweep": name}
    settings = list(itertools.product(*LEVELS.values()))
    labels = [", ".join(f"{f}={v:g}" for f, v in zip(factors, values, strict=True)) for values in settings]
    cells = [(setting, rank) for setting in range(len(settings)) for rank in range(2)]
    keys = {
        (setting, rank): key | {"setting": setting, "label": labels[setting], "assignor": assignors[rank]}
        for setting, rank in cells
    }
    tables = {
        "cells": _cells(keys, dict(zip(factors, zip(*settings, strict=True), strict=True))),
        "differences": _differences(keys, assignors[0]),
        "front": _front(keys, name, assignors),
        "sensitivity": _sensitivity(key, [*factors, "assignor"]),
        "levels": _levels(key, factors, assignors, settings),
        "pairs": _pairs(key, factors, assignors, settings),
    }
    best = [
        {"objective": metric, "others_equal": others, **keys[setting, rank]}
        for metric, (setting, rank, others) in BEST.items()
    ]
    scenario = {"scenario": "orders", "objectives": list(OBJECTIVES), "cells_considered": 7, "cells_on_front": 5}
    sweep_summary = key | {
        "baseline": assignors[0],
        "assignors": assignors,
        "factors": [{"name": factor} for factor in factors],
    }
    summary = {
        "sweeps": [sweep_summary | {"settings": 4, "seeds": 3, "runs": 24}],
        "scenarios": [scenario | {"best": best}],
        "left_out": [{"sweep": name, "what": "cells", "number": 1, "why": LEFT_OUT}],
    }
    manifest = {
        "kind": "sweep",
        "name": name,
        "text": f"name: {name}\nscenario: ../orders.yaml  # of a shop\n",
        "scenario": {
            "name": "orders-of-a-shop",
            "text": "name: orders-of-a-shop\n",
            "sha256": "ab" * 32,
            "imports": {},
        },
        "factors": [
            {"name": factors[0], "paths": ["clients[0].restore"], "kind": "text", "unit": unit},
            {
                "name": factors[1],
                "paths": ["application.configs.num.standby.replicas"],
                "kind": "number",
                "unit": None,
            },
        ],
        "changes": [list(change) for change in changes],
        "assignors": assignors,
        "seeds": [1, 2, 3],
        "baseline": assignors[0],
        "runs": 24,
        "command": f"assignor-sim sweep {name}.yaml",
        "versions": {"python": "3.11.7"},
    }
    return SweepAggregate("out/weights", manifest, summary, tables)


def sweep(names: Mapping[str, str] | None = None) -> AggregatedSweep:
    """Return the sweep as its page reads it."""
    return read_sweep(aggregate(names))


def write(sweep_aggregate: SweepAggregate, directory: Path) -> Path:
    """Write the aggregate as a sweep directory."""
    folder = directory / "aggregate"
    folder.mkdir(parents=True)
    (directory / "manifest.json").write_text(json.dumps(sweep_aggregate.manifest), encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(sweep_aggregate.summary), encoding="utf-8")
    for name, table in sweep_aggregate.tables.items():
        (folder / name).mkdir()
        pq.write_table(table, folder / name / "part-0.parquet")
    return directory


def _table(name: str, rows: Sequence[Row], more: Sequence[pa.Field] = ()) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=pa.schema([*AGGREGATE_SCHEMAS[name], *more]))


def _mean(metric: str, cell: tuple[int, int]) -> float | None:
    return MEANS[metric][cell[0]][cell[1]]


def _cells(keys: Mapping[tuple[int, int], Row], values: Mapping[str, Sequence[float]]) -> pa.Table:
    rows = []
    for cell, key in keys.items():
        for metric in MEANS:
            mean = _mean(metric, cell)
            ends = {} if mean is None else {"mean": mean, "ci_low": mean * 0.75, "ci_high": mean * 1.5}
            counts = {"runs": 3, "errors": 0, "failed": int(cell == (3, 1)), "stable": 1.0, "known": 3 if ends else 0}
            rows.append(key | {"metric": metric} | counts | ends | {n: v[cell[0]] for n, v in values.items()})
    return _table("cells", rows, [pa.field(name, pa.float64()) for name in values])


def _differences(keys: Mapping[tuple[int, int], Row], baseline: str) -> pa.Table:
    """Return differences with intervals of ±1: a difference of one or less is not significant."""
    rows = []
    for (setting, rank), key in keys.items():
        for metric in MEANS:
            value, baseline_value = _mean(metric, (setting, rank)), _mean(metric, (setting, 0))
            if rank and value is not None and baseline_value is not None:
                mean = value - baseline_value
                ends = {"mean_difference": mean, "difference_low": mean - 1, "difference_high": mean + 1, "pairs": 3}
                rows.append(key | {"baseline": baseline, "metric": metric} | ends)
    return _table("differences", rows)


def _front(keys: Mapping[tuple[int, int], Row], name: str, assignors: Sequence[str]) -> pa.Table:
    rows = []
    for cell, key in keys.items():
        position = FRONT_POSITIONS.get(cell)
        on_front = isinstance(position, int)
        best_of = [metric for metric, best in BEST.items() if best[:2] == cell]
        row = key | {"runs": 3, "errors": 0, "failed": 0, "stable": 1.0, "on_front": on_front, "best_of": best_of}
        row |= {metric: _mean(metric, cell) for metric in OBJECTIVES}
        row |= {"place": position if on_front else None, "left_out": LEFT_OUT if position is None else None}
        if isinstance(position, tuple):
            row |= {"dominated_by_sweep": name, "dominated_by_setting": position[0]}
            row |= {"dominated_by_assignor": assignors[position[1]]}
        rows.append(row)
    return _table("front", rows)


def _sensitivity(key: Row, factors: Sequence[str]) -> pa.Table:
    rows = []
    for metric, shares in SHARES.items():
        order = sorted(range(3), key=lambda number: -shares[number])
        for number, (factor, share) in enumerate(zip(factors, shares, strict=True)):
            row = {
                "metric": metric,
                "factor": factor,
                "rank": order.index(number) + 1,
                "levels": 2,
                "runs": 24,
                "share": share,
            }
            rows.append(key | row)
    return _table("sensitivity", rows)


def _groups(
    factors: Sequence[str], assignors: Sequence[str], settings: Sequence[Sequence[float]]
) -> list[tuple[str, list[tuple[str, list[tuple[int, int]]]]]]:
    """Return every factor with its levels and the cells of each level."""
    cells = [(setting, rank) for setting in range(len(settings)) for rank in range(2)]
    groups = [
        (
            factor,
            [(f"{value:g}", [cell for cell in cells if settings[cell[0]][number] == value]) for value in values],
        )
        for number, (factor, values) in enumerate(zip(factors, LEVELS.values(), strict=True))
    ]
    by_rank = [(label, [cell for cell in cells if cell[1] == rank]) for rank, label in enumerate(assignors)]
    return [*groups, ("assignor", by_rank)]


def _aggregate_mean(metric: str, cells: Sequence[tuple[int, int]]) -> Row:
    known = [mean for mean in (_mean(metric, cell) for cell in cells) if mean is not None]
    return {"runs": 3 * len(known), "mean": sum(known) / len(known) if known else None}


def _levels(key: Row, factors: Sequence[str], assignors: Sequence[str], settings: Sequence[Any]) -> pa.Table:
    rows = []
    for factor, levels in _groups(factors, assignors, settings):
        for position, (level, cells) in enumerate(levels):
            place = {"factor": factor, "position": position, "level": level}
            if factor != "assignor":
                place |= {"low": float(level), "high": float(level)}
            rows.extend(
                key | place | {"metric": metric, "sd": 0.5} | _aggregate_mean(metric, cells) for metric in MEANS
            )
    return _table("levels", rows)


def _pairs(key: Row, factors: Sequence[str], assignors: Sequence[str], settings: Sequence[Any]) -> pa.Table:
    rows = []
    for (factor, levels), (other_factor, other_levels) in itertools.combinations(
        _groups(factors, assignors, settings), 2
    ):
        for (n, (level, cells)), (m, (other_level, other_cells)) in itertools.product(
            enumerate(levels), enumerate(other_levels)
        ):
            pair = {"factor": factor, "other": other_factor, "position": n, "other_position": m}
            pair |= {"level": level, "other_level": other_level}
            common = [cell for cell in cells if cell in other_cells]
            rows.extend(key | pair | {"metric": metric} | _aggregate_mean(metric, common) for metric in MEANS)
    return _table("pairs", rows)
