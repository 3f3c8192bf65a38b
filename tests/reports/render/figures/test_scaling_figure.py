"""The figure of autoscalers: pods, lag and rebalances on one time axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from reports.render.figures.run_figures import RUN_FIGURES, figure_bytes, run_figures, scaling
from tests.reports.sample_runs import HOSTILE, four_assignors
from tests.reports.sample_scaling import STEPS, scaled_runs


def panels(figure: Figure, number: int) -> tuple[Axes, Axes, Axes]:
    pods, lag, lanes = figure.axes[3 * number : 3 * number + 3]
    return pods, lag, lanes


def values(axes: Axes, line: int) -> list[float]:
    return [float(value) for value in np.asarray(axes.lines[line].get_ydata())]


def test_panels_hold_every_decision_and_rebalance() -> None:
    figure = scaling(scaled_runs())
    assert len(figure.axes) == 6
    pods, lag, lanes = panels(figure, 0)
    steps: list[dict[str, Any]] = STEPS["eager"]
    assert values(pods, 0)[:-1] == [row["recommended"] for row in steps]
    assert values(pods, 1)[:-1] == [row["replicas"] for row in steps]
    assert values(lag, 0)[:-1] == [row["lag"] / 1000 for row in steps]
    assert values(lag, 1)[:-1] == [row["target_lag"] / 1000 for row in steps]
    assert lag.get_ylabel() == "lag (thousands)"
    _, its_own, others = lanes.collections[-3], lanes.collections[-2], lanes.collections[-1]
    assert [path.vertices[0][0] for path in its_own.get_paths()] == [6, 11, 45]  # type: ignore[index]
    assert [path.vertices[0][0] for path in others.get_paths()] == [21]  # type: ignore[index]
    assert {axes.get_xlim() for axes in figure.axes} == {(0, 60)}
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "held by the stabilization window" in labels
    assert len(labels) == len(set(labels))


def test_a_reason_has_the_same_style_in_all_figures() -> None:
    tables = scaled_runs()
    rows = tables["scaling"].to_pylist()
    late = [row for row in rows if row["reason"] != "limited by the minimum of replicas"]
    colors = []
    for steps in (rows, late):
        figure = scaling({**tables, "scaling": pa.Table.from_pylist(steps, tables["scaling"].schema)})
        [legend] = figure.legends
        titles = [text.get_text() for text in legend.get_texts()]
        handle = legend.legend_handles[titles.index("held by the stabilization window")]
        assert isinstance(handle, Patch)
        colors.append((handle.get_facecolor(), handle.get_hatch()))
    assert colors[0] == colors[1]


@pytest.mark.parametrize("narrow", [False, True])
def test_nothing_is_outside_the_figure(narrow: bool) -> None:
    figure = scaling(scaled_runs(workload=HOSTILE[0], labels=("a" * 90, "b")), narrow=narrow)
    figure_bytes(figure, "png")
    boxes = [figure.legends[0].get_window_extent(), *(axes.get_tightbbox() for axes in figure.axes)]
    for box in boxes:
        assert box is not None
        assert box.x0 >= figure.bbox.x0
        assert box.x1 <= figure.bbox.x1
        assert box.y0 >= figure.bbox.y0


def test_files_include_the_figure_only_with_an_autoscaler() -> None:
    names = [draw.__name__ for draw in RUN_FIGURES]
    assert list(run_figures(four_assignors())) == names
    assert list(run_figures(scaled_runs())) == [*names, "scaling"]
    [axes] = scaling(four_assignors()).axes
    assert axes.texts[0].get_text() == "no autoscaler"
    assert figure_bytes(scaling(scaled_runs()), "svg") == figure_bytes(scaling(scaled_runs()), "svg")
