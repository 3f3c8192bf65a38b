"""`assignor-sim record` and `verify`: store results of scenarios, and compare later ones with them."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import BAD_INPUT, DIFFERENT, announce, exit_on_error, print_error, print_message
from assignor_sim.console.progress import show_progress

if TYPE_CHECKING:
    from reports.analysis.stored.verification import Verification


def record(
    scenarios: options.ScenarioFiles,
    assignor: options.AssignorsInPlace = None,
    force: options.Force = False,
    format_: options.Format = options.OutputFormat.TABLE,
) -> None:
    """Simulate scenarios and store their results beside them, as NAME.expected.json.

    Leave a file unchanged if its results are the same.

    Example: [bold]assignor-sim record scenarios/*.yaml[/bold]
    """
    from assignor_sim.api import regression
    from reports.document import records_report

    rows: list[dict[str, str]] = []
    with exit_on_error(OSError):
        for file in regression.scenario_files(scenarios):
            with show_progress() as on_progress:
                outcome = regression.record(
                    file,
                    assignor or (),
                    on_progress=on_progress,
                    on_estimate=lambda estimate: announce(estimate, may_exceed=force, options="--force"),
                )
            target = regression.stored_results_path(file)
            rows.append({"file": str(target), "outcome": outcome})
            if format_ is options.OutputFormat.TABLE:
                print(f"{target}: {outcome}")
    if format_ is not options.OutputFormat.TABLE:
        options.print_report(format_, records_report("Stored results", ("file", "outcome"), rows), lambda: rows)


class VerifyFormat(StrEnum):
    """Output format of the verification."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    GITHUB = "github"


def verify(
    scenarios: options.ScenarioFiles,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            help="Tolerance of a metric, as in active_moves=5% or active_moves=3. Repeatable.", metavar="METRIC=SIZE"
        ),
    ] = None,
    metrics_only: Annotated[
        bool, typer.Option("--metrics-only", help="Compare metrics only, not the decisions of single rebalances.")
    ] = False,
    assignor: options.AssignorsInPlace = None,
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML to this file.", metavar="FILE")] = None,
    format_: Annotated[VerifyFormat, typer.Option("--format", help="Output format.")] = VerifyFormat.TEXT,
) -> None:
    """Simulate scenarios again, check their expectations, and compare with the results stored beside them.

    Exit codes: 0 if all results are the same and meet the expectations, 1 if any does not, 2 if a scenario is invalid
    or has neither. In a directory, scenarios without expectations and stored results are listed and skipped.

    Example: [bold]assignor-sim verify scenarios --tolerance time_to_converge_ms=5% --junit out/verify.xml[/bold]
    """
    from assignor_sim.api import regression
    from assignor_sim.text_files import check_output, write_text
    from reports.analysis.stored.verification import VerificationStatus, parse_tolerances
    from reports.render.verification import junit as junit_xml
    from reports.render.verification import render

    unreadable, not_stored = VerificationStatus.UNREADABLE, VerificationStatus.NOT_STORED
    only_directories = all(argument.is_dir() for argument in scenarios)
    verifications = []
    with exit_on_error(OSError):
        check_output(junit, "--junit")
        allowed = parse_tolerances(tolerance or ())
        for file in regression.scenario_files(scenarios):
            with show_progress() as on_progress:
                verification = regression.verify_file(
                    file,
                    allowed,
                    metrics_only=metrics_only,
                    assignors=assignor or (),
                    on_progress=on_progress,
                    # It has been recorded, so it may run.
                    on_estimate=lambda estimate: announce(estimate, may_exceed=True, options=""),
                )
            verifications.append(verification)
            if format_ is VerifyFormat.TEXT:
                _print_text(verification, is_skipped=verification.status is not_stored and only_directories)
        if format_ is not VerifyFormat.TEXT:
            print(render(verifications, format_.value), end="")
        if junit is not None:
            write_text(junit, junit_xml(verifications).decode())
    statuses = {verification.status for verification in verifications}
    if unreadable in statuses or (not_stored in statuses and not only_directories) or statuses == {not_stored}:
        raise typer.Exit(BAD_INPUT)
    if not all(verification.passes or verification.status is not_stored for verification in verifications):
        raise typer.Exit(DIFFERENT)


def _print_text(verification: Verification, *, is_skipped: bool) -> None:
    """Print the result of one scenario; what could not be verified, to standard error."""
    from reports.analysis.stored.verification import VerificationStatus
    from reports.render.verification import as_text

    text = as_text(verification).rstrip("\n")
    if verification.status is VerificationStatus.UNREADABLE or (
        verification.status is VerificationStatus.NOT_STORED and not is_skipped
    ):
        print_error(text)
        return
    for line in text.split("\n"):
        print_message(line, sys.stderr if is_skipped else sys.stdout)
    sys.stdout.flush()
