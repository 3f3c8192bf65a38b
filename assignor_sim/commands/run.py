"""`assignor-sim run`: simulate a scenario and compare assignors."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.failures import BAD_INPUT, told_to_the_user

if TYPE_CHECKING:
    from assignor_sim.comparison import Comparison
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
    from assignor_sim.comparison import compare
    from assignor_sim.kept_scenario import KeptError, imports_not_kept
    from assignor_sim.overrides import overrides_of
    from assignor_sim.progress import progress
    from assignor_sim.remarks import print_notes
    from assignors.errors import AssignorError
    from reports.terminal.comparison import render
    from scenarios.load import ScenarioError, load
    from scenarios.shipped import find
    from simulator.reasons import Question
    from simulator.results import ResultsError

    question = None if out is None else Question(break_evens=False)
    with told_to_the_user(ScenarioError, AssignorError, ResultsError, KeptError):
        loaded = load(find(scenario), overrides_of(set_))
        with progress() as tell:
            command = shlex.join(["assignor-sim", *sys.argv[1:]])
            limit_s = (prove_limit or PROOF_LIMIT_S) if prove else None
            comparison = compare(loaded, assignor or (), seed or (), command, tell, question, limit_s)
        for warning in comparison.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        print_notes(loaded)
        print(render(comparison.tables, format_.value), end="")
        if out is not None:
            report = _write(out, loaded, comparison)
            if format_ is RunFormat.TABLE:
                print(f"\nTables, figures and report: {report}")
            for name in imports_not_kept(loaded):
                print(f"note: these results need {name} where it is; explain reads it again", file=sys.stderr)
    _complain_of_failures(comparison)


def _write(out: Path, scenario: Scenario, comparison: Comparison) -> Path:
    from assignor_sim.kept_scenario import kept_files
    from reports.figures import FIGURES, rendered
    from reports.page.page import page
    from simulator.results import write_results

    files = {f"figures/{draw.__name__}.png": rendered(draw(comparison.tables), "png") for draw in FIGURES}
    files["report.html"] = page(comparison.tables, comparison.manifest).encode()
    files |= kept_files(scenario)
    write_results(out, comparison.tables, comparison.manifest, files)
    return out / "report.html"


def _complain_of_failures(comparison: Comparison) -> None:
    runs = comparison.tables["runs"].to_pylist()
    failed = [row for row in runs if row["verdict"] == "failed"]
    for row in failed:
        print(f"{row['assignor']}, seed {row['seed']}: {row['cause']}", file=sys.stderr)
    if failed:
        raise typer.Exit(BAD_INPUT)
