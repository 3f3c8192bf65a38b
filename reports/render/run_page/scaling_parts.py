"""The autoscalers of runs on a page: a figure, what it shows, and its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reports.analysis.formatting import format_count
from reports.analysis.runs.scaling_history import (
    ScalingHistory,
    changes_grid,
    history_sentence,
    reasons_grid,
    steps_grid,
)
from reports.analysis.text import printable
from reports.render.drawing import scaling_panels
from reports.render.html.inline_figures import inline_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scaling_parts(histories: Sequence[ScalingHistory]) -> list[dict[str, Any]]:
    """Return heading, sentence, figure and tables of each autoscaler, as variables of the template."""
    several = len({history.workload for history in histories}) > 1
    return [
        {
            "id": f"scaling-{number}",
            "title": f"{history.label}: {history.workload}" if several else history.label,
            "sentence": history_sentence(history),
            "figure": inline_figure(_draw, history, f"scaling-{number}", _description(history)),
            "reasons": reasons_grid(history),
            "changes": changes_grid(history),
            "steps": steps_grid(history),
            "num_changes": len(history.changes),
            "num_steps": len(history.steps),
        }
        for number, history in enumerate(histories, 1)
    ]


def _draw(history: ScalingHistory, *, narrow: bool = False) -> Figure:
    from reports.render.figures.run_figures import figure_style

    with figure_style():
        return scaling_panels.draw("", [history], narrow=narrow)


def _description(history: ScalingHistory) -> str:
    """Return the figure in words, for screen readers."""
    most = max(step["recommended"] for step in history.steps)
    return (
        f"Pods of {printable(history.workload)} over time with {printable(history.label)}: set, ready, and asked for "
        f"by the lag (up to {format_count(most)}); the lag and its target; times in which pods are held; and "
        f"rebalances by cause. {history_sentence(history)} Tables hold the numbers"
    )
