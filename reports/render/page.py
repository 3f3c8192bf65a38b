"""The report page: one self-contained HTML file with runs, sweeps and plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from reports.analysis.comparison import ComparisonRow, Tables, compare_runs, rows_by_scenario, table
from reports.analysis.formatting import format_clock, format_count, format_rate
from reports.analysis.metrics import METRICS
from reports.analysis.plans.results import PlanResults
from reports.analysis.runs.breakdowns import cross_rack_by_kind, moves_by_reason, tasks_by_downtime
from reports.analysis.runs.client_loads import client_loads, load_grid
from reports.analysis.runs.convergence_grid import convergence_grid
from reports.analysis.runs.grids import (
    MAX_TASKS,
    breakdown_grid,
    cross_rack_prices,
    series_grid,
    task_grid,
    worst_tasks,
)
from reports.analysis.runs.merged_results import REQUIRED_TABLES
from reports.analysis.runs.rack_matrices import kinds_in, rack_matrices
from reports.analysis.runs.time_series import cross_rack_rate, displaced_tasks, events, series
from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep
from reports.analysis.text import printable
from reports.render.html.inline_figures import inline_figures
from reports.render.html.manifest_lines import assignor_settings, manifest_lines, scenario_text
from reports.render.html.shell import Section, render_page
from reports.render.plan_page.sections import plan_sections
from reports.render.run_page.comparison_table import comparison_tables
from reports.render.run_page.player import player_data
from reports.render.run_page.round_table import HEADERS, first_runs
from reports.render.sweep_page.sections import sweep_sections

Manifest = Mapping[str, Any]


def page(
    tables: Tables | None,
    *manifests: Manifest,
    sweeps: Sequence[AggregatedSweep] = (),
    plans: Sequence[PlanResults] = (),
) -> str:
    """Render the report page.

    The same tables and manifests give the same text.

    Args:
        tables: must contain `REQUIRED_TABLES`; None without runs.
        manifests: manifests of the results, with any JSON structure; `scenario` (with `text`), `assignors`, `seeds`,
            `command` and `versions` are formatted, and `directory` becomes a heading.
        sweeps: one section each, after those of the runs.
        plans: one section each, after those of the sweeps.

    Returns:
        The HTML file.

    Raises:
        TableError: a table is missing.
    """
    if tables is not None:
        # Fail before any figure is drawn.
        for name in REQUIRED_TABLES:
            table(tables, name)
    rows = [] if tables is None else compare_runs(tables)
    names = list(
        dict.fromkeys([*rows_by_scenario(rows), *(sweep.name for sweep in sweeps), *(plan.source for plan in plans)])
    )
    has_simulations = tables is not None or bool(sweeps)
    title = f"{', '.join(names) or 'no runs'} – {'assignors' if has_simulations else 'plans'} compared"
    sections = [
        *(() if tables is None else _run_sections(tables, rows)),
        *sweep_sections(sweeps),
        *plan_sections(plans),
        *_closing_sections(manifests, has_simulations=has_simulations),
    ]
    subtitle = _subtitle("Assignors compared in simulation", list(_labels(rows, sweeps)))
    planned = _subtitle("Reassignment plans compared", [name for plan in plans for name in plan.planned])
    return render_page(title, names, "No runs", " ".join(filter(None, (subtitle, planned))), sections)


def _labels(rows: Sequence[ComparisonRow], sweeps: Sequence[AggregatedSweep]) -> Iterator[str]:
    yield from (row.assignor for row in rows)
    for sweep in sweeps:
        yield from sweep.assignors


def _subtitle(what: str, labels: Sequence[str]) -> str:
    distinct = dict.fromkeys(map(printable, labels))
    return f"{what}: {', '.join(distinct)}." if distinct else ""


def _run_sections(tables: Tables, rows: Sequence[ComparisonRow]) -> Iterator[Section]:
    figures = inline_figures(tables)
    seeds = max((len(row.seeds) for row in rows), default=0)
    shared = {"seeds": seeds, "figures": figures}
    context = {"comparisons": comparison_tables(rows), **shared}
    yield Section("comparison", "Comparison", "run/comparison.html.j2", context)
    data = player_data(tables)
    context = {"left_out": data["left_out"], **shared}
    yield Section("player", "Round player", "run/player.html.j2", context, {"player-data": data})
    yield Section("over-time", "Over time", "run/over_time.html.j2", {**_over_time(tables), **shared})
    context = {"by_event": convergence_grid(tables), **shared}
    yield Section("convergence", "Convergence", "run/convergence.html.j2", context)
    yield Section("downtime", "Downtime", "run/downtime.html.j2", {**_downtime(tables), **shared})
    load = load_grid(client_loads(tables))
    yield Section("load", "Load per thread", "run/load.html.j2", {"load": load, **shared})
    moves = breakdown_grid(moves_by_reason(tables))
    yield Section("moves", "Moves", "run/moves.html.j2", {"moves": moves, **shared})
    yield _traffic(tables, shared)
    context = {
        "round_headers": HEADERS,
        "rounds": first_runs(tables),
        "scenarios": list(rows_by_scenario(rows)),
        **shared,
    }
    yield Section("rounds", "Round by round", "run/rounds.html.j2", context)


def _closing_sections(manifests: Sequence[Manifest], *, has_simulations: bool) -> Iterator[Section]:
    if has_simulations:
        metrics = [
            (group, list(group_metrics)) for group, group_metrics in groupby(METRICS, key=lambda metric: metric.group)
        ]
        yield Section("reading", "Definitions", "run/definitions.html.j2", {"metrics": metrics})
    if manifests:
        yield Section(
            "making",
            "How this report was made",
            "run/provenance.html.j2",
            {"results": [_provenance(manifest) for manifest in manifests]},
        )


def _over_time(tables: Tables) -> dict[str, Any]:
    return {
        "traffic_values": series_grid(series(tables, cross_rack_rate), format_rate),
        "displaced_values": series_grid(series(tables, displaced_tasks), format_count),
        "events": [(format_clock(event.at_ms), text) for event in events(tables) for text in event.texts],
    }


def _downtime(tables: Tables) -> dict[str, Any]:
    return {
        "downtime": breakdown_grid(tasks_by_downtime(tables)),
        "worst": worst_tasks(tables),
        "by_task": task_grid(tables),
        "max_tasks": MAX_TASKS,
    }


def _traffic(tables: Tables, shared: Mapping[str, Any]) -> Section:
    matrices = rack_matrices(tables)
    known = cross_rack_prices(tables)
    context = {
        "kinds": breakdown_grid(cross_rack_by_kind(tables), known),
        "matrices": matrices,
        "shown_kinds": kinds_in(matrices),
        "has_price": any(price is not None for price in known),
        **shared,
    }
    data = {"matrix-data": [matrix.as_data() for matrix in matrices]}
    return Section("traffic", "Cross-rack traffic", "run/traffic.html.j2", context, data)


def _provenance(manifest: Manifest) -> dict[str, Any]:
    return {
        "name": manifest.get("directory", ""),
        "facts": [(term, text) for term, text in manifest_lines(manifest) if term != "directory"],
        "settings": list(assignor_settings(manifest)),
        "scenario_text": scenario_text(manifest),
    }
