"""`assignor-sim list` and `releases`: everything that can be named, and what Kafka releases change."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import exit_on_error, exit_with_error
from assignor_sim.console.progress import show_progress


def releases(
    from_: Annotated[
        str | None, typer.Option("--from", help="Older release; by default the one before --to.", metavar="RELEASE")
    ] = None,
    to: Annotated[str | None, typer.Option(help="Newer release; by default the newest.", metavar="RELEASE")] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            help="Scenario to simulate; by default all shipped ones. Repeatable.",
            autocompletion=options.complete_scenario,
            metavar="SCENARIO",
        ),
    ] = None,
    format_: options.FormatOfTables = options.OutputFormat.TABLE,
) -> None:
    """Show which answers of assignors differ between two Kafka releases, and what an upgrade changes.

    Example: [bold]assignor-sim releases --from 4.3 --to 4.4 --scenario cold_start[/bold]
    """
    from assignor_sim.api.releases import releases as compare_releases
    from reports.analysis.release_changes import record
    from reports.render.releases import releases_report

    paths = None if scenario is None else [Path(name) for name in scenario]
    with exit_on_error(), show_progress() as step:
        changes = compare_releases(from_, to, scenarios=paths, on_progress=step)
    options.print_report(format_, releases_report(changes), lambda: record(changes))


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
    format_: options.Format = options.OutputFormat.TABLE,
) -> None:
    """List assignors, shipped scenarios and sweeps, known problems with fixes, strategies, metrics and releases.

    Example: [bold]assignor-sim list problems[/bold]
    """
    from assignor_sim.api.listing import TOPICS
    from reports.document import Report, ReportSection

    listings = {name: build() for name, build in TOPICS.items() if topic in (None, name)}
    if topic is not None:
        listing = listings[topic]
        report = Report(listing.title, [ReportSection(topic, "", listing.blocks())])
        options.print_report(format_, report, lambda: listing.rows)
    elif format_ is options.OutputFormat.CSV:
        exit_with_error(f"csv holds one table (choose one of: {', '.join(listings)})")
    else:
        sections = [ReportSection(name, one.title, one.blocks()) for name, one in listings.items()]
        report = Report("What can be named", sections)
        options.print_report(format_, report, lambda: {name: one.rows for name, one in listings.items()})
