"""`assignor-sim show`, `explain`, `diff` and `report`: what result directories contain."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import BAD_INPUT, exit_on_error, print_error
from assignor_sim.console.progress import show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignor_sim.api.results import RunResult
    from reports.analysis.comparison import Tables
    from reports.analysis.plans.results import PlanResults
    from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep


class FigureFormat(StrEnum):
    """File format of a figure."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def report(
    directories: Annotated[
        list[str],
        typer.Argument(help="Result directories of run, sweep and plan; URIs of sweeps, too.", metavar="DIR…"),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of the page; - for standard output.", metavar="FILE")
    ] = Path("report.html"),
    figures: Annotated[Path | None, typer.Option(help="Directory for the figures as files.", metavar="DIR")] = None,
    figure_format: Annotated[
        list[FigureFormat] | None, typer.Option(help="File format of the figures; png by default. Repeatable.")
    ] = None,
    conf: options.Conf = None,
) -> None:
    """Write one HTML page of the runs, sweeps and plans in one or several result directories.

    A sweep must have been aggregated. Spark reads the directories that are URIs, with the configs of --conf.

    Example: [bold]assignor-sim report out/first -o first.html[/bold]
    """
    from assignor_sim.text_files import STANDARD, check_output, write_text
    from pipeline.remote_sweeps import is_remote, local_copies
    from reports.analysis.plans.results import PLAN_KIND, read_plans
    from reports.analysis.runs.run_rows import ResultDirectory, merge_results
    from reports.analysis.sweeps.sweep_directory import SWEEP_KIND
    from reports.render.page import page
    from simulator.results.result_directory import read_results, stored_kind

    uris = [name for name in dict.fromkeys(directories) if is_remote(name)]
    with (
        exit_on_error(OSError),
        local_copies(uris, options.parse_spark_conf(conf)) as copies,
    ):
        check_output(out, "--out")
        check_output(None if figures is None else figures / "figure.png", "--figures", makes_folder=True)
        uri_of = {copy: uri for uri, copy in copies.items()}
        kinds = {path: stored_kind(path) for path in (copies.get(name, Path(name)) for name in directories)}
        sweeps = [_read_sweep(path, uri_of.get(path)) for path, kind in kinds.items() if kind == SWEEP_KIND]
        plans = read_plans([path for path, kind in kinds.items() if kind == PLAN_KIND])
        runs = [path for path, kind in kinds.items() if kind not in (SWEEP_KIND, PLAN_KIND)]
        tables, manifests = (
            merge_results([ResultDirectory(str(path), *read_results(path)) for path in runs]) if runs else (None, [])
        )
        write_text(out, page(tables, *manifests, sweeps=sweeps, plans=plans))
        if figures is not None:
            _save_figures(
                tables, sweeps, plans, figures, [str(suffix) for suffix in figure_format or [FigureFormat.PNG]]
            )
    if out != STANDARD:
        print(out)


def _read_sweep(directory: Path, uri: str | None) -> AggregatedSweep:
    """Read an aggregated sweep; a copy of one has the name of its URI, also in errors."""
    from reports.analysis.comparison import TableError
    from reports.analysis.sweeps.aggregated_sweep import read_sweep
    from reports.analysis.sweeps.sweep_directory import read_aggregate
    from simulator.results.result_directory import ResultsError

    if uri is None:
        return read_sweep(read_aggregate(directory))
    try:
        return read_sweep(replace(read_aggregate(directory), name=uri))
    except (TableError, ResultsError) as error:
        raise type(error)(str(error).replace(str(directory), uri)) from None


def _save_figures(
    tables: Tables | None, sweeps: list[AggregatedSweep], plans: list[PlanResults], directory: Path, formats: list[str]
) -> None:
    from reports.render.figures.plan_figures import plan_figures
    from reports.render.figures.run_figures import run_figures, save_figures
    from reports.render.figures.sweep_figures import SWEEP_FIGURES

    of_runs = {} if tables is None else run_figures(tables)
    of_sweeps = {
        f"sweep-{number}-{draw.__name__}": draw(sweep)
        for number, sweep in enumerate(sweeps, 1)
        for draw in SWEEP_FIGURES
    }
    of_plans = {
        f"plan-{number}-{name}": draw()
        for number, results in enumerate(plans, 1)
        for name, draw in plan_figures(results).items()
    }
    save_figures({**of_runs, **of_sweeps, **of_plans}, directory, formats)


def show(
    directory: options.ResultDirectory,
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Label of an assignor whose rebalances to show; all by default. Repeatable."),
    ] = None,
    format_: Annotated[
        options.OutputFormat, typer.Option("--format", help="Output format; csv and markdown have the comparison only.")
    ] = options.OutputFormat.TABLE,
    columns: options.Columns = None,
    wide: options.Wide = False,
) -> None:
    """Show results: the comparison, and the rebalances of each assignor's first run.

    Example: [bold]assignor-sim show out/first[/bold]
    """
    from assignor_sim.text_files import json_text
    from reports.analysis.comparison import compare_runs
    from reports.analysis.conclusion import conclude
    from reports.analysis.notes import records
    from reports.analysis.runs.run_rows import select_assignors
    from reports.render.terminal import rounds as terminal_rounds
    from reports.render.terminal.comparison import render
    from reports.render.terminal.conclusion import draw as draw_conclusion
    from simulator.results.result_directory import read_results

    with exit_on_error():
        metrics = options.parse_columns(columns)
        tables, manifest = read_results(directory)
        labels = select_assignors(tables, assignor or ())
        if format_ is options.OutputFormat.JSON:
            rounds = [row for row in terminal_rounds.records(tables) if row["assignor"] in labels]
            print(json_text({"runs": records(compare_runs(tables)), "rounds": rounds}), end="")
            return
        print(render(tables, format_.value, wide=wide, metrics=metrics), end="")
        if format_ is not options.OutputFormat.TABLE:
            return
        print(f"\n{draw_conclusion(conclude(tables, [manifest]))}", end="")
        print(terminal_rounds.draw(tables, labels), end="")


