"""`assignor-sim run`: simulate a scenario with one or several assignors."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.command_line import command_line
from assignor_sim.console.exits import BAD_INPUT, exit_on_error

if TYPE_CHECKING:
    from assignor_sim.api.results import RunResult
    from scenarios.run_estimate import RunEstimate

PROOF_LIMIT_S = 60.0
"""Default of `--prove-limit`."""


class RunFormat(StrEnum):
    """Output format of the comparison."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def run(
    scenario: Annotated[Path, typer.Argument(help="Scenario file, or name of a shipped scenario.", metavar="SCENARIO")],
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Assignor: label of the scenario, name, or package.module:Class. Repeatable."),
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
    out: Annotated[Path | None, typer.Option(help="Directory for tables, figures and report.", metavar="DIR")] = None,
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
    force: Annotated[
        bool, typer.Option("--force", help="Run even if the estimated time or memory exceeds its limit.")
    ] = False,
    format_: Annotated[RunFormat, typer.Option("--format", help="Output format.")] = RunFormat.TABLE,
) -> None:
    """Simulate a scenario, and compare assignors on it.

    Example: [bold]assignor-sim run order_processing --out out/first[/bold]
    """
    if prove_limit is not None and not (prove and prove_limit > 0):
        print("--prove-limit: requires --prove and a number above 0", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)
    if max_seconds is not None and not max_seconds > 0:
        print("--max-seconds: requires a number above 0", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)
    from assignor_sim.api.loading import load
    from assignor_sim.api.running import estimate
    from assignor_sim.api.running import run as simulate
    from assignor_sim.api.stored_scenario import StoredScenarioError, imports_not_stored
    from assignor_sim.console.overrides import parse_overrides
    from assignor_sim.console.progress import show_progress
    from assignor_sim.console.remarks import print_notes
    from assignors.errors import AssignorError
    from reports.render.terminal.comparison import render
    from scenarios.load import ScenarioError
    from simulator.processes.run_budget import MAX_REBALANCES
    from simulator.results.result_directory import ResultsError, check_writable

    with exit_on_error(ScenarioError, AssignorError, ResultsError, StoredScenarioError):
        if out is not None:
            check_writable(out)
        loaded = load(scenario, parse_overrides(set_))
        _announce(estimate(loaded, list(assignor or ()), seed or None), may_exceed=force or max_seconds is not None)
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
                command=command_line(),
                on_progress=on_progress,
            )
        for warning in result.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        print_notes(loaded)
        print(render(result.tables, format_.value), end="")
        if out is not None:
            result.save(out)
            if format_ is RunFormat.TABLE:
                print(f"\nTables, figures and report: {out / 'report.html'}")
            for name in imports_not_stored(loaded):
                print(f"note: explain will read {name} again, which is not copied to {out}", file=sys.stderr)
    _exit_if_failed(result)


def _announce(estimate: RunEstimate, *, may_exceed: bool) -> None:
    """Print the estimate of long runs; exit with code 2 if it exceeds a limit."""
    if estimate.is_long:
        print(f"note: estimate: {estimate}", file=sys.stderr)
    if estimate.excess is not None and not may_exceed:
        print(f"error: {estimate.excess}; run a smaller scenario, or use --force or --max-seconds", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)


def _exit_if_failed(result: RunResult) -> None:
    """Print the runs that failed or were stopped, and exit with code 2 if there are any."""
    from simulator.results.verdict import Verdict

    failed = [row for row in result.tables["runs"].to_pylist() if row["verdict"] in (Verdict.FAILED, Verdict.STOPPED)]
    for row in failed:
        print(f"{row['assignor']}, seed {row['seed']}: {row['cause']}", file=sys.stderr)
    if failed:
        raise typer.Exit(BAD_INPUT)
