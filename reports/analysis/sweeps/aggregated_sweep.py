"""A sweep as its page needs it: cells in a fixed order, and everything else by their places in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from reports.analysis.metric import Metric
from reports.analysis.sweeps.sweep_directory import SweepAggregate
from reports.analysis.text import printable

Row = Mapping[str, Any]

_SCENARIO = re.compile(r"""^scenario:[ ]*["']?([^"'#\n]*[^"'#\s])""", re.MULTILINE)
_TITLES = {
    "cross_rack_source_partitions_bound": "Lower bound of cross-rack partitions",
    "total_cost_bound": "Lower bound of the cost by KIP-925",
    "cross_rack_usd_per_day": "Cross-rack cost, a day",
    "cross_rack_usd": "Cross-rack cost, whole run",
    "moves_member_lost": "Moved, client lost",
    "moves_promoted": "Moved to a copy",
    "moves_returned": "Moved back",
    "moves_rack": "Moved nearer",
    "moves_balance": "Moved for balance",
    "restored_again_bytes": "State restored for the second time",
}


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean, the ends of its interval, which are None if there is none, and of how many values it is."""

    mean: float
    low: float | None
    high: float | None
    runs: int


CellEstimates = Mapping[str, Mapping[int, MeanEstimate]]
"""By the name of a metric, then by the place of a cell; what is not known is not there."""


@dataclass(frozen=True, slots=True)
class SweepFactor:
    """Something that differs between cells, and its levels as text, in order."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """An assignor in a setting.

    Attributes:
        setting: number of the setting.
        label: the setting in words.
        levels: the place of its level of each factor, in the order of `Sweep.factors`.
        args: what `--set` takes to make the setting, `path=value`.
        row: of the table `front`.
    """

    setting: int
    label: str
    assignor: str
    levels: tuple[int, ...]
    args: tuple[str, ...]
    row: Row


@dataclass(frozen=True, slots=True)
class AggregatedSweep:
    """A sweep of which everything is worked out.

    Attributes:
        objectives: the metrics that the front weighs against each other.
        metrics: what is known of its cells: objectives first, then what is better if less, then the rest.
        factors: the assignor is the last one.
        cells: by setting, then in the order of `assignors`.
        figures: the means of the cells.
        differences: those against the baseline in the same setting with the same seeds.
    """

    name: str
    baseline: str
    assignors: tuple[str, ...]
    objectives: tuple[Metric, ...]
    metrics: tuple[Metric, ...]
    factors: tuple[SweepFactor, ...]
    cells: tuple[Cell, ...]
    figures: CellEstimates
    differences: CellEstimates
    aggregate: SweepAggregate

    def places(self) -> dict[tuple[int, str], int]:
        """Where each cell stands, by setting and assignor."""
        return {(cell.setting, cell.assignor): place for place, cell in enumerate(self.cells)}


def title(metric: Metric) -> str:
    """A metric by a name that says what it is without its neighbours in a comparison."""
    return _TITLES.get(metric.name, metric.title)


def command(sweep: AggregatedSweep, assignor: str, args: Sequence[str] = ()) -> str:
    """How the runs of a cell are made again, one by one.

    Args:
        sweep: the sweep.
        assignor: of the cell.
        args: what makes the setting; without it, what all settings have in common.
    """
    manifest = sweep.aggregate.manifest
    seeds = [word for seed in manifest.get("seeds", ()) for word in ("--seed", str(seed))]
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
    """The file of the scenario, beside the sweep or shipped; what the scenario is called if nothing says which."""
    named = _SCENARIO.search(str(manifest.get("text", "")))
    if named is None:
        return str(manifest["scenario"]["name"])
    return f"{PurePath(named[1]).name.removesuffix('.yaml')}.yaml"


def set_args(args: Sequence[str]) -> list[str]:
    """The words of a command that change a scenario."""
    return [word for arg in args for word in ("--set", arg)]
