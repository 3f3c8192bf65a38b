"""`assignor-sim compare`, `review` and `fuzz`: figures and invariants of an assignor, against others or in a search."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import (
    DIFFERENT,
    INTERRUPTED,
    RUN_FAILED,
    exit_on_error,
    exit_with_error,
    print_error,
    print_notes,
    print_remark,
)
from assignor_sim.console.progress import print_java_times, show_progress
from simulator.plurals import counted

if TYPE_CHECKING:
    from assignor_sim.api.reviewing import Review
    from assignors.containment.limits import CallLimits
    from reports.analysis.paired_comparison import MetricComparison, PairedComparison
    from reports.analysis.review.report import ReviewReport
    from reports.analysis.stored.verification import Tolerance


def fuzz(
    assignor: Annotated[
        str, typer.Option(help="The assignor, as in run.", autocompletion=options.complete_assignor)
    ] = "high_availability",
    config: Annotated[
        list[str] | None, typer.Option(help="Streams config of the assignor. Repeatable.", metavar="KEY=VALUE")
    ] = None,
    cases: Annotated[
        int | None, typer.Option(help="Number of cases; default: 400 without --until.", min=1, metavar="N")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Time after which no further case starts, such as 10m.", metavar="DURATION")
    ] = None,
    sequences: Annotated[
        int | None,
        typer.Option(help="Instead of scenarios, search N sequences of rebalances, unsimulated.", min=1, metavar="N"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.", min=0)] = 1,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the found cases and kept inputs; an existing one is continued. With --sequences: problem "
            "files and JUnit tests of the found cases.",
            metavar="DIR",
        ),
    ] = None,
    objective: Annotated[
        str, typer.Option(help="Key of the metric whose highest value is searched.", metavar="METRIC")
    ] = "cost_above_bound",
    workers: options.Workers = None,
    assignor_timeout: options.AssignorTimeout = None,
    isolate: options.Isolate = False,
    assignor_memory: options.AssignorMemory = None,
    format_: options.FormatOfTables = options.OutputFormat.TABLE,
) -> None:
    """Search scenarios in which an assignor violates an invariant, or is far from the optimum.

    Exit codes: 0 if no invariant is violated; 1 if one is, now or in a case of the corpus; 2 for invalid input.
    The corpus is complete after every batch; verify replays its cases.

    Example: [bold]assignor-sim fuzz --assignor mypkg:Mine --until 10m --corpus corpus[/bold]
    """
    limits = options.call_limits(assignor_timeout, isolate, assignor_memory)
    from assignor_sim.api.fuzzing import fuzz as search
    from reports.render.fuzz import fuzz_report

    if sequences is not None:
        scenario_options = (config, cases, None if objective == "cost_above_bound" else objective)
        if any(value is not None for value in scenario_options):
            exit_with_error("--sequences has no scenarios, so no --config, --cases or --objective")
        _fuzz_sequences(assignor, sequences, until, seed, limits, workers, corpus, format_)
        return
    with exit_on_error(ValueError, OSError):
        until_s = options.parse_seconds("--until", until)
        try:
            with show_progress() as on_progress:
                found = search(
                    assignor,
                    cases=cases,
                    until_s=until_s,
                    seed=seed,
                    corpus=corpus,
                    objective=objective,
                    configs=options.parse_configs("--config", config or ()),
                    limits=limits,
                    workers=workers,
                    on_progress=on_progress,
                )
        except KeyboardInterrupt:
            kept = "Nothing is kept without --corpus." if corpus is None else f"The same command continues {corpus}."
            print(f"\nInterrupted. {kept}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    options.print_report(format_, fuzz_report(found.report), found.record)
    if found.found:
        raise typer.Exit(DIFFERENT)


def _fuzz_sequences(
    assignor: str,
    sequences: int,
    until: str | None,
    seed: int,
    limits: CallLimits,
    workers: int | None,
    corpus: Path | None,
    format_: options.OutputFormat,
) -> None:
    from assignor_sim.api.fuzzing import fuzz_sequences
    from reports.analysis.text import listed
    from reports.render.fuzz import sequences_report

    with exit_on_error(ValueError, OSError):
        until_s = options.parse_seconds("--until", until)
        if corpus is not None:
            corpus.mkdir(parents=True, exist_ok=True)  # An error comes before the search.
        with show_progress() as on_progress:
            found = fuzz_sequences(
                assignor,
                sequences=sequences,
                until_s=until_s,
                seed=seed,
                limits=limits,
                workers=workers,
                on_progress=on_progress,
            )
        if corpus is not None:
            found.save(corpus)
    options.print_report(format_, sequences_report(found.report), found.record)
    if corpus is not None and found.found:
        print_remark("note", f"wrote {listed(list(found.files()))} to {corpus}")
    if found.found:
        raise typer.Exit(DIFFERENT)


def compare(
    scenarios: options.ScenarioFiles,
    assignor: Annotated[
        list[str],
        typer.Option(
            help="Two or more, as in run; the first is the baseline.",
            autocompletion=options.complete_assignor,
        ),
    ],
    seeds: Annotated[int, typer.Option(help="Number of seeds: 1, 2 and so on.", min=1)] = 20,
    metric: options.ComparedMetrics = None,
    fail_if_worse: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 if this is significantly worse anywhere: METRIC, METRIC=5% or METRIC=3. Repeatable.",
            metavar="METRIC",
        ),
    ] = None,
    assignor_timeout: options.AssignorTimeout = None,
    isolate: options.Isolate = False,
    assignor_memory: options.AssignorMemory = None,
    format_: options.Format = options.OutputFormat.TABLE,
) -> None:
    """Compare assignors with significance tests; the first is the baseline.

    Example: [bold]assignor-sim compare --assignor high_availability --assignor mypkg:Mine scenarios[/bold]
    """
    limits_of_calls = options.call_limits(assignor_timeout, isolate, assignor_memory)
    from assignor_sim.api.comparison import compare as compare_assignors
    from assignor_sim.api.loading import as_scenarios
    from assignor_sim.api.regression import scenario_files
    from reports.analysis.paired_comparison import comparison_record
    from reports.analysis.stored.verification import ToleranceError
    from reports.render.compare import comparison_report

    with exit_on_error():
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
    options.print_report(format_, comparison_report(comparison.paired), lambda: comparison_record(comparison.paired))
    _exit_if_failed(comparison.paired, limits)


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


def worse_findings(findings: Iterable[MetricComparison], limits: Mapping[str, Tolerance]) -> Iterator[str]:
    """Yield a line for each metric that is significantly worse by more than its margin."""
    from reports.analysis.paired_comparison import ComparisonVerdict

    for finding in findings:
        if finding.verdict is not ComparisonVerdict.WORSE or finding.metric not in limits:
            continue
        if finding.baseline is None or finding.mean is None:
            continue
        if not limits[finding.metric].allows(finding.baseline, finding.mean):
            yield f"{finding.scenario}: {finding.assignor} is significantly worse in {finding.metric}"


def _exit_if_failed(comparison: PairedComparison, limits: Mapping[str, Tolerance]) -> None:
    """Print failures and significantly worse metrics; exit with 3 or 1 if there are any."""
    worse = list(worse_findings(comparison.findings, limits))
    for line in worse:
        print_error(line)
    if comparison.failures:
        print_error(f"{counted(len(comparison.failures), 'run')} failed")
        raise typer.Exit(RUN_FAILED)
    if worse:
        raise typer.Exit(DIFFERENT)
    if limits and not comparison.is_decidable:
        exit_with_error(f"--fail-if-worse: {comparison.seeds} seeds are too few for a significant difference")


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
            autocompletion=options.complete_scenario,
        ),
    ] = None,
    head: Annotated[
        str, typer.Option(help="The assignor under review, as in run.", autocompletion=options.complete_assignor)
    ] = "high_availability",
    base: Annotated[
        str, typer.Option(help="The assignor to compare it with, as in run.", autocompletion=options.complete_assignor)
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
    sequences: Annotated[
        int, typer.Option(help="Run N sequences of rebalances, too, as fuzz --sequences does.", min=0, metavar="N")
    ] = 0,
    timing: Annotated[
        bool, typer.Option("--timing", help="Time both assignors, in Java, at four sizes, and what they allocate.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the suite.", min=0)] = 1,
    metric: options.ComparedMetrics = None,
    fail_if_worse: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 if this is significantly worse in any family: METRIC, METRIC=5% or METRIC=3. Repeatable.",
            metavar="METRIC",
        ),
    ] = None,
    workers: options.Workers = None,
    assignor_timeout: options.AssignorTimeout = None,
    isolate: options.Isolate = False,
    assignor_memory: options.AssignorMemory = None,
    master: options.Master = None,
    conf: options.Conf = None,
    py_files: options.PyFiles = None,
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
    limits_of_calls = options.call_limits(assignor_timeout, isolate, assignor_memory)
    from assignor_sim.api.regression import scenario_files
    from assignor_sim.api.reviewing import review as review_assignor
    from assignor_sim.console.messages import print_remark
    from assignor_sim.console.progress import show_progress
    from reports.analysis.review.report import REVIEW_METRICS, timing_records
    from reports.render.review import timing_line
    from simulator.results.result_directory import check_writable

    with exit_on_error(ValueError, OSError):
        if out is not None:
            check_writable(out, "review")
        limits = parse_limits(fail_if_worse or ())
        with options.requested_session(master, conf, py_files) as spark, show_progress() as on_progress:
            reviewed = review_assignor(
                head,
                base,
                scenario_files(scenarios or ()),
                suite=suite,
                quick=quick,
                seed=seed,
                metrics=list(dict.fromkeys((*(metric or REVIEW_METRICS), *limits))),
                base_configs=options.parse_configs("--base-config", base_config or ()),
                head_configs=options.parse_configs("--head-config", head_config or ()),
                families=family or (),
                sequences=sequences,
                timing=timing,
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
    from assignor_sim.text_files import json_text
    from reports.analysis.review.report import report_record
    from reports.render.report_formats import report_csv, report_markdown
    from reports.render.review import review_junit, review_report

    match format_:
        case ReviewFormat.TABLE:
            return str(reviewed)
        case ReviewFormat.MARKDOWN:
            return report_markdown(review_report(reviewed.report))
        case ReviewFormat.JSON:
            return json_text(report_record(reviewed.report))
        case ReviewFormat.CSV:
            return report_csv(review_report(reviewed.report))
        case ReviewFormat.JUNIT:
            return review_junit(reviewed.report).decode()


def _exit_if_failed_or_worse(report: ReviewReport, limits: Mapping[str, Tolerance]) -> None:
    """Print failures, violations and significantly worse metrics; exit with 3 or 1 if there are any."""
    sys.stdout.flush()
    worse = list(worse_findings((finding.comparison for finding in report.findings), limits))
    for count in report.failed:
        print_error(f"{count.invariant}: failed in {counted(count.head, 'case')}; {count.case}: {count.example}")
    for count in report.regressions:
        if not count.is_failure:
            text = f"violated in {counted(count.only_head, 'case')} in which {report.base} does not; {count.case}"
            print_error(f"{count.invariant}: {text}: {count.example}")
    new = [] if report.sequences is None else report.sequences.regressions
    for one in new:
        print_error(f"{one.key}: violated in {counted(one.only_head, 'sequence')} in which {report.base} does not")
    for line in worse:
        print_error(line)
    if report.failed:
        raise typer.Exit(RUN_FAILED)
    if report.regressions or new or worse:
        raise typer.Exit(DIFFERENT)
    if not report.families:
        exit_with_error("no case can run with these assignors and configs")
    if limits and not report.is_decidable:
        exit_with_error("--fail-if-worse: there are too few scenarios for a significant difference")
