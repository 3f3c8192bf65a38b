"""Every figure twice, as markup that stands in a page: for wide screens and for narrow ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports.comparison import Tables
from reports.drawing.svg import inline

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
    from reports.figures import FIGURES

    return {each.__name__: _figure(each, tables) for each in FIGURES}


def _figure(draw: Callable[..., Figure], tables: Tables) -> InlineFigure:
    from markupsafe import Markup

    from reports.figures import rendered

    described = f"{draw.__name__.replace('_', ' ').capitalize()} of each assignor; tables hold the numbers"
    # Made here, with names in it escaped: what goes to the templates as markup.
    wide, narrow = (
        Markup(
            inline(
                rendered(draw(tables, narrow=is_narrow), "svg", text_as_text=True),
                f"{draw.__name__}-{'narrow' if is_narrow else 'wide'}-",
                described,
            )
        )
        for is_narrow in (False, True)
    )
    return InlineFigure(wide, narrow)
