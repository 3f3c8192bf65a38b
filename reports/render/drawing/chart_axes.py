"""Axes of small inline charts: scales, round tick values, and SVG elements styled by the style sheet of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from reports.analysis.formatting import NumberFormat, byte_unit, format_number, time_unit

FONT_PX = 12.5
"""Font size of charts, as in the style sheet."""

CHAR_PX = 7.6
"""Approximate mean width of a character, in a wide font."""

_STEPS = (1, 2, 2.5, 5, 10)
_TIME_STEPS = (1, 2, 3, 5, 6, 10)
_LONG_TIME_NAMES = {"seconds": "s", "minutes": "min", "hours": "h", "days": "d"}


@dataclass(frozen=True, slots=True)
class Unit:
    """Unit of an axis.

    Attributes:
        factor: base units per unit, such as 1e6 for MB.
        name: the unit, for the label of the axis; empty for plain counts.
        steps: round distances between ticks, times a power of ten.
        is_whole: whether ticks are whole numbers.
    """

    factor: float
    name: str
    steps: tuple[float, ...] = _STEPS
    is_whole: bool = False


def rate_unit(maximum: float) -> Unit:
    """Return the unit of bytes per second up to a maximum."""
    factor, name = byte_unit(maximum)
    return Unit(factor, f"{name}/s")


def bytes_unit(maximum: float) -> Unit:
    """Return the unit of bytes up to a maximum."""
    return Unit(*byte_unit(maximum))


def duration_unit(maximum: float) -> Unit:
    """Return the unit of durations and times in milliseconds up to a maximum."""
    factor, name = time_unit(maximum)
    return Unit(factor, _LONG_TIME_NAMES[name], _TIME_STEPS)


@dataclass(frozen=True, slots=True)
class Scale:
    """Map values to positions in a chart.

    Attributes:
        low: value at `start`.
        high: value at `end`; above `low`.
        start: position of `low`.
        end: position of `high`.
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, unit: Unit, most: int) -> list[tuple[float, str]]:
    """Return round values between two bounds, with their text in the unit of the axis.

    `low`: lower bound. `high`: upper bound; above `low`. `most`: approximate maximum number of ticks. Returns value and
    text of each tick, ascending.
    """
    raw = (high - low) / unit.factor / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(multiple * power for multiple in (*unit.steps, 10) if multiple * power >= raw * 0.999)
    if unit.is_whole:
        step = max(1.0, float(math.ceil(step)))
    first = math.ceil(low / unit.factor / step - 1e-9)
    last = math.floor(high / unit.factor / step + 1e-9)
    return [(number * step * unit.factor, format_number(number * step)) for number in range(first, last + 1)]


def element(tag: str, content: str | Sequence[str] = "", **attributes: object) -> str:
    """Return an SVG element; attribute names may end in `_`, and `_` within them is `-`.

    `content`: elements, already escaped. `attributes`: attributes; None is left out.
    """
    pairs = "".join(
        f" {name.rstrip('_').replace('_', '-')}={quoteattr(_value(value))}"
        for name, value in attributes.items()
        if value is not None
    )
    body = content if isinstance(content, str) else "".join(content)
    return f"<{tag}{pairs}>{body}</{tag}>" if body else f"<{tag}{pairs} />"


def text(content: str, x: float, y: float, **attributes: object) -> str:
    """Return a text element; the content is escaped."""
    return element("text", escape(content), x=x, y=y, **attributes)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions close to the wanted ones that are at least `gap` apart, between two bounds if they fit.

    `wanted`: wanted positions, in any order; `gap`: minimum distance. Returns positions in the order of `wanted`; equal
    positions keep their order.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed: list[float] = []
    for index in order:
        placed.append(max(min(wanted[index], high), low, placed[-1] + gap if placed else low))
    limit = high
    for number in reversed(range(len(placed))):
        placed[number] = min(placed[number], limit)
        limit = placed[number] - gap
    result = [0.0] * len(wanted)
    for index, position in zip(order, placed, strict=True):
        result[index] = position
    return result


def plain(write: NumberFormat) -> Callable[[float], Unit]:
    """Return the unit of values that `write` formats without a unit that depends on their size, such as `$`."""
    name = "$" if write(1.0).startswith("$") else ""
    return lambda maximum: Unit(1.0, name, is_whole=not name and maximum >= 1)


def _value(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
