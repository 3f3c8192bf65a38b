"""`assignor-sim verify`: run scenarios again and compare with what was stored."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.exits import BAD_INPUT, DIFFERENT, exit_on_error


class VerifyFormat(StrEnum):
    """How the outcome is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    GITHUB = "github"


def verify(
    scenarios: Annotated[
        list[Path],
        typer.Argument(help="Scenario files, directories of them, or names of shipped ones.", metavar="SCENARIO…"),
    ],
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="How far a metric may be off: 5% of it, or 3. May be repeated.", metavar="METRIC=SIZE"),
    ] = None,
    metrics_only: Annotated[
        bool, typer.Option("--metrics-only", help="Compare metrics alone, not what the single rounds decided.")
    ] = False,
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Run this one, in place of those that the scenario lists, as in run. May be repeated."),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML there, too.", metavar="FILE")] = None,
    format_: Annotated[VerifyFormat, typer.Option("--format", help="How to print it.")] = VerifyFormat.TEXT,
) -> None:
    """Run scenarios again and compare with the results stored beside them.

    Exit code 0 if all is as it was, 1 if anything differs, 2 if a scenario is wrong or nothing is stored. In a
    directory, scenarios without stored results are named and left out.

    Example: [bold]assignor-sim verify scenarios --tolerance time_to_converge_ms=5% --junit out/verify.xml[/bold]
    """
    from assignor_sim.api import regression
    from assignor_sim.console.progress import show_progress
    from assignor_sim.text_files import write_text
    from reports.analysis.stored.results import StoredResultsError
    from reports.analysis.stored.tolerance import ToleranceError, parse_tolerances
    from reports.analysis.stored.verification import VerificationStatus
    from reports.render.junit import junit as junit_xml
    from reports.render.verification import render

    every = []
    with exit_on_error(StoredResultsError, ToleranceError, OSError):
        allowed = parse_tolerances(tolerance or ())
        for file in regression.scenario_files(scenarios):
            with show_progress() as on_progress:
                done = regression.verify(
                    file, allowed, metrics_only=metrics_only, assignors=assignor or (), progress=on_progress
                )
            every.append(done)
            if format_ is VerifyFormat.TEXT:
                stream = (
                    sys.stderr
                    if done.status in (VerificationStatus.UNREADABLE, VerificationStatus.NOT_STORED)
                    else sys.stdout
                )
                print(render([done], format_.value), end="", flush=True, file=stream)
        if format_ is not VerifyFormat.TEXT:
            print(render(every, format_.value), end="")
        if junit is not None:
            write_text(junit, junit_xml(every).decode())
    found = {each.status for each in every}
    only_directories = all(argument.is_dir() for argument in scenarios)
    not_stored = VerificationStatus.NOT_STORED
    if (
        VerificationStatus.UNREADABLE in found
        or (not_stored in found and not only_directories)
        or found == {not_stored}
    ):
        raise typer.Exit(BAD_INPUT)
    if VerificationStatus.CHANGED in found:
        raise typer.Exit(DIFFERENT)
