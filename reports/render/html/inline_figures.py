"""Every figure twice, as markup that stands in a page: for wide screens and for narrow ones."""

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
    """A figure of a page."""

    wide: Markup
    narrow: Markup


def inline_figures(tables: Tables) -> dict[str, InlineFigure]:
    """Every figure by the name of its function.

    Raises:
        TableError: a table is missing.
    """
    from reports.render.figures.run_figures import RUN_FIGURES

    return {each.__name__: _figure(each, tables) for each in RUN_FIGURES}


def _figure(draw: Callable[..., Figure], tables: Tables) -> InlineFigure:
    described = f"{draw.__name__.replace('_', ' ').capitalize()} of each assignor; tables hold the numbers"
    return inline_figure(draw, tables, draw.__name__, described)


def inline_figure(draw: Callable[..., Figure], drawn: object, prefix: str, described: str) -> InlineFigure:
    """A figure as markup, for wide screens and for narrow ones.

    Args:
        draw: makes the figure, and takes `narrow`.
        drawn: what it is made of.
        prefix: begins the ids of its parts; unique in the page.
        described: what somebody is told who does not see it.
    """
    from markupsafe import Markup

    from reports.render.figures.run_figures import figure_bytes

    # Made here, with names in it escaped: what goes to the templates as markup.
    wide, narrow = (
        Markup(
            inline_svg(
                figure_bytes(draw(drawn, narrow=is_narrow), "svg", text_as_text=True),
                f"{prefix}-{'narrow' if is_narrow else 'wide'}-",
                described,
            )
        )
        for is_narrow in (False, True)
    )
    return InlineFigure(wide, narrow)
