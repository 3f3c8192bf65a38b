"""Pictures of runs by matplotlib: one function a figure.

Matplotlib is imported when a figure is made, and only its object interface is used: there is no state of pyplot, no
window, and no setting of the machine in a figure. The same tables give the same bytes.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.analysis.comparison import Tables, table_rows
from reports.analysis.formatting import byte_unit
from reports.analysis.runs.breakdowns import Breakdown, cross_rack_by_kind, moves_by_reason, tasks_by_downtime
from reports.analysis.runs.client_loads import loads
from reports.analysis.runs.time_series import cross_rack_rate, displaced_tasks, events, series
from reports.analysis.text import printable, shortened
from reports.render.drawing import bars, curves
from reports.render.drawing.step_plot import PlotOptions, draw
from reports.render.drawing.style import matplotlib_settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
"""What figures can be saved as."""


def cross_rack_traffic(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw the bytes per second that really crossed from rack to rack over time, one line an assignor.

    Args:
        tables: must hold `runs`, `rounds` and `events`.
        narrow: for a small screen or a column of a page.

    Raises:
        TableError: a table is missing.
    """
    lines = series(tables, cross_rack_rate)
    most = max((value for line in lines for value in line.most if value is not None), default=0)
    factor, unit = byte_unit(most)
    plot = PlotOptions(
        title=_title("Traffic between racks", tables),
        y_label=f"cross-rack traffic ({unit}/s)",
        factor=factor,
        whole_numbers=False,
        narrow=narrow,
    )
    with figure_style():
        return draw(plot, lines, events(tables))


def convergence(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw how many tasks are not yet where they will be in the end, over time, one line an assignor.

    Args:
        tables: must hold `runs`, `rounds` and `events`.
        narrow: for a small screen or a column of a page.

    Raises:
        TableError: a table is missing.
    """
    plot = PlotOptions(
        title=_title("Convergence", tables),
        y_label="tasks not yet where they will stay",
        factor=1,
        whole_numbers=True,
        narrow=narrow,
    )
    with figure_style():
        return draw(plot, series(tables, displaced_tasks), events(tables))


def downtime(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw how many tasks were down for how long, one bar an assignor.

    Args:
        tables: must hold `runs` and `tasks`.
        narrow: for a small screen or a column of a page.

    Raises:
        TableError: a table is missing.
    """
    return _stacked(tasks_by_downtime(tables), tables, narrow=narrow)


def reasons_of_moves(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw how many tasks moved and why, one bar an assignor.

    Args:
        tables: must hold `runs`.
        narrow: for a small screen or a column of a page.

    Raises:
        TableError: a table is missing.
    """
    return _stacked(moves_by_reason(tables), tables, narrow=narrow)


def kinds_of_traffic(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw how many bytes crossed from rack to rack and what they were, one bar an assignor.

    Args:
        tables: must hold `runs` and `traffic`.
        narrow: for a small screen or a column of a page.

    Raises:
        TableError: a table is missing.
    """
    return _stacked(cross_rack_by_kind(tables), tables, narrow=narrow)


def load_per_thread(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw how many tasks each client has per thread in the end, most first, one curve an assignor.

    Args:
        tables: must hold `runs`, `clients` and `assignments`.
        narrow: for a small screen or a column of a page.

    Raises:
        TableError: a table is missing.
    """
    values = {label: [load.per_thread for load in of_run] for label, of_run in loads(tables).items()}
    with figure_style():
        return curves.draw(_title("Load per thread", tables), values, narrow=narrow)


RUN_FIGURES = (cross_rack_traffic, convergence, downtime, reasons_of_moves, kinds_of_traffic, load_per_thread)
"""Every figure, in the order in which they are shown."""


def figure_bytes(figure: Figure, format: str, *, text_as_text: bool = False) -> bytes:
    """A figure as the bytes of a file; the same each time.

    Args:
        figure: of this module.
        format: one of `FORMATS`.
        text_as_text: leave text in an SVG as text, for the reader's fonts; otherwise it is drawn as outlines.

    Raises:
        ValueError: an unknown format.
    """
    if format not in FORMATS:
        raise ValueError(f"{format!r} is not a format of figures (formats: {', '.join(FORMATS)})")
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[format]
    out = io.BytesIO()
    with figure_style(svg_fonttype="none" if text_as_text else "path"):
        figure.savefig(out, format=format, metadata=undated)
    return out.getvalue()


def save_figures(figures: Mapping[str, Figure], directory: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write figures to a directory, which is made if need be; the names of the files are those of the figures.

    Raises:
        OSError: the directory cannot be written.
        ValueError: an unknown format.
    """
    contents = {
        directory / f"{name}.{format}": figure_bytes(figure, format)
        for name, figure in figures.items()
        for format in formats
    }
    directory.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        path.write_bytes(content)
    return list(contents)


def _stacked(stack: Breakdown, tables: Tables, *, narrow: bool) -> Figure:
    with figure_style():
        return bars.draw(stack, stack.title if narrow else _title(stack.title, tables), narrow=narrow)


@contextmanager
def figure_style(**more: str) -> Iterator[None]:
    """Within it figures look as those of this module do; further settings by name, `_` for `.`."""
    import matplotlib

    overrides: dict[Any, Any] = {name.replace("_", "."): value for name, value in more.items()}
    with matplotlib.rc_context({**matplotlib_settings(), **overrides}), warnings.catch_warnings():
        # A name may have characters that no font at hand has; a box in their place is all that can be done.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def _title(what: str, tables: Tables) -> str:
    scenarios = sorted({run["scenario"] for run in table_rows(tables, "runs")})
    return f"{what}: {shortened(printable(scenarios[0]), 30)}" if len(scenarios) == 1 else what
