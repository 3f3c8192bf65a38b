"""`assignor-sim run`: simulate a scenario and compare assignors."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.exits import BAD_INPUT, exit_on_error

if TYPE_CHECKING:
    from assignor_sim.api.results import RunResult
    from scenarios.load import Scenario

PROOF_LIMIT_S = 60.0
"""How long a round's optimum is looked for if nobody says."""


class RunFormat(StrEnum):
    """How the comparison is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def run(
    scenario: Annotated[Path, typer.Argument(help="Scenario file, or name of a shipped scenario.", metavar="SCENARIO")],
    assignor: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare this one: a label of the scenario, a name, or package.module:Class. May be repeated."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Change the scenario, as in clients\\[0].count=6. May be repeated.", metavar="PATH=VALUE"
        ),
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(help="Seed, in place of the scenario's. May be repeated.", min=0)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Directory for tables, figures and report.", metavar="DIR")] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Raise the bound of every round's cost to the proven optimum.")
    ] = False,
    prove_limit: Annotated[
        float | None,
        typer.Option(help=f"With --prove: seconds for a round (default: {PROOF_LIMIT_S:g}).", metavar="SECONDS"),
    ] = None,
    format_: Annotated[RunFormat, typer.Option("--format", help="How to print it.")] = RunFormat.TABLE,
) -> None:
    """Simulate a scenario and compare assignors on it.

    Example: [bold]assignor-sim run order_processing --out out/first[/bold]
    """
    if prove_limit is not None and not (prove and prove_limit > 0):
        print("--prove-limit SECONDS goes with --prove, and is more than 0", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)
    from assignor_sim.api.results import run_scenario
    from assignor_sim.api.stored_scenario import StoredScenarioError, imports_not_stored
    from assignor_sim.console.overrides import parse_overrides
    from assignor_sim.console.progress import show_progress
    from assignor_sim.console.remarks import print_notes
    from assignors.errors import AssignorError
    from reports.render.terminal.comparison import render
    from scenarios.load import ScenarioError, load
    from scenarios.shipped import find_scenario
    from simulator.assignment.explanation import ExplanationRequest
    from simulator.results.result_directory import ResultsError

    question = None if out is None else ExplanationRequest(break_evens=False)
    with exit_on_error(ScenarioError, AssignorError, ResultsError, StoredScenarioError):
        loaded = load(find_scenario(scenario), parse_overrides(set_))
        with show_progress() as on_progress:
            command = shlex.join(["assignor-sim", *sys.argv[1:]])
            limit_s = (prove_limit or PROOF_LIMIT_S) if prove else None
            comparison = run_scenario(loaded, assignor or (), seed or (), command, on_progress, question, limit_s)
        for warning in comparison.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        print_notes(loaded)
        print(render(comparison.tables, format_.value), end="")
        if out is not None:
            report = _write(out, loaded, comparison)
            if format_ is RunFormat.TABLE:
                print(f"\nTables, figures and report: {report}")
            for name in imports_not_stored(loaded):
                print(f"note: these results need {name} where it is; explain reads it again", file=sys.stderr)
    _complain_of_failures(comparison)


def _write(out: Path, scenario: Scenario, comparison: RunResult) -> Path:
    from assignor_sim.api.stored_scenario import stored_scenario_files
    from reports.render.figures.run_figures import RUN_FIGURES, figure_bytes
    from reports.render.page import page
    from simulator.results.result_directory import write_results

    files = {f"figures/{draw.__name__}.png": figure_bytes(draw(comparison.tables), "png") for draw in RUN_FIGURES}
    files["report.html"] = page(comparison.tables, comparison.manifest).encode()
    files |= stored_scenario_files(scenario)
    write_results(out, comparison.tables, comparison.manifest, files)
    return out / "report.html"


def _complain_of_failures(comparison: RunResult) -> None:
    from simulator.results.verdict import Verdict

    runs = comparison.tables["runs"].to_pylist()
    failed = [row for row in runs if row["verdict"] == Verdict.FAILED]
    for row in failed:
        print(f"{row['assignor']}, seed {row['seed']}: {row['cause']}", file=sys.stderr)
    if failed:
        raise typer.Exit(BAD_INPUT)
