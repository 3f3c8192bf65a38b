"""`assignor-sim review`: invariants and quality of an assignor against a baseline."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.assignor_options import AssignorMemory, AssignorTimeout, Isolate, call_limits
from assignor_sim.console.completion import complete_assignor, complete_scenario
from assignor_sim.console.exits import BAD_INPUT, DIFFERENT, RUN_FAILED, exit_on_error, exit_with_error, print_error
from assignor_sim.console.key_value_options import parse_configs
from assignor_sim.console.spark_options import Conf, Master, PyFiles, requested_session
from simulator.plurals import counted

if TYPE_CHECKING:
    from assignor_sim.api.reviewing import Review
    from reports.analysis.review.report import ReviewReport
    from reports.analysis.stored.verification import Tolerance


class ReviewFormat(StrEnum):
    """Output format of the review."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    JUNIT = "junit"


def review(
    scenarios: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Scenario files, directories of them, or names of shipped ones; by default the suite.",
            metavar="[SCENARIO…]",
            autocompletion=complete_scenario,
        ),
    ] = None,
    head: Annotated[
        str, typer.Option(help="The assignor under review, as in run.", autocompletion=complete_assignor)
    ] = "high_availability",
    base: Annotated[
        str, typer.Option(help="The assignor to compare it with, as in run.", autocompletion=complete_assignor)
    ] = "high_availability",
    head_config: Annotated[
        list[str] | None,
        typer.Option(help="Streams config of the assignor under review. Repeatable.", metavar="KEY=VALUE"),
    ] = None,
    base_config: Annotated[
        list[str] | None, typer.Option(help="Streams config of the baseline. Repeatable.", metavar="KEY=VALUE")
    ] = None,
    suite: Annotated[str, typer.Option(help="Suite of scenarios: standard.")] = "standard",
    quick: Annotated[bool, typer.Option("--quick", help="Run the quick selection of the suite.")] = False,
    family: Annotated[list[str] | None, typer.Option(help="Family of the suite to run. Repeatable.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the suite.", min=0)] = 1,
    metric: Annotated[list[str] | None, typer.Option(help="Key of a metric to compare. Repeatable.")] = None,
    fail_if_worse: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 if this is significantly worse in any family: METRIC, METRIC=5% or METRIC=3. Repeatable.",
            metavar="METRIC",
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Number of processes; default: one per CPU.", min=1)] = None,
    assignor_timeout: AssignorTimeout = None,
    isolate: Isolate = False,
    assignor_memory: AssignorMemory = None,
    master: Master = None,
    conf: Conf = None,
    py_files: PyFiles = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Directory for report, page and shrunk scenarios.", metavar="DIR"),
    ] = None,
    format_: Annotated[ReviewFormat, typer.Option("--format", help="Output format.")] = ReviewFormat.TABLE,
) -> None:
    """Check an assignor on a suite of scenarios, and compare it with another one.

    Exit codes: 0; 1 if it violates an invariant where the baseline does not, or is worse (--fail-if-worse); 2 for
    invalid input; 3 if it failed: an exception, an invalid assignment, or different answers for the same state.

    Example: [bold]assignor-sim review --base high_availability --head mypkg:Mine --quick[/bold]
    """
    limits_of_calls = call_limits(assignor_timeout, isolate, assignor_memory)
    from assignor_sim.api.regression import scenario_files
    from assignor_sim.api.reviewing import review as review_assignor
    from assignor_sim.commands.compare import parse_limits
    from assignor_sim.console.progress import show_progress
    from assignor_sim.console.remarks import print_remark
    from assignors.errors import AssignorError
    from pipeline.errors import SparkError
    from pipeline.pool import PoolError
    from reports.analysis.review.report import REVIEW_METRICS, timing_records
    from reports.analysis.stored.results import StoredResultsError
    from reports.render.review import timing_line
    from simulator.results.result_directory import ResultsError, check_writable

    with exit_on_error(AssignorError, PoolError, SparkError, StoredResultsError, ResultsError, ValueError, OSError):
        if out is not None:
            check_writable(out, "review")
        limits = parse_limits(fail_if_worse or ())
        with requested_session(master, conf, py_files) as spark, show_progress() as on_progress:
            reviewed = review_assignor(
                head,
                base,
                scenario_files(scenarios or ()),
                suite=suite,
                quick=quick,
                seed=seed,
                metrics=list(dict.fromkeys((*(metric or REVIEW_METRICS), *limits))),
                base_configs=parse_configs("--base-config", base_config or ()),
                head_configs=parse_configs("--head-config", head_config or ()),
                families=family or (),
                limits=limits_of_calls,
                workers=workers,
                spark=spark,
                on_progress=on_progress,
            )
        print(_rendered(reviewed, format_), end="")
        if out is not None:
            reviewed.save(out)
    timings = timing_records(reviewed.outcomes)
    if timings and out is not None:  # They differ from run to run, unlike everything else that is printed.
        print_remark("note", timing_line(timings))
    _exit_if_failed_or_worse(reviewed.report, limits)


def _rendered(reviewed: Review, format_: ReviewFormat) -> str:
    import json

    from reports.analysis.review.report import report_record
    from reports.render.report_formats import report_csv, report_markdown
    from reports.render.review import review_junit, review_report

    match format_:
        case ReviewFormat.TABLE:
            return str(reviewed)
        case ReviewFormat.MARKDOWN:
            return report_markdown(review_report(reviewed.report))
        case ReviewFormat.JSON:
            return json.dumps(report_record(reviewed.report), indent=2, ensure_ascii=False) + "\n"
        case ReviewFormat.CSV:
            return report_csv(review_report(reviewed.report))
        case ReviewFormat.JUNIT:
            return review_junit(reviewed.report).decode()


def _exit_if_failed_or_worse(report: ReviewReport, limits: Mapping[str, Tolerance]) -> None:
    """Print failures, violations and significantly worse metrics; exit with 3 or 1 if there are any."""
    sys.stdout.flush()
    worse = list(_worse(report, limits))
    for count in report.failed:
        print_error(f"{count.invariant}: failed in {counted(count.head, 'case')}; {count.case}: {count.example}")
    for count in report.regressions:
        if not count.is_failure:
            text = f"violated in {counted(count.only_head, 'case')} in which {report.base} does not; {count.case}"
            print_error(f"{count.invariant}: {text}: {count.example}")
    for line in worse:
        print_error(line)
    if report.failed:
        raise typer.Exit(RUN_FAILED)
    if report.regressions or worse:
        raise typer.Exit(DIFFERENT)
    if not report.families:
        exit_with_error("no case can run with these assignors and configs")
    if limits and not report.is_decidable:
        print_error("--fail-if-worse: there are too few scenarios for a significant difference")
        raise typer.Exit(BAD_INPUT)


def _worse(report: ReviewReport, limits: Mapping[str, Tolerance]) -> Iterator[str]:
    """Yield a line for each metric that is significantly worse in a family by more than its margin."""
    from reports.analysis.paired_comparison import ComparisonVerdict

    for finding in report.of(ComparisonVerdict.WORSE):
        one = finding.comparison
        if one.metric not in limits or one.baseline is None or one.mean is None:
            continue
        if not limits[one.metric].allows(one.baseline, one.mean):
            yield f"{one.scenario}: {report.head} is significantly worse in {one.metric}"
