"""Pictures of plans by matplotlib; `plan_figures` names those that a plan folder has data for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from reports.analysis.plans.load_distributions import LoadDistribution, loads
from reports.analysis.plans.move_matrices import MoveMatrix, matrices
from reports.analysis.plans.results import PlanResults
from reports.analysis.text import printable, shortened
from reports.render.drawing import heat_map, load_panels
from reports.render.figures.run_figures import figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[..., "Figure"]
"""Draws a figure; takes `narrow`."""


def plan_figures(results: PlanResults) -> dict[str, Draw]:
    """Return what draws each figure, by the name of its file."""
    drawn: dict[str, Draw] = {
        f"{load.measure.name}_per_{load.level}": partial(draw_load, (load, results.source)) for load in loads(results)
    }
    found = matrices(results, "move")
    if found:
        drawn["replicas_moved"] = partial(draw_moves, found, results.source)
    return drawn


def draw_load(drawn: tuple[LoadDistribution, str], *, narrow: bool = False) -> Figure:
    """Draw a load before and after each plan.

    Args:
        drawn: the load, and the name of the cluster.
        narrow: for a small screen or a column of a page.
    """
    load, source = drawn
    with figure_style():
        return load_panels.draw(load, load.title if narrow else _title(load.title, source), narrow=narrow)


def draw_moves(found: Sequence[MoveMatrix], source: str, *, narrow: bool = False) -> Figure:
    """Draw the matrix of moves of each plan.

    Args:
        found: at least one matrix.
        source: the name of the cluster.
        narrow: for a small screen or a column of a page.
    """
    title = "Replicas moved"
    with figure_style():
        return heat_map.draw(found, title if narrow else _title(title, source), narrow=narrow)


def _title(what: str, source: str) -> str:
    return f"{what}: {shortened(printable(source), 30)}"
