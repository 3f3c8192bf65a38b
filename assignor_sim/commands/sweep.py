"""`assignor-sim sweep` and `aggregate`: run a scenario in many settings, and compare them, on Spark."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import INTERRUPTED, RUN_FAILED, exit_on_error, print_error
from assignor_sim.console.progress import show_run_progress

if TYPE_CHECKING:
    from pipeline.sweep.stop_rule import StopRule
    from scenarios.sweeps.prepared import PreparedSweep


def aggregate(
    directories: Annotated[
        list[str], typer.Argument(help="Directories of sweeps, complete or not: paths or URIs.", metavar="DIR…")
    ],
    out: Annotated[
        str | None,
        typer.Option(help="Folder for the tables; DIR/aggregate by default, if there is one sweep.", metavar="DIR"),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Label of the baseline assignor, in place of the sweep's.", metavar="LABEL"),
    ] = None,
    master: options.Master = None,
    conf: options.Conf = None,
    py_files: options.PyFiles = None,
    format_: options.FormatOfTables = options.OutputFormat.TABLE,
) -> None:
    """Aggregate sweeps: means, differences, the Pareto front, and the most influential factors.

    Example: [bold]assignor-sim aggregate out/weights --baseline high_availability[/bold]
    """
    from pipeline.aggregate import aggregate as aggregate_sweeps
    from pipeline.session import connect
    from reports.render.sweep import sweep_report
    from reports.render.terminal.console import terminal_width

    with (
        exit_on_error(),
        connect(master, options.parse_spark_conf(conf), py_files or ()) as spark,
    ):
        summary = aggregate_sweeps(spark, directories, out, baseline)
    options.print_report(format_, sweep_report(summary, width=terminal_width(None)), lambda: summary)


class ComparedPairs(StrEnum):
    """What `--until-significant` compares with a baseline."""

    ASSIGNORS = "assignors"
    SETTINGS = "settings"


def sweep(
    file: Annotated[
        Path,
        typer.Argument(
            help="Sweep file, or name of a shipped sweep.",
            metavar="SWEEP",
            autocompletion=options.complete_sweep,
        ),
    ],
    out: Annotated[str, typer.Option(help="Folder for the tables: a path, or a URI that Spark knows.", metavar="DIR")],
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted sweep.")] = False,
    until_significant: Annotated[
        list[str] | None,
        typer.Option(
            help="Stop seeds of an assignor when its difference from the baseline is decided. Repeatable.",
            metavar="METRIC",
            autocompletion=options.complete_metric,
        ),
    ] = None,
    between: Annotated[
        ComparedPairs, typer.Option(help="What --until-significant compares with a baseline.")
    ] = ComparedPairs.ASSIGNORS,
    baseline_setting: Annotated[
        list[str] | None,
        typer.Option(
            help="Value of a factor in the baseline of --between settings; default: the first setting. Repeatable.",
            metavar="FACTOR=VALUE",
        ),
    ] = None,
    assignor: Annotated[
        list[str] | None,
        typer.Option(
            help="Assignor in place of the sweep's: a label, a name, package.module:Class, or java:…. Repeatable.",
            autocompletion=options.complete_assignor,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the number of runs, and run nothing.")] = False,
    assignor_timeout: options.AssignorTimeout = None,
    isolate: options.Isolate = False,
    assignor_memory: options.AssignorMemory = None,
    master: options.Master = None,
    conf: options.Conf = None,
    py_files: options.PyFiles = None,
    format_: options.FormatOfTables = options.OutputFormat.TABLE,
) -> None:
    """Run a scenario in every setting of a sweep, with every assignor and seed, and find the best settings.

    Resume an interrupted sweep with --resume; a finished one is not re-run.

    Example: [bold]assignor-sim sweep traffic_vs_movement --out out/sweep[/bold]
    """
    limits = options.call_limits(assignor_timeout, isolate, assignor_memory)
    from assignor_sim.api.sweeps import prepare
    from assignor_sim.api.sweeps import sweep as run_sweep
    from pipeline.session import connect
    from pipeline.sweep.stop_rule import StopRule
    from reports.document import Report, ReportSection, records_table
    from reports.render.sweep import sweep_report
    from reports.render.terminal.console import terminal_width
    from scenarios.language.errors import SweepError

    with exit_on_error():
        prepared = prepare(file, assignor or (), limits=limits, command=options.command_line())
        rule = None
        if until_significant:
            rule = StopRule.of(
                prepared, until_significant, between=between.value, baseline_setting=baseline_setting or ()
            )
        elif between is not ComparedPairs.ASSIGNORS or baseline_setting:
            raise SweepError("--between and --baseline-setting need --until-significant METRIC")
        if dry_run:
            plan = _plan(prepared)
            table = records_table("sweep", {key: key for key in plan}, [plan], ("csv", "markdown"))
            planned = Report(f"{prepared}{_fewer(rule)}", [ReportSection("sweep", "", [table])])
            options.print_report(format_, planned, lambda: plan)
        elif format_ is options.OutputFormat.TABLE:
            print(f"{prepared}{_fewer(rule)}", flush=True)
        for remark in prepared.remarks:
            print(remark, file=sys.stderr)
        if dry_run:
            return
        try:
            with (
                connect(master, options.parse_spark_conf(conf), py_files or (), fast_start=True) as spark,
                show_run_progress() as on_progress,
            ):
                result = run_sweep(
                    prepared,
                    out,
                    resume=resume,
                    until_significant=until_significant or (),
                    between=between.value,
                    baseline_setting=baseline_setting or (),
                    spark=spark,
                    on_progress=on_progress,
                )
        except KeyboardInterrupt:
            print(f"\nInterrupted. The finished runs are in {out}; resume with --resume.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    if result.failed:
        print_error(f"{result.failed} of {result.runs} runs failed: see the column error of the table runs")
    record = {
        "out": out,
        "runs": result.runs,
        "failed": result.failed,
        "expectations": [count.record() for count in result.expectations],
        **result.summary,
    }
    expectations = list(map(str, result.expectations))
    report = sweep_report(result.summary, expectations, out=out, width=terminal_width(None))
    options.print_report(format_, report, lambda: record)
    if result.failed:
        raise typer.Exit(RUN_FAILED)


def _fewer(rule: StopRule | None) -> str:
    """Return after how many seeds fewer runs may be needed."""
    return "" if rule is None else f", or fewer (differences are tested after {', '.join(map(str, rule.looks))} seeds)"


def _plan(prepared: PreparedSweep) -> dict[str, object]:
    """Return the number of runs and their factors as a record."""
    return {
        "sweep": prepared.sweep.name,
        "settings": len(prepared.sweep.settings),
        "assignors": list(prepared.labels),
        "seeds": list(prepared.sweep.seeds),
        "runs": prepared.total,
    }
