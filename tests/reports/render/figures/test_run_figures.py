"""The pictures."""

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
    RUN_FIGURES,
    convergence,
    cross_rack_traffic,
    figure_bytes,
    save_figures,
)
from tests.reports.sample_runs import HOSTILE, MINUTE_MS, four_assignors, run_rounds, tables

Draw = Callable[..., Figure]
every_figure = pytest.mark.parametrize("draw", [cross_rack_traffic, convergence])


def axes_of(figure: Figure) -> Axes:
    [axes] = figure.axes
    return axes


def steps(figure: Figure) -> list[Line2D]:
    return [line for line in axes_of(figure).lines if line.get_drawstyle() == "steps-post"]


def numbers(data: Any) -> list[float]:
    return [float(each) for each in data]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()] if figure.legends else []


def strokes(figure: Figure) -> set[tuple[str, str, str]]:
    handles = figure.legends[0].legend_handles
    return {
        (str(line.get_color()), repr(line._dash_pattern), str(line.get_marker()))  # type: ignore[attr-defined]
        for line in handles
        if isinstance(line, Line2D)
    }


def two(points: list[tuple[int, float | None, int]]) -> dict[str, pa.Table]:
    return tables([{"assignor": name} for name in "ab"], [row for name in "ab" for row in run_rounds(name, points)])


@every_figure
def test_a_figure_has_one_line_an_assignor_and_names_all(draw: Draw) -> None:
    figure = draw(four_assignors())
    assert len(steps(figure)) == 4
    assert legend(figure) == ["HA none", "HA min_traffic", "HA balance_subtopology", "sticky", "scenario event"]
    assert len(strokes(figure)) == 5


def test_traffic_is_in_the_unit_of_its_axis() -> None:
    figure = cross_rack_traffic(four_assignors())
    axes = axes_of(figure)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (minutes)", "cross-rack traffic (MB/s)")
    assert axes.get_title(loc="left") == "Traffic between racks: rack_outage"
    none = steps(figure)[0]
    assert numbers(none.get_xdata()) == [0, 20, 30, 40, 50, 60]
    assert numbers(none.get_ydata()) == [41, 55, 52, 50, 48.3, 48.3]


def test_convergence_counts_tasks_from_zero() -> None:
    figure = convergence(four_assignors())
    axes = axes_of(figure)
    assert axes.get_ylabel() == "tasks not at their final client"
    assert numbers(steps(figure)[3].get_ydata()) == [12, 0, 0]
    assert axes.get_ylim()[0] <= 0
    assert all(tick == int(tick) for tick in axes.get_yticks())


@every_figure
def test_every_round_has_a_mark(draw: Draw) -> None:
    marks = [line for line in axes_of(draw(four_assignors())).lines if line.get_linestyle() == "None"]
    assert [len(np.asarray(line.get_xdata())) for line in marks] == [5, 5, 5, 2]


@every_figure
def test_events_are_named_lines(draw: Draw) -> None:
    axes = axes_of(draw(four_assignors()))
    assert [text.get_text() for text in axes.texts if text.get_text()] == ["broker 3 down +2", "broker 3 up"]
    thin = [line for line in axes.lines if line.get_linewidth() < 1]
    assert [numbers(line.get_xdata()) for line in thin] == [[18, 18], [45, 45]]


@every_figure
@pytest.mark.parametrize("narrow", [False, True])
def test_nothing_covers_the_data(draw: Draw, narrow: bool) -> None:
    figure = draw(four_assignors(), narrow=narrow)
    figure_bytes(figure, "png")
    plot = axes_of(figure).get_window_extent()
    [legend_box] = [each.get_window_extent() for each in figure.legends]
    assert not legend_box.overlaps(plot)
    for text in axes_of(figure).texts:
        assert not text.get_text() or text.get_window_extent().y0 > plot.y1
    for box in (legend_box, axes_of(figure).get_tightbbox()):
        assert box
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1 + 1


@every_figure
def test_identical_lines_are_drawn_side_by_side(draw: Draw) -> None:
    figure = draw(two([(0, 40e6, 8), (10, 30e6, 0)]))
    figure.draw_without_rendering()
    first, second = (line.get_transform().transform((1.0, 1.0)) for line in steps(figure))
    points = (first - second) * 72 / figure.dpi
    assert points[0] == 0
    assert abs(points[1]) == pytest.approx(2.4)


def test_lines_that_never_meet_are_drawn_where_they_are() -> None:
    rounds = [*run_rounds("a", [(0, 40e6, 8)]), *run_rounds("b", [(0, 30e6, 7)])]
    figure = cross_rack_traffic(tables([{"assignor": "a"}, {"assignor": "b"}], rounds))
    figure.draw_without_rendering()
    first, second = (line.get_transform().transform((1.0, 1.0)) for line in steps(figure))
    assert tuple(first) == tuple(second)


def test_the_axis_of_time_ends_soon_after_the_last_thing_that_happens() -> None:
    day = 24 * 60
    figure = convergence(tables([{}], run_rounds("sticky", [(0, 1.0, 4), (90, 1.0, 0)], until_min=day)))
    assert axes_of(figure).get_xlim() == (0, 108)
    assert axes_of(figure).get_xlabel() == "time (minutes)"


@every_figure
def test_one_round_is_shown_over_the_whole_run(draw: Draw) -> None:
    figure = draw(tables([{}], run_rounds("sticky", [(0, 0.0, 0)], until_min=600)))
    assert axes_of(figure).get_xlim() == (0, 10)
    assert axes_of(figure).get_xlabel() == "time (hours)"
    assert figure_bytes(figure, "png").startswith(b"\x89PNG")


