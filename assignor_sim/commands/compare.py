"""`assignor-sim compare`: compare assignors with significance tests over scenarios and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.assignor_options import AssignorMemory, AssignorTimeout, Isolate, call_limits
from assignor_sim.console.completion import complete_assignor
from assignor_sim.console.exits import BAD_INPUT, DIFFERENT, RUN_FAILED, exit_on_error, print_error
from assignor_sim.console.formats import Format, OutputFormat
from assignor_sim.console.scenario_arguments import ScenarioFiles
from simulator.plurals import counted

if TYPE_CHECKING:
    from reports.analysis.paired_comparison import PairedComparison
    from reports.analysis.stored.verification import Tolerance


def compare(
    scenarios: ScenarioFiles,
    assignor: Annotated[
        list[str],
        typer.Option(
            help="Two or more, as in run; the first is the baseline.",
            autocompletion=complete_assignor,
        ),
    ],
    seeds: Annotated[int, typer.Option(help="Number of seeds: 1, 2 and so on.", min=1)] = 20,
    metric: Annotated[list[str] | None, typer.Option(help="Key of a metric to compare. Repeatable.")] = None,
    fail_if_worse: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 if this is significantly worse anywhere: METRIC, METRIC=5% or METRIC=3. Repeatable.",
            metavar="METRIC",
        ),
    ] = None,
    assignor_timeout: AssignorTimeout = None,
    isolate: Isolate = False,
    assignor_memory: AssignorMemory = None,
    format_: Format = OutputFormat.TABLE,
) -> None:
    """Compare assignors with significance tests; the first is the baseline.

    Example: [bold]assignor-sim compare --assignor high_availability --assignor mypkg:Mine scenarios[/bold]
    """
    limits_of_calls = call_limits(assignor_timeout, isolate, assignor_memory)
    from assignor_sim.api.comparison import compare as compare_assignors
    from assignor_sim.api.loading import as_scenarios
    from assignor_sim.api.regression import scenario_files
    from assignor_sim.console.java_times import print_java_times
    from assignor_sim.console.progress import show_progress
    from assignor_sim.console.remarks import print_notes, print_remark
    from assignors.errors import AssignorError
    from reports.analysis.stored.results import StoredResultsError
    from reports.analysis.stored.verification import ToleranceError
    from reports.render.compare import render
    from scenarios.load import ScenarioError

    with exit_on_error(ScenarioError, AssignorError, StoredResultsError, ToleranceError):
        assignors = list(dict.fromkeys(assignor))
        if len(assignors) < 2:
            raise ToleranceError("--assignor: name two or more to compare")
        limits = parse_limits(fail_if_worse or ())
        metrics = list(dict.fromkeys((*_metrics(metric or ()), *limits)))
        loaded = as_scenarios(scenario_files(scenarios))
        with show_progress() as on_progress:
            comparison = compare_assignors(
                loaded, assignors, seeds, metrics=metrics, limits=limits_of_calls, on_progress=on_progress
            )
    print_java_times()
    for warning in comparison.warnings:
        print_remark("warning", warning)
    for scenario in loaded:
        print_notes(scenario, named=True)
    print(render(comparison.paired, format_.value), end="")
    _exit_if_failed_or_worse(comparison.paired, limits)


def _metrics(names: Sequence[str]) -> Sequence[str]:
    """Return the metrics to compare; the default ones if none is named."""
    from reports.analysis.metrics import COMPARABLE_METRICS
    from reports.analysis.paired_comparison import DEFAULT_METRICS
    from reports.analysis.stored.verification import parse_tolerance

    for name in names:
        parse_tolerance("--metric", f"{name}=0", tuple(COMPARABLE_METRICS))
    return names or DEFAULT_METRICS


def parse_limits(texts: Sequence[str]) -> dict[str, Tolerance]:
    """Return the margin by which each metric of `--fail-if-worse` may be worse."""
    from reports.analysis.metrics import COMPARABLE_METRICS
    from reports.analysis.stored.verification import parse_tolerance

    return {
        text.partition("=")[0]: parse_tolerance(
            "--fail-if-worse", text if "=" in text else f"{text}=0", tuple(COMPARABLE_METRICS)
        )
        for text in texts
    }


def _exit_if_failed_or_worse(comparison: PairedComparison, limits: Mapping[str, Tolerance]) -> None:
    """Print failures and significantly worse metrics; exit with 3 or 1 if there are any."""
    worse = list(_worse(comparison, limits))
    for line in worse:
        print_error(line)
    if comparison.failures:
        print_error(f"{counted(len(comparison.failures), 'run')} failed")
        raise typer.Exit(RUN_FAILED)
    if worse:
        raise typer.Exit(DIFFERENT)
    if limits and not comparison.is_decidable:
        print_error(f"--fail-if-worse: {comparison.seeds} seeds are too few for a significant difference")
        raise typer.Exit(BAD_INPUT)


def _worse(comparison: PairedComparison, limits: Mapping[str, Tolerance]) -> Iterator[str]:
    """Yield a line for each metric that is significantly worse by more than its margin."""
    from reports.analysis.paired_comparison import ComparisonVerdict

    for finding in comparison.findings:
        if finding.verdict is not ComparisonVerdict.WORSE or finding.metric not in limits:
            continue
        if finding.baseline is None or finding.mean is None:
            continue
        if not limits[finding.metric].allows(finding.baseline, finding.mean):
            yield f"{finding.scenario}: {finding.assignor} is significantly worse in {finding.metric}"
