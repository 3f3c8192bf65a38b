"""Panels of autoscalers on one time axis: pods, lag, why pods are held, and the rebalances underneath."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reports.analysis.formatting import time_unit
from reports.analysis.runs.scaling_history import ScalingHistory
from reports.analysis.scaled_rounds import reason_text
from reports.analysis.text import printable, shortened
from reports.render.drawing.style import (
    EVENT,
    FAINT,
    INK,
    PAPER,
    new_figure,
    part_style,
    width_in,
    write_instead_of_data,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_IN, _MARGINS_IN, _LEGEND_LINE_IN = 3.5, 0.55, 0.19
_CHAR_IN = 0.075
_SHARES = (3.0, 2.2, 1.35)
"""Heights of the panels of pods, lag and lanes."""

_COUNTS = ((1e9, "billions"), (1e6, "millions"), (1e3, "thousands"))
_LANES = ("limits", "its rebalances", "other rebalances")
_WANTED, _SET, _LAG = "#d55e00", "#0072b2", "#cc79a7"
_HOLDS = (
    "stabilized",
    "limited by the scaling policies",
    "limited by the minimum of replicas",
    "limited by the maximum of replicas",
)
"""Usual reasons, in the order of their styles, so that all figures of a page show a reason in the same one."""

_TIME_STEPS = (1, 1.5, 2, 3, 5, 10)


def draw(title: str, histories: Sequence[ScalingHistory], *, narrow: bool) -> Figure:
    """Draw three panels for each history, one history below the other."""
    reasons = _styled_reasons(histories)
    handles = _handles(reasons)
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, int(width_in(narrow=narrow) / (0.6 + _CHAR_IN * longest)))
    legend_lines = -(-len(handles) // columns)
    figure = new_figure(
        _MARGINS_IN + _PANEL_IN * max(1, len(histories)) + _LEGEND_LINE_IN * legend_lines, narrow=narrow
    )
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    if not histories:
        write_instead_of_data(figure.add_subplot(), "no autoscaler")
        return figure
    until_ms = max(max(history.until_ms for history in histories), 1)
    ms_per_unit, unit = time_unit(until_ms)
    panels = figure.subplots(
        3 * len(histories), 1, sharex=True, squeeze=False, height_ratios=_SHARES * len(histories)
    ).ravel()
    for number, history in enumerate(histories):
        pods, lag, lanes = panels[3 * number : 3 * number + 3]
        _pods(pods, history, ms_per_unit)
        if len(histories) > 1:
            label = f"{history.label}: {history.workload}"
            pods.set_title(shortened(printable(label), 34 if narrow else 80), fontsize=9)
        _lag(lag, history, ms_per_unit)
        _lanes(lanes, history, reasons, ms_per_unit)
        lanes.tick_params(axis="x", labelbottom=True)
        lanes.set_xlabel(f"time ({unit})")
    _time_axis(panels[0], until_ms / ms_per_unit, narrow=narrow)
    figure.legend(handles=handles, loc="outside lower left", ncols=columns, handlelength=2.2)
    _fix_layout(figure)
    return figure


def _styled_reasons(histories: Sequence[ScalingHistory]) -> dict[str, dict[str, Any]]:
    """Return the style of each reason for which pods are held."""
    found = {hold.reason for history in histories for hold in history.holds()}
    order = (*_HOLDS, *sorted(found.difference(_HOLDS)))
    return {reason: _hold_style(number) for number, reason in enumerate(order) if reason in found}


def _fix_layout(figure: Figure) -> None:
    """Round the places of panels: the solver's last digits differ from draw to draw, and names of clips have them."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        x, y, width, height = (round(value, 6) for value in axes.get_position().bounds)
        axes.set_position((x, y, width, height))


