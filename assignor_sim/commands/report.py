"""`assignor-sim report`: an HTML page of result directories."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.spark_options import Conf, parse_spark_conf

if TYPE_CHECKING:
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
    conf: Conf = None,
) -> None:
    """Write one HTML page of the runs, sweeps and plans in one or several result directories.

    A sweep must have been aggregated. Spark reads the directories that are URIs, with the configs of --conf.

    Example: [bold]assignor-sim report out/first -o first.html[/bold]
    """
    from assignor_sim.text_files import STANDARD, check_output, write_text
    from pipeline.errors import SparkError
    from pipeline.remote_sweeps import is_remote, local_copies
    from reports.analysis.comparison import TableError
    from reports.analysis.plans.results import PLAN_KIND, read_plans
    from reports.analysis.runs.run_rows import ResultDirectory, merge_results
    from reports.analysis.sweeps.sweep_directory import SWEEP_KIND
    from reports.render.page import page
    from simulator.results.result_directory import ResultsError, read_results, stored_kind

    uris = [name for name in dict.fromkeys(directories) if is_remote(name)]
    with (
        exit_on_error(ResultsError, TableError, SparkError, OSError),
        local_copies(uris, parse_spark_conf(conf)) as copies,
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
