"""Load curves over clients as an inline drawing; a flat curve means balanced load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reports.analysis.runs.client_loads import ClientLoad
from reports.render.drawing.chart_axes import Unit
from reports.render.drawing.line_chart import ChartLine, LineChart, line_chart

if TYPE_CHECKING:
    from markupsafe import Markup


def load_chart(loads: Mapping[str, Sequence[ClientLoad]]) -> Markup | None:
    """Return a descending curve of tasks per thread for each assignor; None without an assignment."""
    from markupsafe import Markup

    longest = max(map(len, loads.values()), default=0)
    if not longest:
        return None
    lines = [
        ChartLine(label, index, range(1, len(run_loads) + 2), _stepped([load.per_thread for load in run_loads]))
        for index, (label, run_loads) in enumerate(loads.items())
    ]
    chart = LineChart(
        title="Active and standby tasks per thread of each client, most loaded first, for each assignor",
        lines=lines,
        x_unit=Unit(1.0, "", is_whole=True),
        y_unit=Unit(1.0, "tasks/thread"),
        x_name="clients, most loaded first",
        until=float(longest + 1),
        start=1.0,
        is_stepped=True,
    )
    return Markup(line_chart(chart))


def _stepped(values: Sequence[float]) -> list[float]:
    """Return the values with the last one repeated, so that the step of the last client has a width."""
    return [*values, *values[-1:]]
