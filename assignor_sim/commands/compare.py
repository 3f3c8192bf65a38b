"""`assignor-sim compare`: assignors against each other, over scenarios and seeds."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.exits import BAD_INPUT, DIFFERENT, exit_on_error

if TYPE_CHECKING:
    from reports.analysis.paired_comparison import PairedComparison
    from reports.analysis.stored.tolerance import Tolerance


class CompareFormat(StrEnum):
    """How the outcome is printed."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def compare(
    scenarios: Annotated[
        list[Path],
        typer.Argument(help="Scenario files, directories of them, or names of shipped ones.", metavar="SCENARIO…"),
    ],
    assignor: Annotated[
        list[str],
        typer.Option(help="Two or more, the first is what the others are held against; as in run."),
    ],
    seeds: Annotated[int, typer.Option(help="How many seeds: 1, 2 and so on.", min=1)] = 20,
    metric: Annotated[
        list[str] | None, typer.Option(help="Compare this, in place of the usual. May be repeated.")
    ] = None,
    fail_if_worse: Annotated[
        list[str] | None,
        typer.Option(
            help="End with 1 if this is worse anywhere, by more than chance: METRIC, METRIC=5% or METRIC=3. "
            "May be repeated.",
            metavar="METRIC",
        ),
    ] = None,
    format_: Annotated[CompareFormat, typer.Option("--format", help="How to print it.")] = CompareFormat.TABLE,
) -> None:
    """Hold assignors against the first one named, over scenarios and seeds, and tell differences from chance.

    Example: [bold]assignor-sim compare --assignor high_availability --assignor mypkg:Mine scenarios[/bold]
    """
    from assignor_sim.api.comparison import compare_over_seeds
    from assignor_sim.api.regression import scenario_files
    from assignor_sim.console.progress import show_progress
    from assignor_sim.console.remarks import print_notes
    from assignors.errors import AssignorError
    from reports.analysis.stored.results import StoredResultsError
    from reports.analysis.stored.tolerance import ToleranceError
    from reports.render.terminal.significance import render
    from scenarios.load import ScenarioError, load

    with exit_on_error(ScenarioError, AssignorError, StoredResultsError, ToleranceError):
        assignors = list(dict.fromkeys(assignor))
        if len(assignors) < 2:
            raise ToleranceError("--assignor: name two or more to compare")
        limits = _limits(fail_if_worse or ())
        wanted = dict.fromkeys((*_metrics(metric or ()), *limits))
        loaded = [load(file) for file in scenario_files(scenarios)]
        with show_progress() as on_progress:
            outcome, warnings = compare_over_seeds(loaded, assignors, range(1, seeds + 1), list(wanted), on_progress)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for each in loaded:
        print_notes(each, named=True)
    print(render(outcome, format_.value), end="")
    _end(outcome, limits)


def _metrics(names: Sequence[str]) -> Sequence[str]:
    """What is asked for, else the usual."""
    from reports.analysis.metrics import COMPARABLE_METRICS
    from reports.analysis.paired_comparison import DEFAULT_METRICS
    from reports.analysis.stored.tolerance import parse_tolerance

    for name in names:
        parse_tolerance("--metric", f"{name}=0", tuple(COMPARABLE_METRICS))
    return names or DEFAULT_METRICS


def _limits(texts: Sequence[str]) -> dict[str, Tolerance]:
    """By how much each metric may be worse."""
    from reports.analysis.metrics import COMPARABLE_METRICS
    from reports.analysis.stored.tolerance import parse_tolerance

    return {
        text.partition("=")[0]: parse_tolerance(
            "--fail-if-worse", text if "=" in text else f"{text}=0", tuple(COMPARABLE_METRICS)
        )
        for text in texts
    }


def _end(outcome: PairedComparison, limits: Mapping[str, Tolerance]) -> None:
    worse = list(_worse(outcome, limits))
    for line in worse:
        print(line, file=sys.stderr)
    if outcome.failures:
        print(f"{len(outcome.failures)} runs came to no result", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)
    if worse:
        raise typer.Exit(DIFFERENT)
    if limits and not outcome.is_decidable:
        print(f"--fail-if-worse: {outcome.seeds} seeds are too few to tell", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)


def _worse(outcome: PairedComparison, limits: Mapping[str, Tolerance]) -> Iterator[str]:
    from reports.analysis.paired_comparison import ComparisonVerdict

    for each in outcome.findings:
        if each.verdict is not ComparisonVerdict.WORSE or each.metric not in limits:
            continue
        if each.baseline is None or each.mean is None:
            continue
        if not limits[each.metric].allows(each.baseline, each.mean):
            yield f"{each.scenario}: {each.assignor} is worse in {each.metric}, by more than chance"