def diff(
    directory: options.ResultDirectory,
    round_: Annotated[int, typer.Option("--round", help="Number of the rebalance.", min=1, metavar="N")],
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Label of an assignor; given twice, the two are compared."),
    ] = None,
    seed: options.RunSeed = None,
    format_: options.FormatOfTables = options.OutputFormat.TABLE,
) -> None:
    """Show which clients lost and gained tasks in a rebalance, and why; or how two assignors differ in it.

    Example: [bold]assignor-sim diff out/first --round 2 --assignor HA --assignor 'HA min_traffic'[/bold]
    """
    from reports.analysis.runs.round_diff import diff_assignors, diff_rounds, record
    from reports.analysis.runs.run_rows import select_assignors
    from reports.analysis.text import printable
    from reports.render.round_diff import diffs_report
    from simulator.results.result_directory import read_results

    if len(assignor or ()) > 2:
        print_error("--assignor: expected one, or two to compare")
        raise typer.Exit(BAD_INPUT)
    with exit_on_error():
        tables, _ = read_results(directory)
        labels = select_assignors(tables, assignor or ())
        if assignor and len(assignor) == 2:
            diffs = [diff_assignors(tables, (assignor[0], assignor[1]), round_, seed)]
        else:
            diffs = [diff_rounds(tables, label, round_, seed) for label in labels]
    options.print_report(format_, diffs_report(diffs), lambda: list(map(record, diffs)))
    if format_ is options.OutputFormat.TABLE:
        moves = [
            (task.task, round_diff.assignors[0])
            for round_diff in diffs
            if len(round_diff.assignors) == 1
            for task in round_diff.tasks
            if task.is_move
        ]
        if moves:
            task, label = moves[0]
            command = ["assignor-sim", "explain", str(directory), "--task", task, "--round", str(round_)]
            print(f"\nTo explain a move:\n{printable(shlex.join([*command, '--assignor', label]))}")


def explain(
    directory: options.ResultDirectory,
    task: Annotated[
        str | None, typer.Option(help="Task id, as in 0_3, to show each step; all moves by default.", metavar="TASK")
    ] = None,
    round_: Annotated[
        int | None, typer.Option("--round", help="Rebalance; all by default.", min=1, metavar="N")
    ] = None,
    assignor: Annotated[
        list[str] | None, typer.Option(help="Label of an assignor; all by default. Repeatable.")
    ] = None,
    seed: options.RunSeed = None,
    format_: options.FormatOfTables = options.OutputFormat.TABLE,
) -> None:
    """List the moves of tasks, with reasons and downtimes; with --task, each step of the assignor.

    With --task, the scenario stored in DIR is simulated again to find the cost at which the task would have stayed.

    Example: [bold]assignor-sim explain out/first --round 2[/bold]
    """
    from assignor_sim.api.results import open as open_result

    with exit_on_error():
        result = open_result(directory)
        if task is None:
            _list_moves(result, directory, round_, assignor or (), seed, format_)
        else:
            _explain(result, task, round_, assignor or (), seed, format_)


def _list_moves(
    result: RunResult,
    directory: Path,
    round_: int | None,
    assignors: Sequence[str],
    seed: int | None,
    format_: options.OutputFormat,
) -> None:
    """Print all moves, and the command that explains one of them."""
    from assignor_sim.api.explanations import list_moves
    from reports.analysis.text import printable
    from reports.render.explanation import moves_report, record_of_moves

    lists = list_moves(result, round_, assignors, seed)
    options.print_report(format_, moves_report(lists.lists), lambda: list(map(record_of_moves, lists)))
    if format_ is not options.OutputFormat.TABLE:
        return
    moves = [(move_list, move) for move_list in lists for move in move_list.moves if move.role == "active"]
    if moves:
        move_list, move = moves[0]
        command = ["assignor-sim", "explain", str(directory), "--task", move.task, "--round", str(move.round["round"])]
        command += ["--assignor", move_list.assignor, *([] if seed is None else ["--seed", str(seed)])]
        print(f"\nTo show each step of a move:\n{printable(shlex.join(command))}")


def _explain(
    result: RunResult,
    task: str,
    round_: int | None,
    assignors: Sequence[str],
    seed: int | None,
    format_: options.OutputFormat,
) -> None:
    """Print the explanations of a task."""
    from assignor_sim.api.explanations import explain as explain_task
    from reports.render.explanation import explanation_report, record

    with show_progress() as on_progress:
        explanations = explain_task(result, task, round_, assignors, seed, on_progress)
    for remark in explanations.remarks:
        print(remark, file=sys.stderr)
    report = explanation_report(explanations.explanations)
    options.print_report(format_, report, lambda: list(map(record, explanations)))
