"""How figures look: colours that colour-blind people tell apart, and what tells lines apart without any colour.

Source of the colours: M. Okabe and K. Ito, "Color Universal Design", 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INK = "#20242b"
"""Text and axes."""

FAINT = "#d5d9df"
"""The grid."""

PAPER = "#fefefe"
"""What marks are filled with: the colour of the page, and no other mark of a figure has it."""

EVENT = "#7a818c"
"""Lines of events."""

# Yellow is left out: it cannot be seen on white. Black is the ink of the page, so that it is seen on any.
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", INK, "#e69f00", "#56b4e9")
_DASHES: tuple[tuple[float, ...], ...] = ((), (6, 2), (1.5, 1.5), (6, 2, 1.5, 2), (3, 1.5), (8, 1.5, 1, 1.5, 1, 1.5))
_MARKERS = ("o", "s", "^", "D", "v", "X", "P", "*", "<", ">", "p")


@dataclass(frozen=True, slots=True)
class LineStyle:
    """What a line looks like; the dashes are in widths of the line, on and off."""

    color: str
    dashes: tuple[float, ...]
    marker: str


def line_style(index: int) -> LineStyle:
    """The style of the line with this number, from 0; the first 462 all differ, neighbours in everything."""
    return LineStyle(
        color=_COLORS[index % len(_COLORS)],
        dashes=_DASHES[index % len(_DASHES)],
        marker=_MARKERS[index % len(_MARKERS)],
    )


@dataclass(frozen=True, slots=True)
class PartStyle:
    """What a part of a bar looks like; the hatch is in the colour of the page."""

    color: str
    hatch: str


# Cool to hot, so that it is seen which end is bad; the grid's colour is for what is nothing.
_RISING = (FAINT, "#56b4e9", "#0072b2", "#e69f00", "#d55e00", INK)
_HATCHES = ("", "////", "", "||||", "", "\\\\\\\\", "", "xxxx", "----", "++++")


def part_style(index: int, *, rising: bool) -> PartStyle:
    """The style of the part with this number, from 0; neighbours differ without colour too.

    Args:
        index: up to 9; up to 5 if rising.
        rising: whether each part is worse than the one before.
    """
    colors = _RISING if rising else _COLORS
    return PartStyle(colors[index % len(colors)], _HATCHES[index])


def matplotlib_settings() -> dict[Any, Any]:
    """Settings of matplotlib, all of them: nothing that is set on a machine changes a figure."""
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
