"""Figures of the common widths, and the text of figures without data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE_IN, NARROW_IN = 8.0, 4.2
"""Widths of figures in inches, for wide and for narrow screens."""

POINTS_PER_IN = 72


def width_in(*, narrow: bool) -> float:
    """Return the width of a figure in inches."""
    return NARROW_IN if narrow else WIDE_IN


def new_figure(height_in: float, *, narrow: bool) -> Figure:
    """Return an empty figure.

    `narrow` says whether it is for a small screen.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in(narrow=narrow), height_in), layout="constrained")


def write_instead_of_data(axes: Axes, text: str) -> None:
    """Write a text such as `no data` in the middle of axes without ticks."""
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center")
