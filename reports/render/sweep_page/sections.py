"""Sweeps as sections of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep
from reports.analysis.sweeps.best_cells import best_cells
from reports.analysis.sweeps.grids import (
    MAX_DIFFERENCES,
    MAX_ON_FRONT,
    difference_grid,
    front_grid,
    heat_map,
    level_grid,
    share_grid,
)
from reports.analysis.sweeps.highlights import (
    differences_sentence,
    front_sentence,
    heat_sentence,
    sensitivity_sentence,
)
from reports.analysis.sweeps.recommended_cell import recommended_cell
from reports.analysis.sweeps.stopped_seeds import describe_stops
from reports.analysis.text import printable
from reports.render.figures.sweep_figures import MAX_INTERVALS, SWEEP_FIGURES
from reports.render.html.inline_figures import InlineFigure, inline_figure
from reports.render.html.manifest_lines import manifest_lines, scenario_text
from reports.render.html.shell import Section
from reports.render.sweep_page.embedded_data import MAX_BYTES, embedded_data

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
