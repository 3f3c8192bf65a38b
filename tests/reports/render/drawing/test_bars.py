"""Bars of moves, traffic and downtime, and their tables."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from reports.analysis.comparison import TableError
from reports.analysis.runs.breakdowns import (
    MOVE_REASONS,
    cross_rack_by_kind,
)
from reports.analysis.runs.grids import breakdown_grid
from reports.render.drawing.style import PAPER, part_style
from reports.render.figures.run_figures import downtime, figure_bytes, kinds_of_traffic, reasons_of_moves
from tests.reports.sample_runs import HOSTILE, four_assignors, tables

Draw = Callable[..., Figure]
BARS: tuple[Draw, ...] = (downtime, reasons_of_moves, kinds_of_traffic)
every_figure = pytest.mark.parametrize("draw", BARS)


def only_axes(figure: Figure) -> Axes:
    [axes] = figure.axes
    return axes


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in only_axes(figure).texts]


def lengths(figure: Figure) -> dict[float, list[float]]:
    """Return the lengths of the parts of each bar by its row."""
    row_lengths: dict[float, list[float]] = {}
    for container in only_axes(figure).containers:
        assert isinstance(container, BarContainer)
        [patch] = container.patches
        row_lengths.setdefault(round(patch.get_y() + patch.get_height() / 2), []).append(patch.get_width())
    return row_lengths


def test_unknown_racks_give_unknown_traffic() -> None:
    breakdown = cross_rack_by_kind(tables([{"assignor": "a", "cross_rack_bytes": None}, {}], traffic=[{}]))
    assert [bar.values is None for bar in breakdown.bars] == [True, False]
    grid = breakdown_grid(breakdown)
    assert [[str(cell) for cell in cells] for _, cells in grid.lines] == [["n/a", "1 GB"]] * 2
    assert "n/a" in texts(kinds_of_traffic(tables([{"assignor": "a", "cross_rack_bytes": None}, {}], traffic=[{}])))


def test_bar_has_parts_and_total() -> None:
    figure = reasons_of_moves(four_assignors())
    assert lengths(figure) == {row: [6, 8, 1, 3] for row in range(4)}
    assert [text for text in texts(figure) if text != "18"] == [
        "HA none",
        "HA min_traffic",
        "HA balance_subtopology",
        "sticky",
    ]
    assert texts(figure).count("18") == 4
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "client lost",
        "to a standby or warm-up",
        "back to an earlier client",
        "balance",
    ]


def test_bytes_are_in_unit_of_axis() -> None:
    figure = kinds_of_traffic(four_assignors())
    assert only_axes(figure).get_xlabel() == "GB"
    assert lengths(figure)[3] == [4, 4]
    assert "8 GB" in texts(figure)


@every_figure
@pytest.mark.parametrize("narrow", [False, True])
def test_texts_are_inside_figure_and_do_not_cover_bars(draw: Draw, narrow: bool) -> None:
    figure = draw(four_assignors(), narrow=narrow)
    figure_bytes(figure, "png")
    bars = [patch.get_window_extent() for container in only_axes(figure).containers for patch in container.patches]  # type: ignore[attr-defined]
    [legend_box] = [legend.get_window_extent() for legend in figure.legends]
    boxes = [text.get_window_extent() for text in only_axes(figure).texts]
    for box in [*boxes, legend_box]:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert not any(box.overlaps(bar) for bar in bars)


@every_figure
@pytest.mark.parametrize("results", [tables([], []), tables([dict.fromkeys(MOVE_REASONS, 0)])])
def test_empty_figure_says_so(draw: Draw, results: dict[str, pa.Table]) -> None:
    assert texts(draw(results)) == ["no data"]
    assert figure_bytes(draw(results), "svg")


@every_figure
def test_hostile_names_are_drawn_as_text(draw: Draw) -> None:
    results = tables(
        [{"assignor": name} for name in HOSTILE],
        tasks=[{"assignor": name, "downtime_ms": 5} for name in HOSTILE],
        traffic=[{"assignor": name} for name in HOSTILE],
    )
    assert figure_bytes(draw(results, narrow=True), "svg")
    assert not any("\u202e" in text or "\n" in text for text in texts(draw(results)))


def test_neighboring_parts_differ_without_color() -> None:
    for rising in (False, True):
        styles = [part_style(index, rising=rising) for index in range(6 if rising else 10)]
        assert all(first.hatch != second.hatch for first, second in pairwise(styles))
        assert len({(style.color, style.hatch) for style in styles}) == len(styles)
        assert PAPER not in {style.color for style in styles}


@every_figure
def test_figures_are_reproducible(draw: Draw) -> None:
    assert figure_bytes(draw(four_assignors()), "svg") == figure_bytes(draw(four_assignors()), "svg")


@pytest.mark.parametrize(("draw", "name"), [(downtime, "tasks"), (kinds_of_traffic, "traffic")])
def test_missing_table_is_rejected(draw: Draw, name: str) -> None:
    with pytest.raises(TableError, match=f"'{name}' is missing"):
        draw({key: table for key, table in tables().items() if key != name})
