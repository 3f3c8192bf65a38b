"""Inline charts: round ticks, labels that do not overlap, and drawings that contain only what is known."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from random import Random
from xml.etree import ElementTree

import pytest

from reports.render.drawing.chart_axes import Unit, bytes_unit, duration_unit, rate_unit, spread, ticks
from reports.render.drawing.line_chart import HEIGHT, WIDTH, ChartLine, LineChart, line_chart
from reports.render.drawing.scatter_chart import ScatterPoint, scatter_chart
from tests.reports.sample_runs import HOSTILE


@pytest.mark.parametrize("seed", range(100))
def test_ticks_are_round_and_inside(seed: int) -> None:
    random = Random(seed)
    high = 10 ** random.uniform(-2, 13)
    for unit in (
        Unit(1.0, ""),
        Unit(1.0, "tasks", is_whole=True),
        rate_unit(high),
        bytes_unit(high),
        duration_unit(high),
    ):
        marks = ticks(0.0, high, unit, 5)
        values = [value for value, _ in marks]
        assert values[0] == 0
        assert all(0 <= value <= high * (1 + 1e-6) for value in values)
        assert len(values) <= 8
        assert len({text for _, text in marks}) == len(marks)
        if unit.is_whole:
            assert all(value == int(value) for value in values)


@pytest.mark.parametrize("seed", range(100))
def test_spread_positions_keep_their_distance_and_order(seed: int) -> None:
    random = Random(seed)
    wanted = [random.choice((5.0, random.uniform(-20, 120))) for _ in range(random.randrange(1, 9))]
    placed = spread(wanted, 10.0, 0.0, 100.0)
    assert all(-1e-9 <= position <= 100 + 1e-9 for position in placed)
    ordered = sorted(placed)
    assert all(second - first >= 10 - 1e-9 for first, second in pairwise(ordered))
    for first in range(len(wanted)):
        for second in range(len(wanted)):
            if wanted[first] < wanted[second]:
                assert placed[first] < placed[second]


def numbers(path: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", path)]


@pytest.mark.parametrize("seed", range(30))
def test_lines_stay_inside_and_reach_their_extremes(seed: int) -> None:
    random = Random(seed)
    count = random.choice((2, 30, 3_000))
    x = sorted(random.uniform(0, 1e6) for _ in range(count))
    y = [random.choice((None, 0.0, random.uniform(0, 9))) for _ in range(count)]
    y[0] = 10.0
    chart = LineChart("t", [ChartLine("a", 0, x, y)], Unit(1.0, "s"), Unit(1.0, "u"), "time", 1e6, is_stepped=True)
    tree = ElementTree.fromstring(line_chart(chart))
    [line] = [element for element in tree.iter("path") if element.get("class", "").startswith("line ")]
    drawn = numbers(line.get("d", ""))
    assert all(0 <= number <= max(WIDTH, HEIGHT) for number in drawn)
    assert len(drawn) < 8_000
    heights = drawn[1::2]
    assert min(heights) == pytest.approx(34 + 135 * (1 - 1 / 1.06), abs=0.2)


def test_steps_end_where_the_value_is_unknown() -> None:
    line = ChartLine("a", 0, (0.0, 2.0, 4.0, 6.0), (1.0, None, 2.0, 2.0))
    chart = LineChart("t", [line], Unit(1.0, "s"), Unit(1.0, "u"), "time", 10.0, is_stepped=True)
    tree = ElementTree.fromstring(line_chart(chart))
    [path] = [element for element in tree.iter("path") if element.get("class", "").startswith("line ")]
    first, second = (numbers(part) for part in path.get("d", "").split("M")[1:])
    width = second[-2] - first[0]
    assert [round((x - first[0]) / width, 2) for x in first[::2]] == [0, 0.2]
    assert [round((x - first[0]) / width, 2) for x in second[::2]] == [0.4, 0.6, 1]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name: str) -> None:
    line = ChartLine(name, 0, (0.0, 1.0), (1.0, 2.0))
    chart = LineChart(name, [line], Unit(1.0, "s"), Unit(1.0, "u"), "time", 2.0)
    scatter = scatter_chart(name, [ScatterPoint(name, 0, 1.0, 1.0, True)], "x", "y", Unit(1.0, "$"), Unit(1.0, "s"))
    for drawing in (line_chart(chart), scatter):
        tree = ElementTree.fromstring(drawing)
        assert not list(tree.iter("script"))
        assert "\u202e" not in drawing


def test_many_equal_lines_and_unknown_values_are_drawn() -> None:
    lines = [ChartLine(f"line {n}", n, (0.0, 1.0), (3.0, 3.0)) for n in range(40)]
    lines.append(ChartLine("unknown", 40, (0.0, 1.0), (None, None)))
    tree = ElementTree.fromstring(line_chart(LineChart("t", lines, Unit(1.0, "s"), Unit(1.0, "u"), "time", 2.0)))
    names = [element for element in tree.iter("text") if element.get("class") == "name"]
    heights = [float(element.get("y", "")) for element in names]
    assert "".join(names[-1].itertext()).endswith(" more")
    assert all(math.isfinite(height) and height < HEIGHT for height in heights)
    assert len(set(heights)) == len(heights)


@pytest.mark.parametrize("seed", range(30))
def test_labels_of_points_do_not_overlap(seed: int) -> None:
    random = Random(seed)
    points = [
        ScatterPoint(f"assignor {n}", n, random.choice((1.0, random.uniform(0, 9))), random.uniform(0, 9), True)
        for n in range(random.randrange(1, 6))
    ]
    tree = ElementTree.fromstring(scatter_chart("t", points, "x", "y", Unit(1.0, "$"), Unit(1.0, "s")))
    boxes = []
    for element in tree.iter("text"):
        if element.get("class") == "name":
            x, y = float(element.get("x", "")), float(element.get("y", ""))
            left = x if element.get("text-anchor") == "start" else x - 76
            boxes.append((left, left + 76, y - 12, y))
    for number, (left, right, top, bottom) in enumerate(boxes):
        for other_left, other_right, other_top, other_bottom in boxes[:number]:
            assert right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top
