"""`assignor-sim releases`: what changes from one Kafka release to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.completion import complete_scenario
from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.formats import FormatOfTables, OutputFormat, print_report


def releases(
    from_: Annotated[
        str | None, typer.Option("--from", help="Older release; by default the one before --to.", metavar="RELEASE")
    ] = None,
    to: Annotated[str | None, typer.Option(help="Newer release; by default the newest.", metavar="RELEASE")] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            help="Scenario to simulate; by default all shipped ones. Repeatable.",
            autocompletion=complete_scenario,
            metavar="SCENARIO",
        ),
    ] = None,
    format_: FormatOfTables = OutputFormat.TABLE,
) -> None:
    """Show which answers of assignors differ between two Kafka releases, and what an upgrade changes.

    Example: [bold]assignor-sim releases --from 4.3 --to 4.4 --scenario cold_start[/bold]
    """
    from assignor_sim.api.releases import releases as compare_releases
    from assignor_sim.console.progress import show_progress
    from assignors.errors import AssignorError
    from reports.analysis.release_changes import record
    from reports.render.releases import releases_report
    from scenarios.language.releases import UnknownReleaseError
    from scenarios.load import ScenarioError

    paths = None if scenario is None else [Path(name) for name in scenario]
    with exit_on_error(ScenarioError, AssignorError, UnknownReleaseError), show_progress() as step:
        changes = compare_releases(from_, to, scenarios=paths, on_progress=step)
    print_report(format_, releases_report(changes), lambda: record(changes))
