"""`assignor-sim report`: make a page from directories of results."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.failures import told_to_the_user

if TYPE_CHECKING:
    from reports.comparison import Tables
    from reports.plans.results import PlanResults
    from reports.sweep_page.sweep import Sweep


class FigureFormat(StrEnum):
    """What a figure is saved as."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def report(
    directories: Annotated[list[Path], typer.Argument(help="What `run`, `sweep` and `plan` wrote.", metavar="DIR…")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page; - is standard output.", metavar="FILE")] = Path(
        "report.html"
    ),
    figures: Annotated[Path | None, typer.Option(help="Directory for the figures as files.", metavar="DIR")] = None,
    figure_format: Annotated[
        list[FigureFormat] | None, typer.Option(help="What figures are saved as; png if not said. May be repeated.")
    ] = None,
) -> None:
    """Make one page of runs, sweeps and plans, from one directory of results or from several.

    Of a sweep, `aggregate` must have worked out what it says.

    Example: [bold]assignor-sim report out/first -o first.html[/bold]
    """
    from assignor_sim.streams import STANDARD, write_text
    from reports.comparison import TableError
    from reports.page.page import page
    from reports.plans.results import is_plan, read_plans
    from reports.runs.gathered import Results, gathered
    from reports.sweep_page.aggregate import is_sweep, read_aggregate
    from reports.sweep_page.reading import read_sweep
    from simulator.results import ResultsError, read_results

    with told_to_the_user(ResultsError, TableError, OSError):
        distinct = list(dict.fromkeys(directories))
        sweeps = [read_sweep(read_aggregate(each)) for each in distinct if is_sweep(each)]
        plans = read_plans([each for each in distinct if is_plan(each)])
        runs = [each for each in distinct if not is_sweep(each) and not is_plan(each)]
        tables, manifests = gathered([Results(str(each), *read_results(each)) for each in runs]) if runs else (None, [])
        write_text(out, page(tables, *manifests, sweeps=sweeps, plans=plans))
        if figures is not None:
            _save_figures(tables, sweeps, plans, figures, [str(each) for each in figure_format or [FigureFormat.PNG]])
    if out != STANDARD:
        print(out)


def _save_figures(
    tables: Tables | None, sweeps: list[Sweep], plans: list[PlanResults], directory: Path, formats: list[str]
) -> None:
    from reports.figures import FIGURES, save
    from reports.plans.figures import plan_figures
    from reports.sweep_page.figures import SWEEP_FIGURES

    of_runs = {} if tables is None else {draw.__name__: draw(tables) for draw in FIGURES}
    of_sweeps = {
        f"sweep-{number}-{draw.__name__}": draw(sweep)
        for number, sweep in enumerate(sweeps, 1)
        for draw in SWEEP_FIGURES
    }
    of_plans = {
        f"plan-{number}-{name}": draw()
        for number, each in enumerate(plans, 1)
        for name, draw in plan_figures(each).items()
    }
    save({**of_runs, **of_sweeps, **of_plans}, directory, formats)
