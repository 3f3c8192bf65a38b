"""`assignor-sim list`: everything that can be named: assignors, scenarios, strategies, metrics."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.formats import Format, OutputFormat


class ListTopic(StrEnum):
    """What to list."""

    ASSIGNORS = "assignors"
    CONSUMERS = "consumers"
    SCENARIOS = "scenarios"
    PROBLEMS = "problems"
    SWEEPS = "sweeps"
    STRATEGIES = "strategies"
    METRICS = "metrics"
    RELEASES = "releases"


def list_(
    topic: Annotated[ListTopic | None, typer.Argument(help="What to list; all by default.")] = None,
    format_: Format = OutputFormat.TABLE,
) -> None:
    """List assignors, shipped scenarios and sweeps, known problems with fixes, strategies, metrics and releases.

    Example: [bold]assignor-sim list problems[/bold]
    """
    from assignor_sim.api.listing import TOPICS
    from reports.render.terminal.facts import FactFormatError, render

    tables = [build() for name, build in TOPICS.items() if topic in (None, name)]
    with exit_on_error(FactFormatError):
        print(render(tables, format_.value), end="")
