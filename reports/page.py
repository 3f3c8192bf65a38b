"""A run as one HTML file: no network, no script, good for a mail attachment and for paper.

Whatever comes from a scenario, a label or a manifest is text: the templates escape everything, what turns the direction
of writing is made visible, and a Content-Security-Policy forbids whatever might still slip through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from reports.cells import Cell, Column, column, gap_cell, one_rack_cell, verdict_column
from reports.comparison import Row, Tables, best, by_scenario, compare
from reports.details import WORST, prices, rack_matrices, stack_grid, worst_tasks
from reports.facts import facts, scenario_text, settings
from reports.metrics import METRICS
from reports.notes import Note, notes
from reports.round_table import HEADERS, first_runs
from reports.series import events
from reports.stacks import cross_rack_by_kind, moves_by_reason, tasks_by_downtime
from reports.text import name_parts, printable
from reports.units import write_clock

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COMPOSED = {"gap_partitions": gap_cell, "tasks_in_one_rack": one_rack_cell}
_IN_COMPOSED = ("gap_percent", "tasks_in_one_rack_percent", "stateful_tasks")
_ONLY_IF_KNOWN = ("cross_rack_usd_per_day", "cross_rack_usd")


@dataclass(frozen=True, slots=True)
class _Line:
    """A metric of all assignors: a row of the comparison."""

    title: str
    cells: tuple[tuple[Cell, bool], ...]


@dataclass(frozen=True, slots=True)
class _Group:
    title: str
    lines: tuple[_Line, ...]


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The comparison in one scenario."""

    scenario: str
    rows: Sequence[Row]
    groups: tuple[_Group, ...]
    notes: Sequence[Note]


@dataclass(frozen=True, slots=True)
class _Figure:
    wide: str
    narrow: str


def page(tables: Tables, manifest: Mapping[str, Any]) -> str:
    """Make the page of a run.

    The same tables and manifest give the same text.

    Args:
        tables: must hold `runs`, `rounds`, `tasks`, `traffic` and `events`.
        manifest: how the tables came about, in any shape that JSON can have; `scenario` (with `text`), `assignors`,
            `seeds`, `command` and `versions` are shown as what they are.

    Raises:
        TableError: a table is missing.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters["printable"] = lambda value: printable(str(value))
    environment.filters["breakable"] = _breakable
    rows = compare(tables)
    return environment.get_template("page.html.j2").render(
        scenarios=list(by_scenario(rows)),
        comparisons=[_comparison(scenario, of_one) for scenario, of_one in by_scenario(rows).items()],
        seeds=max((len(row.seeds) for row in rows), default=0),
        figures=_figures(tables),
        downtime=stack_grid(tasks_by_downtime(tables)),
        worst=worst_tasks(tables),
        most_named=WORST,
        moves=stack_grid(moves_by_reason(tables)),
        kinds=stack_grid(cross_rack_by_kind(tables), prices(tables)),
        matrices=rack_matrices(tables),
        has_price=any(price is not None for price in prices(tables)),
        round_headers=HEADERS,
        rounds=first_runs(tables),
        events=_events(tables),
        metrics=[(group, list(of_group)) for group, of_group in groupby(METRICS, key=lambda metric: metric.group)],
        facts=list(facts(manifest)),
        settings=list(settings(manifest)),
        scenario_text=scenario_text(manifest),
    )


def _comparison(scenario: str, rows: Sequence[Row]) -> _Comparison:
    columns: list[Column] = [
        column(metric.name, metric.title, _COMPOSED.get(metric.name))
        for metric in METRICS
        if metric.name not in _IN_COMPOSED
        and (metric.name not in _ONLY_IF_KNOWN or any(row.spreads[metric.name] for row in rows))
    ]
    groups = [_Group("", (_line(rows, verdict_column()),))]
    for title, of_group in groupby(columns, key=lambda each: each.metric.group):
        groups.append(_Group(title, tuple(_line(rows, each) for each in of_group)))
    return _Comparison(scenario, rows, tuple(groups), notes(rows))


def _line(rows: Sequence[Row], shown: Column) -> _Line:
    winners = best(rows, shown.metric)
    return _Line(shown.title, tuple((shown.cell(row), row in winners) for row in rows))


def _figures(tables: Tables) -> dict[str, _Figure]:
    """Every figure by the name of its function."""
    from reports.figures import FIGURES

    return {each.__name__: _figure(each, tables) for each in FIGURES}


def _figure(draw: Callable[..., Figure], tables: Tables) -> _Figure:
    from markupsafe import Markup

    from reports.figures import rendered
    from reports.svg import inline

    described = f"{draw.__name__.replace('_', ' ').capitalize()} of each assignor; the tables below hold the numbers"
    # Made here, with names in it escaped: the one thing that goes to the template as markup.
    wide, narrow = (
        Markup(
            inline(
                rendered(draw(tables, narrow=is_narrow), "svg", text_as_text=True),
                f"{draw.__name__}-{'narrow' if is_narrow else 'wide'}-",
                described,
            )
        )
        for is_narrow in (False, True)
    )
    return _Figure(wide, narrow)


def _breakable(text: str) -> str:
    """A label as markup that may go on in the next line behind what separates words in names."""
    from markupsafe import Markup, escape

    return Markup("<wbr />").join(escape(part) for part in name_parts(text))


def _events(tables: Tables) -> list[tuple[str, str]]:
    return [(write_clock(event.at_ms), text) for event in events(tables) for text in event.texts]
