"""Style and size of figures: colors that color-blind readers can distinguish, and lines that differ without color.

Source of the colors: M. Okabe and K. Ito, "Color Universal Design", 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


INK = "#20242b"
"""Color of text and axes."""

FAINT = "#d5d9df"
"""Color of the grid."""

PAPER = "#fefefe"
"""Color of the page; used only to fill markers."""

EVENT = "#7a818c"
"""Color of event lines."""

# Without yellow, which is invisible on white. Black is the ink of the page: visible in light and dark mode.
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", INK, "#e69f00", "#56b4e9")
_DASHES: tuple[tuple[float, ...], ...] = ((), (6, 2), (1.5, 1.5), (6, 2, 1.5, 2), (3, 1.5), (8, 1.5, 1, 1.5, 1, 1.5))
_MARKERS = ("o", "s", "^", "D", "v", "X", "P", "*", "<", ">", "p")


@dataclass(frozen=True, slots=True)
class LineStyle:
    """Style of a line. `dashes`: lengths on and off, in line widths; empty for a solid line."""

    color: str
    dashes: tuple[float, ...]
    marker: str


def line_style(index: int) -> LineStyle:
    """Return the style of a line by its number from 0; neighbors differ in color, dashes and marker."""
    return LineStyle(
        color=_COLORS[index % len(_COLORS)],
        dashes=_DASHES[index % len(_DASHES)],
        marker=_MARKERS[index % len(_MARKERS)],
    )


@dataclass(frozen=True, slots=True)
class PartStyle:
    """Style of a part of a bar. `hatch`: its hatch, drawn in the color of the page."""

    color: str
    hatch: str


# From cool to hot, so that the bad end is recognizable; the grid color means none.
_RISING = (FAINT, "#56b4e9", "#0072b2", "#e69f00", "#d55e00", INK)
_HATCHES = ("", "////", "", "||||", "", "\\\\\\\\", "", "xxxx", "----", "++++", "....", "xxxx", "----")


def part_style(index: int, *, rising: bool) -> PartStyle:
    """Return the style of a part by its number from 0; neighbors also differ in their hatch.

    `index`: at most 12, or at most 5 if rising; `rising` says whether each part is worse than the previous one.
    """
    colors = _RISING if rising else _COLORS
    return PartStyle(colors[index % len(colors)], _HATCHES[index])


def matplotlib_settings() -> dict[Any, Any]:
    """Return a complete set of Matplotlib settings, so that local settings do not change a figure."""
    from matplotlib import rcParamsDefault

    defaults: dict[Any, Any] = {
        name: value for name, value in rcParamsDefault.items() if not name.startswith("backend")
    }
    return {
        **defaults,
        "axes.edgecolor": INK,
        "axes.grid": True,
        "axes.labelcolor": INK,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlecolor": INK,
        "figure.facecolor": PAPER,
        "axes.facecolor": "none",
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "grid.color": FAINT,
        "grid.linewidth": 0.6,
        "hatch.linewidth": 0.7,
        "legend.frameon": False,
        "pdf.fonttype": 42,
        "savefig.dpi": 160,
        "svg.hashsalt": "assignor-sim",
        "text.color": INK,
        "text.parse_math": False,
        "xtick.color": INK,
        "ytick.color": INK,
    }
