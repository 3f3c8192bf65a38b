"""`assignor-sim sweep`: run a scenario in many settings, on Spark."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.exits import INTERRUPTED, exit_on_error
from assignor_sim.console.remarks import print_warnings_and_notes
from assignor_sim.console.spark_options import Conf, Master, PyFiles, parse_spark_conf

if TYPE_CHECKING:
    from pipeline.sweep.prepared import PreparedSweep


def sweep(
    file: Annotated[Path, typer.Argument(help="Sweep file, or name of a shipped sweep.", metavar="SWEEP")],
    out: Annotated[str, typer.Option(help="Folder for the tables: a path, or a URI that Spark knows.", metavar="DIR")],
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a sweep of which a part is there.")] = False,
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Run this one, in place of the sweep's: a label, a name, or package.module:Class."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
    master: Master = None,
    conf: Conf = None,
    py_files: PyFiles = None,
) -> None:
    """Run a scenario in every setting of a sweep, with every assignor and seed, and say which settings are best.

    Interrupted, it goes on with --resume; finished, it does nothing again.

    Example: [bold]assignor-sim sweep traffic_vs_movement --out out/sweep[/bold]
    """
    from assignor_sim.console.progress import show_run_progress
    from assignors.errors import AssignorError
    from pipeline.aggregate import AggregateError, aggregate
    from pipeline.session import SparkError, connect
    from pipeline.sweep.design import load_sweep
    from pipeline.sweep.errors import SweepError
    from pipeline.sweep.prepared import prepare_sweep
    from pipeline.sweep.run import run_sweep
    from reports.render.terminal.sweep import render
    from scenarios.load import ScenarioError
    from scenarios.shipped import find_sweep

    with exit_on_error(ScenarioError, AssignorError, SweepError, AggregateError, SparkError):
        prepared = prepare_sweep(
            load_sweep(find_sweep(file)), assignor or (), shlex.join(["assignor-sim", *sys.argv[1:]])
        )
        _introduce(prepared)
        if dry_run:
            return
        try:
            with connect(master, parse_spark_conf(conf), py_files or (), java_works_little=True) as spark:
                with show_run_progress() as on_progress:
                    end = run_sweep(spark, prepared, out, resume=resume, on_progress=on_progress)
                summary = aggregate(spark, [out])
        except KeyboardInterrupt:
            print(f"\nInterrupted. What is done is in {out}; go on with --resume.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    if end.failed:
        print(f"{end.failed} of the runs came to an error: see the column error of the table runs", file=sys.stderr)
    print(render(summary), end="")
    print(f"\nTables: {out}")


def _introduce(prepared: PreparedSweep) -> None:
    sweep = prepared.sweep
    print(
        f"{sweep.name}: {len(sweep.settings):,} settings × {len(prepared.labels):,} assignors × "
        f"{len(sweep.seeds):,} seeds = {prepared.total:,} runs"
    )
    print_warnings_and_notes(prepared.scenario)
    for warning in prepared.warnings:
        print(f"warning: runs of this value will come to an error: {warning}", file=sys.stderr)