@every_figure
@pytest.mark.parametrize("made", [tables([], []), tables([{}], [])])
def test_no_data_is_said(draw: Draw, made: dict[str, pa.Table]) -> None:
    figure = draw(made)
    assert [text.get_text() for text in axes_of(figure).texts] == ["no rebalance"]
    assert figure_bytes(figure, "svg")


def test_traffic_that_is_not_known_is_not_drawn() -> None:
    figure = cross_rack_traffic(two([(0, None, 3), (10, None, 0)]))
    assert [text.get_text() for text in axes_of(figure).texts] == ["no rebalance"]
    partly = steps(cross_rack_traffic(tables([{}], run_rounds("sticky", [(0, None, 3), (10, 2e6, 0)]))))[0]
    assert np.isnan(np.asarray(partly.get_ydata(), dtype=float)).tolist() == [True, False, False]


@every_figure
def test_seeds_give_a_shade_between_least_and_most(draw: Draw) -> None:
    rounds = [
        row for seed in (1, 2) for row in run_rounds("sticky", [(0, 4e6 * seed, 9 * seed), (9, 1e6, 0)], seed=seed)
    ]
    figure = draw(tables([{"seed": 1}, {"seed": 2}], rounds))
    assert len(steps(figure)) == 1
    assert len(axes_of(figure).collections) == 1
    assert legend(figure) == ["sticky", "range over seeds; lines: median"]


@every_figure
def test_an_assignor_that_failed_is_named_so(draw: Draw) -> None:
    figure = draw(tables([{"verdict": "failed"}], run_rounds("sticky", [(0, 1.0, 0)])))
    assert legend(figure) == ["sticky (failed)"]


@pytest.mark.parametrize(("draw", "format"), [(cross_rack_traffic, "png"), (convergence, "svg"), (convergence, "pdf")])
def test_any_name_is_drawn_as_text(draw: Draw, format: str) -> None:
    rounds = [row for name in HOSTILE for row in run_rounds(name, [(0, 4e6, 9), (9, 1e6, 0)], scenario=HOSTILE[0])]
    runs = [{"assignor": name, "scenario": HOSTILE[0]} for name in HOSTILE]
    happened = [{"at_ms": minute * MINUTE_MS, "event": name} for minute, name in enumerate(HOSTILE)]
    assert figure_bytes(draw(tables(runs, rounds, happened)), format)


def test_the_text_of_an_svg_can_stay_text() -> None:
    runs = [{"assignor": "$\\frac{1}{2}$ <b>"}]
    figure = convergence(tables(runs, run_rounds("$\\frac{1}{2}$ <b>", [(0, 1.0, 0)])))
    root = ElementTree.fromstring(figure_bytes(figure, "svg", text_as_text=True))
    texts = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "$\\frac{1}{2}$ <b>" in texts
    assert b"<text" not in figure_bytes(figure, "svg")


@every_figure
def test_long_labels_leave_room_for_the_plot(draw: Draw) -> None:
    names = [f"{number} {'high_availability ' * 9}" for number in range(12)]
    rounds = [row for name in names for row in run_rounds(name, [(0, 4e6, 9), (9, 1e6, 0)])]
    figure = draw(tables([{"assignor": name} for name in names], rounds), narrow=True)
    figure_bytes(figure, "png")
    assert axes_of(figure).get_window_extent().height / figure.dpi > 1.8
    assert all(len(label) <= 36 and "…" in label for label in legend(figure))


def test_saved_figures_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        figures = {draw.__name__: draw(four_assignors()) for draw in RUN_FIGURES}
        paths = save_figures(figures, tmp_path / name / "figures", FORMATS)
        written.append({path.name: path.read_bytes() for path in paths})
    assert written[0] == written[1]
    assert sorted(written[0]) == sorted(f"{draw.__name__}.{format}" for draw in RUN_FIGURES for format in FORMATS)
    assert b"<dc:date>" not in written[0]["convergence.svg"]
    assert b"CreationDate" not in written[0]["convergence.pdf"]


def test_bytes_do_not_hang_on_the_process_or_on_settings_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("font.size: 20\naxes.grid: False\nsvg.hashsalt: other\n")
    code = """
import hashlib, sys
from reports.render.figures.run_figures import convergence, figure_bytes
from tests.reports.sample_runs import four_assignors
print(hashlib.sha256(figure_bytes(convergence(four_assignors()), "svg")).hexdigest())
print("matplotlib.pyplot" in sys.modules)
"""
    environment = {"PYTHONHASHSEED": "5", "MATPLOTLIBRC": str(tmp_path), "PATH": "", "HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    here = hashlib.sha256(figure_bytes(convergence(four_assignors()), "svg")).hexdigest()
    assert ran.stdout.split() == [here, "False"]


def test_drawing_leaves_the_settings_of_others_alone() -> None:
    before = dict(matplotlib.rcParams)
    figure_bytes(convergence(four_assignors()), "svg")
    assert dict(matplotlib.rcParams) == before


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'gif' is not a figure format \(formats: png, svg, pdf\)"):
        save_figures({"convergence": convergence(four_assignors())}, tmp_path / "never", ["gif"])
    assert not (tmp_path / "never").exists()


def test_lines_differ_without_colour() -> None:
    styles = [line_style(number) for number in range(30)]
    assert len({(style.dashes, style.marker) for style in styles}) == 30
    for one, other in combinations(styles[:5], 2):
        assert one.color != other.color
        assert one.dashes != other.dashes
        assert one.marker != other.marker


def test_lines_are_seen_on_light_and_on_dark() -> None:
    def luminance(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
        return (bright + 0.05) / (dim + 0.05)

    for number in range(7):
        color = line_style(number).color
        assert contrast(color, PAPER) > 2
        assert color == INK or contrast(color, "#1c2027") > 3
