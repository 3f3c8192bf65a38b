"""Figures of runs."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.render.drawing.style import INK, PAPER, line_style
from reports.render.figures.run_figures import (
    FORMATS,
    convergence,
    cross_rack_traffic,
    figure_bytes,
    reasons_of_moves,
    save_figures,
)
from tests.reports.sample_runs import HOSTILE, MINUTE_MS, four_assignors, run_rounds, tables

pytestmark = pytest.mark.answers

Draw = Callable[..., Figure]
every_figure = pytest.mark.parametrize("draw", [cross_rack_traffic, convergence])


def only_axes(figure: Figure) -> Axes:
    [axes] = figure.axes
    return axes


def steps(figure: Figure) -> list[Line2D]:
    return [line for line in only_axes(figure).lines if line.get_drawstyle() == "steps-post"]


def floats(data: Any) -> list[float]:
    return [float(value) for value in data]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()] if figure.legends else []


def line_styles(figure: Figure) -> set[tuple[str, str, str]]:
    handles = figure.legends[0].legend_handles
    return {
        (str(line.get_color()), repr(line._dash_pattern), str(line.get_marker()))  # type: ignore[attr-defined]
        for line in handles
        if isinstance(line, Line2D)
    }


def two_assignors(points: list[tuple[int, float | None, int]]) -> dict[str, pa.Table]:
    return tables([{"assignor": name} for name in "ab"], [row for name in "ab" for row in run_rounds(name, points)])


@every_figure
def test_figure_has_one_line_per_assignor_and_a_legend(draw: Draw) -> None:
    figure = draw(four_assignors())
    assert len(steps(figure)) == 4
    assert legend(figure) == ["HA none", "HA min_traffic", "HA balance_subtopology", "sticky", "scenario event"]
    assert len(line_styles(figure)) == 5


def test_traffic_is_in_unit_of_axis() -> None:
    figure = cross_rack_traffic(four_assignors())
    axes = only_axes(figure)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (minutes)", "cross-rack traffic (MB/s)")
    assert axes.get_title(loc="left") == "Cross-rack traffic: rack_outage"
    none = steps(figure)[0]
    assert floats(none.get_xdata()) == [0, 20, 30, 40, 50, 60]
    assert floats(none.get_ydata()) == [41, 55, 52, 50, 48.3, 48.3]


def test_convergence_axis_starts_at_zero() -> None:
    figure = convergence(four_assignors())
    axes = only_axes(figure)
    assert axes.get_ylabel() == "tasks not at their final client"
    assert floats(steps(figure)[3].get_ydata()) == [12, 0, 0]
    assert axes.get_ylim()[0] <= 0
    assert all(tick == int(tick) for tick in axes.get_yticks())


@every_figure
def test_every_round_is_marked(draw: Draw) -> None:
    marks = [line for line in only_axes(draw(four_assignors())).lines if line.get_linestyle() == "None"]
    assert [len(np.asarray(line.get_xdata())) for line in marks] == [5, 5, 5, 2]


@every_figure
def test_events_are_labeled_lines(draw: Draw) -> None:
    axes = only_axes(draw(four_assignors()))
    assert [text.get_text() for text in axes.texts if text.get_text()] == ["broker 3 down +2", "broker 3 up"]
    thin = [line for line in axes.lines if line.get_linewidth() < 1]
    assert [floats(line.get_xdata()) for line in thin] == [[18, 18], [45, 45]]


@every_figure
@pytest.mark.parametrize("narrow", [False, True])
def test_legend_and_labels_do_not_cover_data(draw: Draw, narrow: bool) -> None:
    figure = draw(four_assignors(), narrow=narrow)
    figure_bytes(figure, "png")
    plot = only_axes(figure).get_window_extent()
    [legend_box] = [legend.get_window_extent() for legend in figure.legends]
    assert not legend_box.overlaps(plot)
    for text in only_axes(figure).texts:
        assert not text.get_text() or text.get_window_extent().y0 > plot.y1
    for box in (legend_box, only_axes(figure).get_tightbbox()):
        assert box
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1 + 1


@every_figure
def test_identical_lines_are_offset(draw: Draw) -> None:
    figure = draw(two_assignors([(0, 40e6, 8), (10, 30e6, 0)]))
    figure.draw_without_rendering()
    first, second = (line.get_transform().transform((1.0, 1.0)) for line in steps(figure))
    points = (first - second) * 72 / figure.dpi
    assert points[0] == 0
    assert abs(points[1]) == pytest.approx(2.4)


def test_lines_that_never_meet_are_not_offset() -> None:
    rounds = [*run_rounds("a", [(0, 40e6, 8)]), *run_rounds("b", [(0, 30e6, 7)])]
    figure = cross_rack_traffic(tables([{"assignor": "a"}, {"assignor": "b"}], rounds))
    figure.draw_without_rendering()
    first, second = (line.get_transform().transform((1.0, 1.0)) for line in steps(figure))
    assert tuple(first) == tuple(second)


def test_time_axis_ends_soon_after_last_change() -> None:
    day = 24 * 60
    figure = convergence(tables([{}], run_rounds("sticky", [(0, 1.0, 4), (90, 1.0, 0)], until_min=day)))
    assert only_axes(figure).get_xlim() == (0, 108)
    assert only_axes(figure).get_xlabel() == "time (minutes)"


@every_figure
def test_single_round_is_drawn_over_whole_run(draw: Draw) -> None:
    figure = draw(tables([{}], run_rounds("sticky", [(0, 0.0, 0)], until_min=600)))
    assert only_axes(figure).get_xlim() == (0, 10)
    assert only_axes(figure).get_xlabel() == "time (hours)"
    assert figure_bytes(figure, "png").startswith(b"\x89PNG")


@every_figure
@pytest.mark.parametrize("results", [tables([], []), tables([{}], [])])
def test_empty_figure_says_so(draw: Draw, results: dict[str, pa.Table]) -> None:
    figure = draw(results)
    assert [text.get_text() for text in only_axes(figure).texts] == ["no rebalance"]
    assert figure_bytes(figure, "svg")


def test_unknown_traffic_is_not_drawn() -> None:
    figure = cross_rack_traffic(two_assignors([(0, None, 3), (10, None, 0)]))
    assert [text.get_text() for text in only_axes(figure).texts] == ["no rebalance"]
    line = steps(cross_rack_traffic(tables([{}], run_rounds("sticky", [(0, None, 3), (10, 2e6, 0)]))))[0]
    assert np.isnan(np.asarray(line.get_ydata(), dtype=float)).tolist() == [True, False, False]


@every_figure
def test_range_over_seeds_is_shaded(draw: Draw) -> None:
    rounds = [
        row for seed in (1, 2) for row in run_rounds("sticky", [(0, 4e6 * seed, 9 * seed), (9, 1e6, 0)], seed=seed)
    ]
    figure = draw(tables([{"seed": 1}, {"seed": 2}], rounds))
    assert len(steps(figure)) == 1
    assert len(only_axes(figure).collections) == 1
    assert legend(figure) == ["sticky", "range over seeds; lines: median"]


@every_figure
def test_failed_assignor_is_marked_in_legend(draw: Draw) -> None:
    figure = draw(tables([{"verdict": "failed"}], run_rounds("sticky", [(0, 1.0, 0)])))
    assert legend(figure) == ["sticky (failed)"]


@pytest.mark.parametrize(("draw", "format"), [(cross_rack_traffic, "png"), (convergence, "svg"), (convergence, "pdf")])
def test_hostile_names_are_drawn_as_text(draw: Draw, format: str) -> None:
    rounds = [row for name in HOSTILE for row in run_rounds(name, [(0, 4e6, 9), (9, 1e6, 0)], scenario=HOSTILE[0])]
    runs = [{"assignor": name, "scenario": HOSTILE[0]} for name in HOSTILE]
    events = [{"at_ms": minute * MINUTE_MS, "event": name} for minute, name in enumerate(HOSTILE)]
    assert figure_bytes(draw(tables(runs, rounds, events)), format)


def test_svg_text_can_be_kept_as_text() -> None:
    runs = [{"assignor": "$\\frac{1}{2}$ <b>"}]
    figure = convergence(tables(runs, run_rounds("$\\frac{1}{2}$ <b>", [(0, 1.0, 0)])))
    root = ElementTree.fromstring(figure_bytes(figure, "svg", text_as_text=True))
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "$\\frac{1}{2}$ <b>" in texts
    assert b"<text" not in figure_bytes(figure, "svg")


@every_figure
def test_long_labels_leave_space_for_plot(draw: Draw) -> None:
    names = [f"{number} {'high_availability ' * 9}" for number in range(12)]
    rounds = [row for name in names for row in run_rounds(name, [(0, 4e6, 9), (9, 1e6, 0)])]
    figure = draw(tables([{"assignor": name} for name in names], rounds), narrow=True)
    figure_bytes(figure, "png")
    assert only_axes(figure).get_window_extent().height / figure.dpi > 1.8
    assert all(len(label) <= 36 and "…" in label for label in legend(figure))


@pytest.mark.slow
def test_saved_figures_are_reproducible(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        figures = {draw.__name__: draw(four_assignors()) for draw in (convergence, reasons_of_moves)}
        paths = save_figures(figures, tmp_path / name / "figures", FORMATS)
        written.append({path.name: path.read_bytes() for path in paths})
    assert written[0] == written[1]
    assert sorted(written[0]) == sorted(
        f"{name}.{format}" for name in ("convergence", "reasons_of_moves") for format in FORMATS
    )
    assert b"<dc:date>" not in written[0]["convergence.svg"]
    assert b"CreationDate" not in written[0]["convergence.pdf"]


def test_bytes_do_not_depend_on_process_or_matplotlib_configuration(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("font.size: 20\naxes.grid: False\nsvg.hashsalt: other\n")
    code = """
