"""Sweeps as sections of a page.

The data for scripts are columns of indices into lists of names, within a size limit.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from reports.analysis import formatting
from reports.analysis.metrics import Metric
from reports.analysis.sweeps.aggregated_sweep import (
    AggregatedSweep,
    CellEstimates,
    MeanEstimate,
    command,
    set_args,
)
from reports.analysis.sweeps.conclusion import describe_stops
from reports.analysis.sweeps.grids import (
    MAX_DIFFERENCES,
    MAX_ON_FRONT,
    best_cells,
    difference_grid,
    differences_sentence,
    front_grid,
    front_sentence,
    heat_map,
    heat_sentence,
    level_grid,
    recommended_cell,
    sensitivity_sentence,
    share_grid,
)
from reports.analysis.text import printable
from reports.render.figures.sweep_figures import MAX_INTERVALS, SWEEP_FIGURES
from reports.render.html.inline_figures import InlineFigure, inline_figure
from reports.render.html.manifest_lines import manifest_lines, scenario_text
from reports.render.html.shell import Section

MAX_BYTES: Final = 1_800_000
"""Maximum size of the data of sweeps on a page."""

DIFFERENCES_SHARE: Final = 0.4
"""Maximum share of differences in these data."""

KINDS: Final[Mapping[Callable[[float], str], str]] = {
    formatting.format_bytes: "bytes",
    formatting.format_count: "count",
    formatting.format_duration: "time",
    formatting.format_number: "number",
    formatting.format_percent: "percent",
    formatting.format_rate: "rate",
    formatting.format_usd: "usd",
}
"""Names of the number formats in scripts."""

_DIGITS = 6
_NONE = -1

Json = dict[str, Any]


def embedded_data(sweep: AggregatedSweep, max_bytes: int = MAX_BYTES) -> tuple[Json, list[Metric], list[Metric]]:
    """Return the data of a sweep for scripts.

    `max_bytes`: maximum size of all statistics; those of the objectives are always included. Returns the data, the
    metrics whose means exceed the size limit, and the metrics whose differences do.
    """
    differences_bytes = int(max_bytes * DIFFERENCES_SHARE)
    means, without_means = _within_limit(sweep, sweep.means, range(len(sweep.cells)), max_bytes - differences_bytes)
    compared = sorted({index for estimates in sweep.differences.values() for index in estimates})
    differences, without_differences = _within_limit(sweep, sweep.differences, compared, differences_bytes)
    heat = heat_map(sweep)
    data = {
        **_names(sweep),
        **_settings(sweep),
        "cells": _cells(sweep),
        "metrics": [
            {"name": metric.name, "title": metric.title, "kind": KINDS[metric.write]} for metric in sweep.metrics
        ],
        "figures": means,
        "compared": compared,
        "heat": list(heat.factors) if heat else [],
        "differences": differences,
    }
    return data, without_means, without_differences


def _names(sweep: AggregatedSweep) -> Json:
    return {
        "name": printable(sweep.name),
        "baseline": printable(sweep.baseline),
        "assignors": [printable(item) for item in sweep.assignors],
        "commands": [command(sweep, item) for item in sweep.assignors],
        "objectives": [sweep.metrics.index(item) for item in sweep.objectives],
        "factors": [
            {"name": printable(item.name), "levels": [printable(level) for level in item.levels]}
            for item in sweep.factors
        ],
    }


def _settings(sweep: AggregatedSweep) -> Json:
    """Return every setting once; its `--set` arguments are indices into a list of texts."""
    args: dict[str, int] = {}
    settings: dict[int, list[Any]] = {}
    for cell in sweep.cells:
        if cell.setting not in settings:
            numbers = [args.setdefault(arg, len(args)) for arg in cell.args]
            settings[cell.setting] = [cell.setting, printable(cell.label), list(cell.levels[:-1]), numbers]
    return {"args": [printable(shlex.join(set_args([arg]))) for arg in args], "settings": list(settings.values())}


def _cells(sweep: AggregatedSweep) -> Json:
    settings = {setting: n for n, setting in enumerate(dict.fromkeys(cell.setting for cell in sweep.cells))}
    indices = sweep.indices()
    reasons: dict[str, int] = {}
    columns: dict[str, list[Any]] = {
        name: [] for name in ("setting", "assignor", "runs", "stable", "place", "by", "out")
    }
    for cell in sweep.cells:
        row = cell.row
        dominator = (row["dominated_by_setting"], row["dominated_by_assignor"])
        reason = row["left_out"]
        values = (
            settings[cell.setting],
            sweep.assignors.index(cell.assignor),
            row["runs"],
            _rounded(row["stable"]),
            row["place"] or 0,
            indices.get(dominator, _NONE),
            _NONE if reason is None else reasons.setdefault(printable(reason), len(reasons)),
        )
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    return {**columns, "reasons": list(reasons)}


def _within_limit(
    sweep: AggregatedSweep, estimates: CellEstimates, cells: Sequence[int], max_bytes: int
) -> tuple[dict[str, Json], list[Metric]]:
    """Return the columns of metrics by number within the size limit, and the metrics that exceed it."""
    included: dict[str, Json] = {}
    left_out: list[Metric] = []
    size = 0
    for number, metric in enumerate(sweep.metrics):
        if metric.name not in estimates:
            continue
        metric_columns = _columns(estimates[metric.name], cells)
        size += len(json.dumps(metric_columns, separators=(",", ":")))
        if size <= max_bytes or metric in sweep.objectives:
            included[str(number)] = metric_columns
        else:
            left_out.append(metric)
    return included, left_out


def _columns(estimates: Mapping[int, MeanEstimate], cells: Sequence[int]) -> Json:
    """Return columns of means and distances to the interval ends; a constant column is a single value."""
    in_order = [estimates.get(cell) for cell in cells]
    return {
        "mean": _column([_rounded(estimate.mean) if estimate else None for estimate in in_order]),
        "below": _column([_distance(estimate, estimate.low) if estimate else None for estimate in in_order]),
        "above": _column([_distance(estimate, estimate.high) if estimate else None for estimate in in_order]),
        "runs": _column([estimate.runs if estimate else None for estimate in in_order]),
    }


def _distance(estimate: MeanEstimate, end: float | None) -> float | None:
    return None if end is None else _rounded(abs(end - estimate.mean), 4)


def _column(values: list[float | None]) -> list[float | None] | float | None:
    return values[0] if values and all(value == values[0] for value in values) else values


def _rounded(value: float | None, digits: int = _DIGITS) -> float | None:
    if value is None:
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


_FACTS = ("baseline", "command", "seeds", "versions")


def sweep_sections(sweeps: Sequence[AggregatedSweep]) -> list[Section]:
    """Return one section per sweep; they share the size limit for data."""
    return [_section(sweep, f"sweep-{number}", MAX_BYTES // len(sweeps)) for number, sweep in enumerate(sweeps, 1)]


def _section(sweep: AggregatedSweep, id: str, max_bytes: int) -> Section:
    data, without_means, without_differences = embedded_data(sweep, max_bytes)
    summary = sweep.aggregate.summary
    compared = sweep.objectives[0] if sweep.objectives else None
    heat = heat_map(sweep)
    differing = sweep.differences.get(compared.name, {}) if compared else {}
    context = {
        "id": id,
        "sweep": sweep,
        "facts": summary["sweeps"][0],
        "stops": describe_stops(summary["sweeps"][0]) if summary["sweeps"][0].get("stopped") else "",
        "scenario": summary["scenarios"][0],
        "titles": [metric.title for metric in sweep.objectives],
        "best": best_cells(sweep),
        "recommended": recommended_cell(sweep),
        "sentences": {
            "front": front_sentence(sweep),
            "sensitivity": sensitivity_sentence(sweep),
            "heat": heat_sentence(sweep, heat) if heat else "",
            "differences": differences_sentence(sweep, compared) if compared else "",
        },
        "figures": dict(_figures(sweep, id)),
        "front": front_grid(sweep),
        "max_on_front": MAX_ON_FRONT,
        "heat": heat,
        "compared": compared.title if compared else "",
        "differences": difference_grid(sweep, compared) if compared else None,
        "differing": len(differing),
        "max_drawn": MAX_INTERVALS,
        "max_differences": MAX_DIFFERENCES,
        "shares": share_grid(sweep),
        "levels": level_grid(sweep),
        "left_out": list(_left_out(sweep)),
        "without_means": [metric.title for metric in without_means],
        "without_differences": [metric.title for metric in without_differences],
        "provenance": list(_provenance(sweep)),
        "scenario_text": scenario_text(sweep.aggregate.manifest),
        "text": _lines(sweep.aggregate.manifest.get("text", "")),
    }
    return Section(id, f"Sweep {printable(sweep.name)}", "sweep/sweep.html.j2", context, {f"{id}-data": data})


def _figures(sweep: AggregatedSweep, id: str) -> Iterator[tuple[str, InlineFigure]]:
    for draw in SWEEP_FIGURES:
        name = draw.__name__
        description = f"{name.replace('_', ' ').capitalize()}; tables hold the numbers"
        yield name, inline_figure(draw, sweep, f"{id}-{name}", description)


def _left_out(sweep: AggregatedSweep) -> Iterator[tuple[str, str]]:
    """Yield the number of items left out, and why."""
    for row in sweep.aggregate.summary["left_out"]:
        what = row["what"].removesuffix("s") if row["number"] == 1 else row["what"]
        yield f"{row['number']:,} {what}", str(row["why"])


def _provenance(sweep: AggregatedSweep) -> Iterator[tuple[str, str]]:
    manifest = sweep.aggregate.manifest
    yield "directory", sweep.aggregate.name
    for manifest_factor, factor in zip(manifest.get("factors", ()), sweep.factors, strict=False):
        yield f"factor {factor.name}", f"{', '.join(factor.levels)} at {', '.join(manifest_factor['paths'])}"
    if manifest.get("changes"):
        yield "set for all runs", ", ".join(f"{path}={value}" for path, value in manifest["changes"])
    yield from ((term, text) for term, text in manifest_lines(manifest) if term in _FACTS and text)


def _lines(text: Any) -> str:
    return "\n".join(printable(line) for line in str(text).split("\n"))
