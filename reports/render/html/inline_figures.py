"""Figures as inline SVG, once for wide and once for narrow screens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports.analysis.comparison import Tables
from reports.render.drawing.svg import inline_svg

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class InlineFigure:
    """A figure of a page.

    Attributes:
        wide: SVG for wide screens.
        narrow: SVG for narrow screens.
    """

    wide: Markup
    narrow: Markup


def inline_figures(tables: Tables) -> dict[str, InlineFigure]:
    """Return the bar charts of runs by the names of their functions."""
    from reports.render.figures.run_figures import BAR_CHARTS

    return {draw.__name__: _figure(draw, tables) for draw in BAR_CHARTS}


def _figure(draw: Callable[..., Figure], tables: Tables) -> InlineFigure:
    description = f"{draw.__name__.replace('_', ' ').capitalize()} of each assignor; tables hold the numbers"
    return inline_figure(draw, tables, draw.__name__, description)


def inline_figure(draw: Callable[..., Figure], content: object, prefix: str, description: str) -> InlineFigure:
    """Return a figure as inline SVG for wide and narrow screens.

    `draw`: draws the figure; accepts `narrow`. `content`: argument of `draw`. `prefix`: prefix of the ids in the SVG,
    unique in the page.
    """
    from markupsafe import Markup

    from reports.render.figures.run_figures import figure_bytes

    # Generated here with escaped names, so the templates may include it as markup.
    wide, narrow = (
        Markup(
            inline_svg(
                figure_bytes(draw(content, narrow=is_narrow), "svg", text_as_text=True),
                f"{prefix}-{'narrow' if is_narrow else 'wide'}-",
                description,
            )
        )
        for is_narrow in (False, True)
    )
    return InlineFigure(wide, narrow)
