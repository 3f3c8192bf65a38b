"""An aggregated sweep: its cells in a fixed order, and their metrics by index."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from reports.analysis.metrics import Metric
from reports.analysis.sweeps.sweep_directory import SweepAggregate
from reports.analysis.text import printable

Row = Mapping[str, Any]

_SCENARIO = re.compile(r"""^scenario:[ ]*["']?([^"'#\n]*[^"'#\s])""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with its confidence interval.

    Attributes:
        low: lower end of the interval; None without an interval.
        high: upper end.
        runs: number of values.
    """

    mean: float
    low: float | None
    high: float | None
    runs: int


CellEstimates = Mapping[str, Mapping[int, MeanEstimate]]
"""Estimates by key of the metric, then by index of the cell; cells with an unknown value are missing."""


@dataclass(frozen=True, slots=True)
class SweepFactor:
    """A factor of a sweep.

    Attributes:
        name: name of the factor.
        levels: its levels as text, in order.
    """

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AggregatedCell:
    """An assignor in a setting.

    Attributes:
        label: text of the setting.
        assignor: label of the assignor.
        levels: index of its level of each factor, in the order of `AggregatedSweep.factors`.
        args: arguments of `--set` for the setting, `path=value`.
        row: its row in the table `front`.
    """

    setting: int
    label: str
    assignor: str
    levels: tuple[int, ...]
    args: tuple[str, ...]
    row: Row


@dataclass(frozen=True, slots=True)
class AggregatedSweep:
    """An aggregated sweep.

    Attributes:
        name: name of the sweep.
        baseline: label of the baseline assignor.
        assignors: labels of all assignors.
        objectives: metrics of the Pareto front.
        metrics: known metrics: objectives first, then those of which lower values are better, then the others.
        factors: factors of the sweep; the last one is the assignor.
        cells: cells by setting, then in the order of `assignors`.
        differences: differences from the baseline in the same setting, paired by seed.
        aggregate: tables and summary that it was read from.
    """

    name: str
    baseline: str
    assignors: tuple[str, ...]
    objectives: tuple[Metric, ...]
    metrics: tuple[Metric, ...]
    factors: tuple[SweepFactor, ...]
    cells: tuple[AggregatedCell, ...]
    means: CellEstimates
    differences: CellEstimates
    aggregate: SweepAggregate

    def indices(self) -> dict[tuple[int, str], int]:
        """Return the index of each cell by setting and assignor."""
        return {(cell.setting, cell.assignor): index for index, cell in enumerate(self.cells)}


def command(sweep: AggregatedSweep, assignor: str, args: Sequence[str] = ()) -> str:
    """Return the command that repeats the runs of a cell.

    `args`: `path=value` arguments of the setting; by default, only those that all settings have in common.
    """
    manifest = sweep.aggregate.manifest
    # Of a sweep that stopped seeds, those that all cells have, over which the means of the objectives are.
    shared = sweep.aggregate.summary["sweeps"][0].get("stopped", {}).get("shared_seeds")
    seeds = [word for seed in manifest.get("seeds", ())[:shared] for word in ("--seed", str(seed))]
    fixed = [f"{path}={value}" for path, value in manifest.get("changes", ())]
    return printable(
        shlex.join(
            [
                "assignor-sim",
                "run",
                _scenario_file(manifest),
                "--assignor",
                assignor,
                *seeds,
                *set_args([*fixed, *args]),
            ]
        )
    )


def _scenario_file(manifest: Mapping[str, Any]) -> str:
    """Return the file name of the scenario as the sweep file says; without it, the name of the scenario."""
    named = _SCENARIO.search(str(manifest.get("text", "")))
    if named is None:
        return str(manifest["scenario"]["name"])
    return f"{PurePath(named[1]).name.removesuffix('.yaml')}.yaml"


def set_args(args: Sequence[str]) -> list[str]:
    """Return `--set path=value` arguments as separate command-line words."""
    return [word for arg in args for word in ("--set", arg)]