import hashlib, sys
from reports.render.figures.run_figures import convergence, figure_bytes
from tests.reports.sample_runs import four_assignors
print(hashlib.sha256(figure_bytes(convergence(four_assignors()), "svg")).hexdigest())
print("matplotlib.pyplot" in sys.modules)
"""
    environment = {"PYTHONHASHSEED": "5", "MATPLOTLIBRC": str(tmp_path), "PATH": "", "HOME": str(tmp_path)}
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    expected = hashlib.sha256(figure_bytes(convergence(four_assignors()), "svg")).hexdigest()
    assert process.stdout.split() == [expected, "False"]


def test_drawing_keeps_matplotlib_settings() -> None:
    before = dict(matplotlib.rcParams)
    figure_bytes(convergence(four_assignors()), "svg")
    assert dict(matplotlib.rcParams) == before


def test_unknown_format_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'gif' is not a figure format \(formats: png, svg, pdf\)"):
        save_figures({"convergence": convergence(four_assignors())}, tmp_path / "never", ["gif"])
    assert not (tmp_path / "never").exists()


def test_lines_differ_without_color() -> None:
    styles = [line_style(number) for number in range(30)]
    assert len({(style.dashes, style.marker) for style in styles}) == 30
    for first, second in combinations(styles[:5], 2):
        assert first.color != second.color
        assert first.dashes != second.dashes
        assert first.marker != second.marker


def test_line_colors_have_contrast_on_light_and_dark() -> None:
    def luminance(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(first: str, second: str) -> float:
        bright, dim = sorted((luminance(first), luminance(second)), reverse=True)
        return (bright + 0.05) / (dim + 0.05)

    for number in range(7):
        color = line_style(number).color
        assert contrast(color, PAPER) > 2
        assert color == INK or contrast(color, "#1c2027") > 3
