"""Figures of sweeps, one function per figure; the same sweep gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reports.analysis.formatting import (
    byte_unit,
    format_bytes,
    format_duration,
    format_percent,
    format_rate,
    format_usd,
    time_unit,
)
from reports.analysis.metrics import Metric
from reports.analysis.sweeps.aggregated_sweep import AggregatedCell, AggregatedSweep, MeanEstimate, Row
from reports.analysis.sweeps.grids import excludes_zero, factor_shares, heat_map, largest_differences, share
from reports.analysis.text import printable, shortened
from reports.render.drawing.style import INK, PAPER, line_style, new_figure, write_instead_of_data
from reports.render.figures.run_figures import figure_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MAX_DOMINATED: Final = 400
"""Maximum number of dominated cells drawn per assignor."""

MAX_INTERVALS: Final = 15
"""Maximum number of differences drawn."""

_LAST_LIGHT = 6
"""Last heat step that is light enough for dark text."""


@figure_style()
def pareto_front(sweep: AggregatedSweep, *, narrow: bool = False) -> Figure:
    """Draw every cell by its first two objectives: Pareto-optimal ones filled, dominated ones hollow.

    `sweep`: the sweep; cells without both objectives are not drawn.
    """
    figure, axes = _figure("Pareto front", sweep, 4.2, narrow=narrow)
    if len(sweep.objectives) < 2:
        return _empty(figure, axes)
    x_metric, y_metric = sweep.objectives[:2]
    for number, assignor in enumerate(sweep.assignors):
        assignor_cells = [
            cell for cell in sweep.cells if cell.assignor == assignor and _has(cell, x_metric) and _has(cell, y_metric)
        ]
        on_front = [cell for cell in assignor_cells if cell.row["on_front"]]
        dominated = [cell for cell in assignor_cells if not cell.row["on_front"]]
        dominated_sample = dominated[:: -(-len(dominated) // MAX_DOMINATED) or 1]
        color, marker = line_style(number).color, line_style(number).marker
        style: dict[str, Any] = {"linestyle": "none", "marker": marker, "color": color}
        points = [(cell.row[x_metric.name], cell.row[y_metric.name]) for cell in dominated_sample]
        axes.plot(*_columns(points), markersize=4, fillstyle="none", markeredgewidth=0.8, alpha=0.7, **style)
        points = [(cell.row[x_metric.name], cell.row[y_metric.name]) for cell in on_front]
        name = shortened(printable(assignor), 24 if narrow else 60)
        axes.plot(*_columns(points), markersize=7, markeredgecolor=PAPER, label=name, zorder=3, **style)
    _label(axes.xaxis, x_metric, axes.get_xlim()[1], narrow=narrow)
    _label(axes.yaxis, y_metric, axes.get_ylim()[1], narrow=narrow)
    figure.legend(loc="outside lower left", ncols=1 if narrow else 3, title="filled: Pareto-optimal", alignment="left")
    return figure


@figure_style()
def two_factors(sweep: AggregatedSweep, *, narrow: bool = False) -> Figure:
    """Draw the mean of the first objective by the two most influential factors."""
    matrix = heat_map(sweep)
    figure, axes = _figure("Two factors" if matrix is None else matrix.metric.title, sweep, 4.0, narrow=narrow)
    if matrix is None:
        return _empty(figure, axes)
    rows, columns = (sweep.factors[number] for number in matrix.factors)
    values = [[float("nan") if cell.value is None else cell.value for cell in row] for row in matrix.cells]
    # A single hue from light to dark keeps the order in grayscale and for color-blind readers.
    axes.grid(visible=False)
    axes.pcolormesh(values, cmap="Blues", edgecolors=PAPER, linewidth=1.5)
    axes.invert_yaxis()
    axes.set_xticks([x + 0.5 for x in range(len(matrix.columns))], [shortened(text, 14) for text in matrix.columns])
    axes.set_yticks([y + 0.5 for y in range(len(matrix.rows))], [shortened(text, 14) for text in matrix.rows])
    axes.set(xlabel=shortened(printable(columns.name), 40), ylabel=shortened(printable(rows.name), 40))
    for y, row in enumerate(matrix.cells):
        for x, cell in enumerate(row):
            color = PAPER if matrix.heat[y][x] > _LAST_LIGHT else INK
            axes.text(x + 0.5, y + 0.5, cell.text, ha="center", va="center", color=color, fontsize=8)
    return figure


@figure_style()
def paired_differences(sweep: AggregatedSweep, *, narrow: bool = False) -> Figure:
    """Draw the largest significant differences from the baseline in the first objective, with intervals."""
    rows = _largest(sweep)
    figure, axes = _figure("Difference from the baseline", sweep, 1.3 + 0.32 * max(1, len(rows)), narrow=narrow)
    if not rows:
        return _empty(figure, axes)
    metric = sweep.objectives[0]
    for y, (cell, difference) in enumerate(rows):
        style = line_style(sweep.assignors.index(cell.assignor))
        low, high = difference.low, difference.high
        if low is not None and high is not None:
            axes.plot([low, high], [y, y], color=style.color, linewidth=1.5)
        filled = "full" if excludes_zero(difference) else "none"
        axes.plot([difference.mean], [y], color=style.color, marker=style.marker, fillstyle=filled)
        label = shortened(printable(f"{cell.label} · {cell.assignor}"), 44 if narrow else 90)
        axes.annotate(
            label, (0, y), xycoords=axes.get_yaxis_transform(), xytext=(2, 5), textcoords="offset points", fontsize=7.5
        ).set_in_layout(False)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set(yticks=[], ylim=(len(rows) - 0.5, -0.9))
    axes.grid(visible=False, axis="y")
    _label(axes.xaxis, metric, max(map(abs, axes.get_xlim())), narrow=narrow)
    return figure


@figure_style()
def sensitivity(sweep: AggregatedSweep, *, narrow: bool = False) -> Figure:
    """Draw the share of the variance of each objective that each factor explains alone."""
    by_metric = factor_shares(sweep)
    bars = [(metric, _strongest(by_metric.get(metric.name, {}))) for metric in sweep.objectives]
    lines = sum(len(shares_of_factors) + 1.4 for _, shares_of_factors in bars)
    figure, axes = _figure("Most influential factors", sweep, 0.9 + 0.24 * lines, narrow=narrow)
    if not any(shares_of_factors for _, shares_of_factors in bars):
        return _empty(figure, axes)
    y, ticks = 0.0, []
    for metric, shares_of_factors in bars:
        axes.text(0, y, metric.title, fontweight="bold", fontsize=8.5, va="center")
        for name, value in shares_of_factors:
            y += 1
            axes.barh(y, value, 0.7, color=line_style(0).color)
            axes.annotate(share(value), (value, y), xytext=(4, 0), textcoords="offset points", fontsize=8, va="center")
            ticks.append((y, shortened(printable(name), 18 if narrow else 30)))
        y += 1.4
    axes.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
    axes.set(xlim=(0, 1.08), ylim=(y - 0.7, -0.8), xlabel="share of the variance of all runs")
    axes.xaxis.set_major_formatter(lambda value, _: format_percent(round(100 * value)))
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.grid(visible=False, axis="y")
    return figure


SWEEP_FIGURES = (pareto_front, two_factors, paired_differences, sensitivity)
"""Every figure, in the order of display."""


def _figure(what: str, sweep: AggregatedSweep, height_in: float, *, narrow: bool) -> tuple[Figure, Axes]:
    figure = new_figure(height_in, narrow=narrow)
    axes = figure.add_subplot()
    axes.set_title(what if narrow else f"{what}: {shortened(printable(sweep.name), 40)}")
    return figure, axes


def _empty(figure: Figure, axes: Axes) -> Figure:
    write_instead_of_data(axes, "no data")
    return figure


def _has(cell: AggregatedCell, metric: Metric) -> bool:
    return cell.row[metric.name] is not None


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _label(axis: Axis, metric: Metric, maximum: float, *, narrow: bool) -> None:
    """Label an axis with a unit that suits its values."""
    from matplotlib.ticker import MaxNLocator

    factor, unit = _unit(metric, maximum)
    axis.set_label_text(f"{metric.title}{f' ({unit})' if unit else ''}")
    axis.set_major_formatter(lambda value, _: f"{value / factor:,.6g}".replace("-", "−"))
    locator = MaxNLocator(4 if narrow else 7)
    low, high = axis.get_view_interval()
    axis.set_ticks([tick * factor for tick in locator.tick_values(low / factor, high / factor)])
    axis.set_view_interval(low, high, ignore=True)


def _unit(metric: Metric, maximum: float) -> tuple[float, str]:
    if metric.write in (format_bytes, format_rate):
        factor, unit = byte_unit(maximum)
        return factor, f"{unit}/s" if metric.write is format_rate else unit
    if metric.write is format_duration:
        return time_unit(maximum)
    return 1.0, "$" if metric.write is format_usd else "%" if metric.write is format_percent else ""


def _largest(sweep: AggregatedSweep) -> list[tuple[AggregatedCell, MeanEstimate]]:
    """Return the cells with the largest differences, significant ones first, sorted from lowest to highest."""
    if not sweep.objectives:
        return []
    largest = largest_differences(sweep, sweep.objectives[0], MAX_INTERVALS)
    return [(sweep.cells[index], difference) for index, difference in largest]


def _strongest(rows: Mapping[str, Row]) -> list[tuple[str, float]]:
    known = [(row["rank"], name, row["share"]) for name, row in rows.items() if row["share"] is not None]
    return [(name, value) for _, name, value in sorted(known)]
