"""Figures of runs, one function per figure.

Matplotlib is imported only when a figure is drawn, and only its object interface is used: there is no pyplot state, no
window, and no dependence on local settings. The same tables give the same bytes.
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
from reports.analysis.runs.grids import client_loads
from reports.analysis.runs.scaling_history import scaling_histories
from reports.analysis.runs.time_series import cross_rack_rate, displaced_tasks, events, series
from reports.analysis.text import printable, shortened
from reports.render.drawing import bars, curves, scaling_panels
from reports.render.drawing.step_plot import PlotOptions, draw
from reports.render.drawing.style import matplotlib_settings
from simulator.results.files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
"""File formats of figures."""


def cross_rack_traffic(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw the cross-rack traffic over time in bytes per second, one line per assignor.

    `tables`: must contain `runs`, `rounds` and `events`.
    """
    lines = series(tables, cross_rack_rate)
    maximum = max((value for line in lines for value in line.maximums if value is not None), default=0)
    factor, unit = byte_unit(maximum)
    plot = PlotOptions(
        title=_title("Cross-rack traffic", tables),
        y_label=f"cross-rack traffic ({unit}/s)",
        factor=factor,
        whole_numbers=False,
        narrow=narrow,
    )
    with figure_style():
        return draw(plot, lines, events(tables))


def convergence(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw the number of tasks that are not at their final client over time, one line per assignor.

    `tables`: must contain `runs`, `rounds` and `events`.
    """
    plot = PlotOptions(
        title=_title("Convergence", tables),
        y_label="tasks not at their final client",
        factor=1,
        whole_numbers=True,
        narrow=narrow,
    )
    with figure_style():
        return draw(plot, series(tables, displaced_tasks), events(tables))


def downtime(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw the number of tasks by downtime, one bar per assignor.

    `tables`: must contain `runs` and `tasks`.
    """
    return _stacked(tasks_by_downtime(tables), tables, narrow=narrow)


def reasons_of_moves(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw the number of task moves by reason, one bar per assignor.

    `tables`: must contain `runs`.
    """
    return _stacked(moves_by_reason(tables), tables, narrow=narrow)


def kinds_of_traffic(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw the cross-rack bytes by kind of traffic, one bar per assignor.

    `tables`: must contain `runs` and `traffic`.
    """
    return _stacked(cross_rack_by_kind(tables), tables, narrow=narrow)


def load_per_thread(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw the tasks per thread of each client in the last round, descending, one curve per assignor.

    `tables`: must contain `runs`, `clients` and `assignments`.
    """
    values = {label: [load.per_thread for load in loads] for label, loads in client_loads(tables).items()}
    with figure_style():
        return curves.draw(_title("Load per thread", tables), values, narrow=narrow)


def scaling(tables: Tables, *, narrow: bool = False) -> Figure:
    """Draw what autoscalers saw and decided over time, with the rebalances, for the first run of each assignor.

    `tables`: must contain `runs` and `rounds`; `scaling` and `scaled_rounds` if there is an autoscaler.
    """
    with figure_style():
        return scaling_panels.draw(_title("Autoscaler", tables), scaling_histories(tables), narrow=narrow)


BAR_CHARTS = (downtime, reasons_of_moves, kinds_of_traffic)
"""The figures whose parts need a legend; pages draw the others with the names on the lines."""

RUN_FIGURES = (cross_rack_traffic, convergence, downtime, reasons_of_moves, kinds_of_traffic, load_per_thread)
"""Every figure that each run has, in the order of display."""


def run_figures(tables: Tables) -> dict[str, Figure]:
    """Draw the figures of runs by name: `RUN_FIGURES`, and `scaling` if there is an autoscaler.

    `tables`: those of a result.
    """
    draws = (*RUN_FIGURES, scaling) if scaling_histories(tables) else RUN_FIGURES
    return {draw.__name__: draw(tables) for draw in draws}


def figure_bytes(figure: Figure, format: str, *, text_as_text: bool = False) -> bytes:
    """Return a figure as the bytes of a file, reproducibly.

    `figure`: any figure of this package; `text_as_text` says whether an SVG contains text in the reader's fonts instead
    of outlines. Returns the content of the file. Raises ValueError if the format is unknown.
    """
    if format not in FORMATS:
        raise ValueError(f"{format!r} is not a figure format (formats: {', '.join(FORMATS)})")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[format]
    out = io.BytesIO()
    with figure_style(svg_fonttype="none" if text_as_text else "path"):
        figure.savefig(out, format=format, metadata=metadata)
    return out.getvalue()


def save_figures(figures: Mapping[str, Figure], directory: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write figures to a directory, which is created if necessary; files have the names of the figures.

    `formats`: some of `FORMATS`. Returns the written files. Raises ValueError if a format is unknown.
    """
    contents = {
        directory / f"{name}.{format}": figure_bytes(figure, format)
        for name, figure in figures.items()
        for format in formats
    }
    is_new = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    try:
        for path, content in contents.items():
            write_file(path, content)
    except OSError:
        if is_new and not any(directory.iterdir()):
            directory.rmdir()
        raise
    return list(contents)


def _stacked(breakdown: Breakdown, tables: Tables, *, narrow: bool) -> Figure:
    with figure_style():
        return bars.draw(breakdown, breakdown.title if narrow else _title(breakdown.title, tables), narrow=narrow)


@contextmanager
def figure_style(**settings: str) -> Iterator[None]:
    """Apply the style of all figures within a context or function.

    `settings`: further Matplotlib settings by name, with `_` for `.`.
    """
    import matplotlib

    overrides: dict[Any, Any] = {name.replace("_", "."): value for name, value in settings.items()}
    with matplotlib.rc_context({**matplotlib_settings(), **overrides}), warnings.catch_warnings():
        # A name may have characters that no font contains; Matplotlib draws a box instead.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def _title(what: str, tables: Tables) -> str:
    scenarios = sorted({run["scenario"] for run in table_rows(tables, "runs")})
    return f"{what}: {shortened(printable(scenarios[0]), 30)}" if len(scenarios) == 1 else what
