"""Results in a notebook: an HTML comparison table, data frames and figures.

Text from scenarios and labels is never interpreted as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

from reports.analysis.cells import Column
from reports.analysis.comparison import ComparisonRow, Tables, best_rows, compare_runs, rows_by_scenario, table
from reports.analysis.notes import notes, record_keys, records
from reports.analysis.text import printable
from reports.render.terminal.comparison import columns_for

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_NUMBER: Final = "text-align: right; white-space: nowrap"
_HEADER: Final = "text-align: right; vertical-align: bottom"
_NAME: Final = "text-align: left; vertical-align: bottom; white-space: nowrap"


@dataclass(frozen=True, slots=True)
class Plots:
    """Every figure of `reports.render.figures.run_figures` as a method: `plot.convergence()`.

    `tables`: the result tables.
    """

    tables: Tables

    def __getattr__(self, name: str) -> Callable[..., Figure]:
        """Return the drawing function of a figure; raise AttributeError if the figure is unknown."""
        from functools import partial

        figures = _figures()
        if name not in figures:
            raise AttributeError(f"unknown figure '{name}' (figures: {', '.join(figures)})")
        return partial(_displayable, figures[name], self.tables)

    def __dir__(self) -> list[str]:
        return list(_figures())


def data_frame(tables: Tables, name: str | None = None) -> pd.DataFrame:
    """Return a result table as a data frame; by default the comparison with one row per assignor."""
    import pandas as pd

    if name is not None:
        frame: pd.DataFrame = table(tables, name).to_pandas()
        return frame
    return pd.DataFrame(records(compare_runs(tables)), columns=list(record_keys()))


def comparison_html(tables: Tables, warnings: Sequence[str] = ()) -> str:
    """Return the comparison as HTML: one table per scenario with the best values bold and starred, and notes below.

    `tables`: must contain `runs`; `warnings`: texts above the table.
    """
    rows = compare_runs(tables)
    columns = columns_for(rows)
    parts = [f"<p>⚠ {_text(warning)}</p>" for warning in warnings]
    for scenario, group in rows_by_scenario(rows).items():
        parts += _scenario(scenario, group, columns)
        parts += [f"<p>{_text(note.text)}</p>" for note in notes(group)]
    return "\n".join(parts) or "<p>No runs.</p>"


def _scenario(scenario: str, rows: Sequence[ComparisonRow], columns: Sequence[Column]) -> Iterator[str]:
    winners = [best_rows(rows, column.metric) for column in columns]
    yield f"<table><caption>{_text(scenario)}</caption><thead><tr><th scope='col' style='{_NAME}'>assignor</th>"
    for column in columns:
        yield f"<th scope='col' style='{_HEADER}' title='{escape(column.metric.meaning)}'>{_text(column.title)}</th>"
    yield "</tr></thead><tbody>"
    for row in rows:
        yield f"<tr><th scope='row' style='{_NAME}'>{_text(row.assignor)}</th>"
        for column, column_winners in zip(columns, winners, strict=True):
            cell = _text(str(column.cell(row)))
            yield f"<td style='{_NUMBER}'>{f'<b>{cell}&#8202;*</b>' if row in column_winners else cell}</td>"
        yield "</tr>"
    yield "</tbody></table>"


def _text(text: str) -> str:
    """Return text as HTML, isolated in its writing direction."""
    return f"<bdi>{escape(printable(text))}</bdi>"


def _figures() -> dict[str, Callable[..., Figure]]:
    from reports.render.figures.run_figures import RUN_FIGURES, scaling

    return {draw.__name__: draw for draw in (*RUN_FIGURES, scaling)}


def _displayable(draw: Callable[..., Figure], tables: Tables, **options: Any) -> Figure:
    """Return a figure that a notebook displays without pyplot."""
    from reports.render.figures.run_figures import figure_bytes

    figure = draw(tables, **options)
    setattr(figure, "_repr_png_", lambda: figure_bytes(figure, "png"))  # noqa: B010
    return figure