def _time_axis(axes: Axes, until: float, *, narrow: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(0, until)
    axes.xaxis.set_major_locator(MaxNLocator(6 if narrow else 10, steps=_TIME_STEPS))


def _times(history: ScalingHistory, ms_per_unit: float) -> list[float]:
    return [at_ms / ms_per_unit for at_ms in (*(step["at_ms"] for step in history.steps), history.until_ms)]


def _values(history: ScalingHistory, name: str, factor: float = 1.0) -> list[float]:
    """Return a column of the steps; the last value holds until the end."""
    values = [step[name] / factor for step in history.steps]
    return [*values, values[-1]]


def _pods(axes: Axes, history: ScalingHistory, ms_per_unit: float) -> None:
    from matplotlib.ticker import MaxNLocator

    times = _times(history, ms_per_unit)
    axes.fill_between(times, _values(history, "ready"), step="post", **_ready_style())
    axes.step(times, _values(history, "recommended"), where="post", **_wanted_style())
    axes.step(times, _values(history, "replicas"), where="post", **_set_style())
    top = max(max(step["recommended"], step["replicas"], step["ready"]) for step in history.steps)
    axes.set_ylim(0, 1.08 * top or 1)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_ylabel("pods")


def _lag(axes: Axes, history: ScalingHistory, ms_per_unit: float) -> None:
    from matplotlib.ticker import MaxNLocator

    top = max(max(step["lag"], step["target_lag"]) for step in history.steps)
    factor, unit = next(((factor, f" ({unit})") for factor, unit in _COUNTS if top >= 2 * factor), (1.0, ""))
    times = _times(history, ms_per_unit)
    axes.step(times, _values(history, "lag", factor), where="post", **_lag_style())
    axes.step(times, _values(history, "target_lag", factor), where="post", **_target_style())
    axes.set_ylim(0, 1.08 * top / factor or 1)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    axes.set_ylabel(f"lag{unit}")


def _lanes(axes: Axes, history: ScalingHistory, reasons: Mapping[str, Mapping[str, Any]], ms_per_unit: float) -> None:
    """Draw why pods are held as bars, and each rebalance as a tick in the lane of its cause."""
    axes.set_ylim(len(_LANES) - 0.45, -0.55)
    axes.set_yticks(range(len(_LANES)), _LANES, fontsize=7.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    for hold in history.holds():
        span = (hold.start_ms / ms_per_unit, (hold.end_ms - hold.start_ms) / ms_per_unit)
        axes.broken_barh([span], (-0.36, 0.72), zorder=2, **reasons[hold.reason])
    caused = [at_ms / ms_per_unit for at_ms, _, _ in history.caused]
    axes.vlines(caused, 0.6, 1.4, color=INK, linewidth=1.1, zorder=3)
    axes.vlines([at_ms / ms_per_unit for at_ms in history.others], 1.6, 2.4, color=EVENT, linewidth=1.1, zorder=3)


def _handles(reasons: Mapping[str, Mapping[str, Any]]) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Line2D([], [], label="pods set", **_set_style()),
        Line2D([], [], label="pods that the lag asks for", **_wanted_style()),
        Patch(label="pods ready", **_ready_style()),
        Line2D([], [], label="lag", **_lag_style()),
        Line2D([], [], label="target lag", **_target_style()),
        *(Patch(label=reason_text(reason) or reason, **style) for reason, style in reasons.items()),
        Line2D([], [], color=INK, marker="|", linestyle="none", markersize=9, label="rebalance"),
    ]


def _set_style() -> dict[str, Any]:
    return {"color": _SET, "linewidth": 1.7}


def _wanted_style() -> dict[str, Any]:
    return {"color": _WANTED, "linewidth": 1.1, "linestyle": (0, (3, 1.5))}


def _ready_style() -> dict[str, Any]:
    return {"facecolor": FAINT, "linewidth": 0}


def _lag_style() -> dict[str, Any]:
    return {"color": _LAG, "linewidth": 1.4}


def _target_style() -> dict[str, Any]:
    return {"color": INK, "linewidth": 1.0, "linestyle": (0, (6, 2, 1.5, 2))}


def _hold_style(number: int) -> dict[str, Any]:
    style = part_style(number, rising=False)
    hatch = {"hatch": style.hatch} if style.hatch else {}
    return {"facecolor": style.color, "edgecolor": PAPER, "linewidth": 0, **hatch}
