"""Scatter charts as inline SVG, with the name of each point next to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from reports.analysis.text import printable, shortened
from reports.render.drawing.chart_axes import CHAR_PX, FONT_PX, Scale, Unit, element, text, ticks
from reports.render.drawing.line_chart import COLORS

WIDTH, HEIGHT = 480, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 466.0, 26.0, 252.0
_LABEL_CHARS = 24
_RADIUS = 5.5
_LINE = 14.0
_MAX_SHIFTS = 12


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """A point of a scatter chart.

    Attributes:
        label: name of the point.
        index: number of its color.
        x: position on the x axis.
        y: position on the y axis.
        is_filled: whether it is filled, otherwise hollow.
    """

    label: str
    index: int
    x: float
    y: float
    is_filled: bool


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    right: float
    top: float
    bottom: float

    def overlaps(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def scatter_chart(
    title: str, points: Sequence[ScatterPoint], x_title: str, y_title: str, x_unit: Unit, y_unit: Unit
) -> str:
    """Return a scatter chart as an SVG element; lower left is better, and both axes start at 0.

    `title`: what it shows, for screen readers. `points`: the points; at least one. `x_title`: title of the x axis,
    without unit. `y_title`: title of the y axis, without unit. Returns well-formed XML.
    """
    across = Scale(0.0, 1.08 * (max(point.x for point in points) or x_unit.factor), _LEFT, _RIGHT)
    up = Scale(0.0, 1.08 * (max(point.y for point in points) or y_unit.factor), _BOTTOM, _TOP)
    parts = []
    for value, words in ticks(0.0, up.high, y_unit, 5):
        parts.append(element("line", class_="rule", x1=_LEFT, y1=up.at(value), x2=_RIGHT, y2=up.at(value)))
        parts.append(text(words, _LEFT - 6, up.at(value) + 4, text_anchor="end"))
    for value, words in ticks(0.0, across.high, x_unit, 6):
        parts.append(element("line", class_="rule", x1=across.at(value), y1=_TOP, x2=across.at(value), y2=_BOTTOM))
        parts.append(text(words, across.at(value), _BOTTOM + 16, text_anchor="middle"))
    parts.append(text(_with_unit(y_title, y_unit), 4.0, 14.0, class_="axis"))
    parts.append(text(_with_unit(x_title, x_unit), _RIGHT, HEIGHT - 8.0, text_anchor="end", class_="axis"))
    arrow = f"M{_LEFT + 6:.0f} {_BOTTOM - 12:.0f}L{_LEFT:.0f} {_BOTTOM:.0f}m0 -6v6h6"
    parts.append(element("path", d=arrow, class_="better"))
    spots = [(across.at(point.x), up.at(point.y)) for point in points]
    taken = [_Box(x - _RADIUS, x + _RADIUS, y - _RADIUS, y + _RADIUS) for x, y in spots]
    corner = _box(_LEFT + 10, _BOTTOM - 8 - FONT_PX / 3, "start", CHAR_PX * len("better"))
    if not any(corner.overlaps(point) for point in taken):
        parts.append(text("better", _LEFT + 10, _BOTTOM - 8, class_="better"))
        taken.append(corner)
    for point, (x, y), (label_x, label_y, anchor) in zip(points, spots, _placed(points, spots, taken), strict=True):
        state = "filled" if point.is_filled else "hollow"
        name = printable(point.label)
        if abs(label_y - FONT_PX / 3 - y) > _LINE:
            parts.append(element("path", d=f"M{x:.1f} {y:.1f}L{label_x:.1f} {label_y - 4:.1f}", class_="tie"))
        parts.append(element("circle", cx=x, cy=y, r=_RADIUS, class_=f"point {state} a-{point.index % COLORS}"))
        label = [escape(shortened(name, _LABEL_CHARS)), element("title", escape(name))]
        parts.append(element("text", label, x=label_x, y=label_y, text_anchor=anchor, class_="name"))
    return element(
        "svg", parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", class_="chart", role="img", aria_label=printable(title)
    )


def _with_unit(title: str, unit: Unit) -> str:
    return f"{title} ({unit.name})" if unit.name else title


def _placed(
    points: Sequence[ScatterPoint], spots: Sequence[tuple[float, float]], taken: list[_Box]
) -> list[tuple[float, float, str]]:
    """Return position and anchor of each label, next to its point and clear of other labels and points.

    `taken` has the boxes of the points, in order, then others; those of the labels are added.
    """
    places = []
    for number, (point, (x, y)) in enumerate(zip(points, spots, strict=True)):
        width = CHAR_PX * len(shortened(printable(point.label), _LABEL_CHARS))
        candidates = [
            (x + side * (_RADIUS + 5), y + shift * _LINE, "start" if side > 0 else "end", width)
            for step in range(_MAX_SHIFTS)
            for shift in ((0,) if not step else (-step, step))
            for side in (1, -1)
        ]
        boxes = [_box(*candidate) for candidate in candidates]
        free = next(
            (
                place
                for place, box in enumerate(boxes)
                if box.left >= 0
                and box.right <= WIDTH
                and box.top >= _TOP - 10
                and box.bottom <= _BOTTOM
                and not any(box.overlaps(other) for index, other in enumerate(taken) if index != number)
            ),
            0 if boxes[0].right <= WIDTH else 1,
        )
        taken.append(boxes[free])
        label_x, middle, anchor, _ = candidates[free]
        places.append((label_x, middle + FONT_PX / 3, anchor))
    return places


def _box(x: float, middle: float, anchor: str, width: float) -> _Box:
    left = x if anchor == "start" else x - width
    return _Box(left, left + width, middle - FONT_PX / 2, middle + FONT_PX / 2)
