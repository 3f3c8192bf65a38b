"""`assignor-sim run`: simulate a scenario with one or several assignors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import (
    DIFFERENT,
    RUN_FAILED,
    announce,
    exit_on_error,
    exit_with_error,
    print_error,
    print_notes,
    print_remark,
)
from assignor_sim.console.progress import print_java_times, show_progress

if TYPE_CHECKING:
    from assignor_sim.api.results import RunResult


def open_in_browser(page: Path) -> None:
    """Open a page in the browser of the desktop; note if there is none."""
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        print_remark("note", f"--open: found no browser; open {page} yourself")


PROOF_LIMIT_S = 60.0


def run(
    scenario: options.ScenarioFile,
    assignor: Annotated[
        list[str] | None,
        typer.Option(
            help="Assignor: label of the scenario, name, package.module:Class, or java:…. Repeatable.",
            autocompletion=options.complete_assignor,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Change the scenario, as in clients\\[0].count=6. Repeatable.", metavar="PATH=VALUE"
        ),
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(help="Random seed, in place of the scenario's. Repeatable.", min=0)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Directory for tables and report.", metavar="DIR")] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Prove the minimum cost of every rebalance, in place of its lower bound.")
    ] = False,
    prove_limit: Annotated[
        float | None,
        typer.Option(help=f"With --prove: time limit per rebalance (default: {PROOF_LIMIT_S:g}).", metavar="SECONDS"),
    ] = None,
    max_rebalances: Annotated[
        int | None,
        typer.Option(help="Stop each run after this many rebalances (default: 10000).", min=1, metavar="N"),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(help="Stop each run after this wall-clock time; no limit by default.", metavar="SECONDS"),
    ] = None,
    force: options.Force = False,
    assignor_timeout: options.AssignorTimeout = None,
    isolate: options.Isolate = False,
    assignor_memory: options.AssignorMemory = None,
    format_: options.Format = options.OutputFormat.TABLE,
    columns: options.Columns = None,
    wide: options.Wide = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in a browser; requires --out.")] = False,
) -> None:
    """Simulate a scenario, and compare assignors on it.

    Exit code 1 if a run does not meet an expectation of the scenario (section expect).

    Example: [bold]assignor-sim run order_processing --out out/first[/bold]
    """
    if prove_limit is not None and not (prove and prove_limit > 0):
        exit_with_error("--prove-limit: requires --prove and a number above 0")
    if open_ and out is None:
        exit_with_error("--open: requires --out DIR, to which the report is written")
    if max_seconds is not None and not max_seconds > 0:
        exit_with_error("--max-seconds: requires a number above 0")
    limits = options.call_limits(assignor_timeout, isolate, assignor_memory)
    from assignor_sim.api.loading import load
    from assignor_sim.api.running import estimate
    from assignor_sim.api.running import run as simulate
    from assignor_sim.api.stored_scenario import imports_not_stored
    from reports.analysis.conclusion import conclude
    from reports.render.terminal.comparison import render
    from reports.render.terminal.conclusion import draw as draw_conclusion
    from simulator.processes.run_options import MAX_REBALANCES
    from simulator.results.result_directory import reserved_directory

    with (
        exit_on_error(),
        reserved_directory(out),
    ):
        metrics = options.parse_columns(columns)
        loaded = load(scenario, options.parse_overrides(set_))
        announce(
            estimate(loaded, list(assignor or ()), seed or None),
            may_exceed=force or max_seconds is not None,
            options="--force or --max-seconds",
        )
        with show_progress() as on_progress:
            result = simulate(
                loaded,
                list(assignor or ()),
                seed or None,
                prove=(prove_limit or PROOF_LIMIT_S) if prove else None,
                explain=out is not None,
                keep_traces=False,
                max_rebalances=max_rebalances or MAX_REBALANCES,
                max_seconds=max_seconds,
                limits=limits,
                command=options.command_line(),
                on_progress=on_progress,
            )
        print_java_times()
        for warning in result.warnings:
            print_remark("warning", warning)
        print_notes(loaded)
        print(render(result.tables, format_.value, wide=wide, metrics=metrics), end="")
        if format_ is options.OutputFormat.TABLE:
            print(f"\n{draw_conclusion(conclude(result.tables, [result.manifest]))}", end="")
        if out is not None:
            result.save(out)
            if format_ is options.OutputFormat.TABLE:
                print(f"\nTables and report: {out / 'report.html'}")
            for name in imports_not_stored(loaded):
                print_remark("note", f"explain will read {name} again, which is not copied to {out}")
            if open_:
                open_in_browser(out / "report.html")
    _exit_if_failed(result)
    _exit_if_unmet(result, prints_summary=format_ is options.OutputFormat.TABLE)


def _exit_if_failed(result: RunResult) -> None:
    """Print the runs that failed or were stopped, and exit with code 3 if there are any."""
    from simulator.results.verdict import Verdict

    failed = [row for row in result.tables["runs"].to_pylist() if row["verdict"] in (Verdict.FAILED, Verdict.STOPPED)]
    for row in failed:
        print_error(f"{row['assignor']}, seed {row['seed']}: {row['cause']}")
    if failed:
        raise typer.Exit(RUN_FAILED)


def _exit_if_unmet(result: RunResult, *, prints_summary: bool) -> None:
    """Print the expectations that are not met, and exit with code 1 if there are any."""
    from reports.analysis.expectations import summarize

    checked = result.expectations()
    if checked and prints_summary:
        print(f"\nExpectations: {summarize(checked)}")
    for expectation in checked:
        if not expectation.runs:
            print_remark("warning", str(expectation))
    unmet = [str(expectation) for expectation in checked if expectation.unmet]
    for message in unmet:
        print_error(message)
    if unmet:
        raise typer.Exit(DIFFERENT)
