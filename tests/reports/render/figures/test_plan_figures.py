"""Figures of plans."""

from __future__ import annotations

import pytest

from reports.analysis.plans.broker_tables import load_distributions
from reports.render.figures.plan_figures import draw_load, plan_figures
from reports.render.figures.run_figures import figure_bytes
from tests.reports.sample_plans import results

pytestmark = pytest.mark.answers

FIGURES = ["leaders", "replicas", "bytes"]


@pytest.mark.parametrize("extra", [0, 80, 400])
def test_bar_heights_are_the_loads(extra: int) -> None:
    [load] = [
        load
        for load in load_distributions(results(extra=extra))
        if (load.measure.name, load.level) == ("replicas", "broker")
    ]
    figure = draw_load((load, "prod"))
    [even_panel, greedy_panel] = [axes for axes in figure.axes if axes.get_visible()]
    for panel, values in ((even_panel, load.after["even"]), (greedy_panel, load.after["greedy"])):
        bars = [patch.get_height() for patch in panel.patches if hasattr(patch, "get_height")]
        steps = [patch.get_data().values.tolist() for patch in panel.patches if hasattr(patch, "get_data")]
        heights = bars or steps[0]
        assert max(heights) == max(values)
        assert extra == 400 or heights == list(values)
        assert panel.get_ylim()[1] >= max(*values, *load.before)


@pytest.mark.slow
def test_figures_are_reproducible_in_every_format() -> None:
    for draw in plan_figures(results()).values():
        assert figure_bytes(draw(), "svg") == figure_bytes(draw(), "svg")
        assert figure_bytes(draw(narrow=True), "png").startswith(b"\x89PNG")
    expected = [f"{name}_per_{level}" for name in FIGURES for level in ("broker", "rack")]
    assert list(plan_figures(results())) == [*expected, "replicas_moved"]
