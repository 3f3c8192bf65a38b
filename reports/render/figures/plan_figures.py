"""Figures of replica plans; `plan_figures` lists those for a plan directory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from reports.analysis.plans.broker_tables import LoadDistribution, MoveMatrix, load_distributions, move_matrices
from reports.analysis.plans.results import PlanResults
from reports.analysis.text import printable, shortened
from reports.render.drawing import heat_map, load_panels
from reports.render.figures.run_figures import figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[..., "Figure"]
"""Draws a figure; accepts `narrow`."""


def plan_figures(results: PlanResults) -> dict[str, Draw]:
    """Return the drawing function of each figure by file name."""
    draw_functions: dict[str, Draw] = {
        f"{load.measure.name}_per_{load.level}": partial(draw_load, (load, results.source))
        for load in load_distributions(results)
    }
    matrices = move_matrices(results, "move")
    if matrices:
        draw_functions["replicas_moved"] = partial(draw_moves, matrices, results.source)
    return draw_functions


def draw_load(load_and_source: tuple[LoadDistribution, str], *, narrow: bool = False) -> Figure:
    """Draw the load before and after each plan.

    `load_and_source`: the load, and the name of the cluster.
    """
    load, source = load_and_source
    with figure_style():
        return load_panels.draw(load, load.title if narrow else _title(load.title, source), narrow=narrow)


def draw_moves(matrices: Sequence[MoveMatrix], source: str, *, narrow: bool = False) -> Figure:
    """Draw the move matrix of each plan.

    `matrices`: at least one matrix; `source`: the name of the cluster.
    """
    title = "Replicas moved"
    with figure_style():
        return heat_map.draw(matrices, title if narrow else _title(title, source), narrow=narrow)


def _title(what: str, source: str) -> str:
    return f"{what}: {shortened(printable(source), 30)}"
