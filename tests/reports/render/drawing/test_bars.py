"""Sums and what they are made of: as numbers, and as bars."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from reports.analysis.comparison import TableError
from reports.analysis.grids import breakdown_grid, worst_tasks
from reports.analysis.runs.breakdowns import (
    DOWN_CLASSES,
    MOVE_REASONS,
    TRAFFIC_KINDS,
    cross_rack_by_kind,
    moves_by_reason,
    tasks_by_downtime,
)
from reports.render.drawing.style import PAPER, part_style
from reports.render.figures.run_figures import downtime, figure_bytes, kinds_of_traffic, reasons_of_moves
from simulator.flows.traffic import TrafficKind
from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import HOSTILE, four_assignors, tables

Draw = Callable[..., Figure]
BARS: tuple[Draw, ...] = (downtime, reasons_of_moves, kinds_of_traffic)
every_figure = pytest.mark.parametrize("draw", BARS)


def axes_of(figure: Figure) -> Axes:
    [axes] = figure.axes
    return axes


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in axes_of(figure).texts]


def lengths(figure: Figure) -> dict[float, list[float]]:
    """How long the parts of each row are."""
    found: dict[float, list[float]] = {}
    for container in axes_of(figure).containers:
        assert isinstance(container, BarContainer)
        [patch] = container.patches
        found.setdefault(round(patch.get_y() + patch.get_height() / 2), []).append(patch.get_width())
    return found


def test_every_reason_and_kind_of_the_tables_has_a_name() -> None:
    assert set(MOVE_REASONS) == {name for name in SCHEMAS["runs"].names if name.startswith("moves_")}
    assert list(TRAFFIC_KINDS) == [str(kind) for kind in TrafficKind]


def test_moves_add_up() -> None:
    [bar] = moves_by_reason(tables()).bars
    assert bar.values == (6, 8, 1, 0, 3)


def test_of_several_seeds_each_part_is_the_mean() -> None:
    runs = [{"seed": seed, "moves_returned": seed} for seed in (1, 2)]
    tasks = [{"seed": seed, "task": task, "downtime_ms": 0 if seed == 1 else 5_000} for seed in (1, 2) for task in "ab"]
    sent = [{"seed": seed, "bytes": 1e9 * seed} for seed in (1, 2)]
    made = tables(runs, tasks=tasks, traffic=sent)
    assert [stack.bars[0].values for stack in (moves_by_reason(made), tasks_by_downtime(made))] == [
        (6, 8, 1.5, 0, 3),
        (1, 0, 1, 0, 0, 0),
    ]
    [bar] = cross_rack_by_kind(made).bars
    assert bar.values
    assert bar.values[0] == 1.5e9


@pytest.mark.parametrize(
    ("downtime_ms", "name"),
    [
        (0, "none"),
        (1, "up to 1 s"),
        (1_000, "up to 1 s"),
        (1_001, "up to 10 s"),
        (60_000, "up to 1 min"),
        (600_000, "up to 10 min"),
        (600_001, "longer"),
    ],
)
def test_a_downtime_belongs_to_one_class(downtime_ms: int, name: str) -> None:
    [bar] = tasks_by_downtime(tables(tasks=[{"downtime_ms": downtime_ms}])).bars
    assert bar.values
    assert [DOWN_CLASSES[part] for part, count in enumerate(bar.values) if count] == [name]


def test_what_stays_in_its_rack_or_has_none_does_not_cross() -> None:
    sent = [{"from_rack": source, "to_rack": target} for source in ("az1", None) for target in ("az1", "az2", None)]
    [bar] = cross_rack_by_kind(tables(traffic=sent)).bars
    assert bar.values
    assert sum(bar.values) == 1e9


def test_where_nobody_knows_the_racks_nothing_is_claimed() -> None:
    stack = cross_rack_by_kind(tables([{"assignor": "a", "cross_rack_bytes": None}, {}], traffic=[{}]))
    assert [bar.values is None for bar in stack.bars] == [True, False]
    grid = breakdown_grid(stack, [None, 2e-8])
    assert [[str(cell) for cell in cells] for _, cells in grid.lines] == [["n/a", "1 GB ($20.00)"]] * 2
    assert "n/a" in texts(kinds_of_traffic(tables([{"assignor": "a", "cross_rack_bytes": None}, {}], traffic=[{}])))


def test_scenarios_are_named_where_there_are_several() -> None:
    made = tables([{"scenario": "one"}, {"scenario": "two"}])
    assert [bar.label for bar in moves_by_reason(made).bars] == ["one: sticky", "two: sticky"]


def test_the_worst_tasks_come_first_and_only_those_that_were_down() -> None:
    down = [{"task": f"0_{n}", "downtime_ms": 1_000 * (n % 7), "seed": 1 + n % 2} for n in range(60)]
    grid = worst_tasks(tables([{"seed": 1}, {"seed": 2}, {"assignor": "calm"}], tasks=down))
    assert grid.columns == ("sticky", "calm")
    assert len(grid.lines) == 20
    firsts = [str(cells[0]) for _, cells in grid.lines]
    assert firsts[:2] == ["6 s (0_20, seed 1)", "6 s (0_34, seed 1)"]
    assert firsts[-1].startswith("4 s")
    assert {str(cells[1]) for _, cells in grid.lines} == {"–"}


def test_a_bar_has_its_parts_and_what_they_come_to() -> None:
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
        "to a copy",
        "back to where it was",
        "balance",
    ]


def test_bytes_are_in_the_unit_of_the_axis() -> None:
    figure = kinds_of_traffic(four_assignors())
    assert axes_of(figure).get_xlabel() == "GB"
    assert lengths(figure)[3] == [4, 4]
    assert "8 GB" in texts(figure)


@every_figure
@pytest.mark.parametrize("narrow", [False, True])
def test_nothing_is_cut_off_or_covers_a_bar(draw: Draw, narrow: bool) -> None:
    figure = draw(four_assignors(), narrow=narrow)
    figure_bytes(figure, "png")
    bars = [patch.get_window_extent() for each in axes_of(figure).containers for patch in each.patches]  # type: ignore[attr-defined]
    [legend] = [each.get_window_extent() for each in figure.legends]
    boxes = [text.get_window_extent() for text in axes_of(figure).texts]
    for box in [*boxes, legend]:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert not any(box.overlaps(bar) for bar in bars)


@every_figure
@pytest.mark.parametrize("made", [tables([], []), tables([dict.fromkeys(MOVE_REASONS, 0)])])
def test_no_data_is_said(draw: Draw, made: dict[str, pa.Table]) -> None:
    assert texts(draw(made)) == ["no data"]
    assert figure_bytes(draw(made), "svg")


@every_figure
def test_any_name_is_drawn_as_text(draw: Draw) -> None:
    made = tables(
        [{"assignor": name} for name in HOSTILE],
        tasks=[{"assignor": name, "downtime_ms": 5} for name in HOSTILE],
        traffic=[{"assignor": name} for name in HOSTILE],
    )
    assert figure_bytes(draw(made, narrow=True), "svg")
    assert not any("\u202e" in text or "\n" in text for text in texts(draw(made)))


def test_neighbouring_parts_differ_without_colour() -> None:
    for rising in (False, True):
        styles = [part_style(index, rising=rising) for index in range(6 if rising else 10)]
        assert all(one.hatch != other.hatch for one, other in pairwise(styles))
        assert len({(style.color, style.hatch) for style in styles}) == len(styles)
        assert PAPER not in {style.color for style in styles}


@every_figure
def test_the_same_tables_give_the_same_bytes(draw: Draw) -> None:
    assert figure_bytes(draw(four_assignors()), "svg") == figure_bytes(draw(four_assignors()), "svg")


@pytest.mark.parametrize(("draw", "name"), [(downtime, "tasks"), (kinds_of_traffic, "traffic")])
def test_a_missing_table_is_named(draw: Draw, name: str) -> None:
    with pytest.raises(TableError, match=f"'{name}' is missing"):
        draw({key: table for key, table in tables().items() if key != name})
