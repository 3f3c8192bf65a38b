"""Runs as sections of a page: the answer first, then the tables and drawings behind it.

The answer has question, conclusion, headline figures, three charts and the trade-off. The drawings are load curves over
clients (flat if the load is balanced) and autoscalers; the tables are the rounds, and the comparison with one row per
metric and one column per assignor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from reports.analysis.cells import (
    UNKNOWN,
    Cell,
    Column,
    above_bound_cell,
    cost_above_bound_cell,
    metric_column,
    partitions_above_bound_cell,
    rack_redundancy_cell,
    verdict_column,
)
from reports.analysis.comparison import (
    ComparisonRow,
    Tables,
    best_rows,
    proofs_by_round,
    rows_by_scenario,
    table,
    table_rows,
)
from reports.analysis.conclusion import conclude
from reports.analysis.formatting import (
    NumberFormat,
    format_bytes,
    format_clock,
    format_count,
    format_duration,
    format_rate,
)
from reports.analysis.metrics import METRIC, METRICS, Metric
from reports.analysis.notes import Note, notes
from reports.analysis.runs.answer import (
    TradeOff,
    cumulative_downtime,
    evenly_spaced,
    headline,
    question,
    scenario_events,
    trade_offs,
)
from reports.analysis.runs.breakdowns import cross_rack_by_kind, moves_by_reason, tasks_by_downtime
from reports.analysis.runs.grids import (
    MAX_TASKS,
    MAX_TIMES,
    ClientLoad,
    breakdown_grid,
    client_loads,
    convergence_grid,
    kinds_in,
    load_grid,
    rack_matrices,
    series_grid,
    task_grid,
    worst_tasks,
)
from reports.analysis.runs.highlights import (
    comparison_sentence,
    contrast,
    downtime_sentence,
    load_sentence,
    moves_sentence,
    player_sentence,
    settled_sentence,
    timeline_sentence,
    traffic_sentence,
)
from reports.analysis.runs.scaling_history import (
    MAX_CHANGES,
    ScalingHistory,
    changes_grid,
    history_sentence,
    reasons_grid,
    scaling_histories,
    section_sentence,
    steps_grid,
)
from reports.analysis.runs.time_series import EventMarker, TimeSeries, cross_rack_rate, displaced_tasks, events, series
from reports.analysis.scaled_rounds import cause_text, decisions_by_round
from reports.analysis.text import printable
from reports.render.drawing import scaling_panels
from reports.render.drawing.chart_axes import Unit, bytes_unit, duration_unit, plain, rate_unit
from reports.render.drawing.line_chart import COLORS, ChartLine, LineChart, line_chart
from reports.render.drawing.scatter_chart import ScatterPoint, scatter_chart
from reports.render.html.inline_figures import inline_figure, inline_figures
from reports.render.html.shell import Section
from reports.render.run_page.player import player_data

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure


CURVE_POINTS = 241
"""Points of a curve of cumulative downtime: one per pixel, about."""

_AFTER_LAST_CHANGE = 1.2
_EARLY = 0.05
"""Share of the run; an axis that ended before it would show only the start of the run."""


def answer(tables: Tables, rows: Sequence[ComparisonRow]) -> dict[str, Any]:
    """Return the content of the section.

    `tables`: all result tables of one scenario. Returns variables of the template.
    """
    return {
        "question": question(tables, rows[0].scenario),
        "headline": headline(rows),
        "charts": _charts(tables, rows),
        "trade_offs": [
            {
                "title": trade_off.disruption.title,
                "name": trade_off.disruption.name,
                "sentence": trade_off.sentence,
                "left_out": trade_off.left_out,
                "svg": _scatter(trade_off),
            }
            for trade_off in trade_offs(rows)
        ],
        "cost_title": next((trade_off.cost.title for trade_off in trade_offs(rows)), ""),
    }


def _charts(tables: Tables, rows: Sequence[ComparisonRow]) -> list[dict[str, Any]]:
    """Return title, sentence and drawing of each chart."""
    rates, displaced = series(tables, cross_rack_rate), series(tables, displaced_tasks)
    markers = _markers(tables, rows[0].scenario)
    until_ms = _until_ms(rates, markers)
    if not until_ms:
        return []
    curves = cumulative_downtime(tables, evenly_spaced(until_ms, CURVE_POINTS))
    downtime = [
        ChartLine(curve.label, index, curve.at_ms, curve.values_ms, curve.minimums_ms, curve.maximums_ms)
        for index, curve in enumerate(curves)
    ]
    longest = max((curve.maximums_ms[-1] for curve in curves if curve.maximums_ms), default=0.0)
    fastest = max((value for line in rates for value in line.maximums if value is not None), default=0.0)
    drawn = (
        (
            "Cross-rack traffic",
            _sentence("At the end", contrast(rows, METRIC["cross_rack_bytes_per_s"])),
            _chart_lines(rates),
            rate_unit(fastest),
        ),
        (
            "Tasks not on their final client",
            settled_sentence(tables),
            _chart_lines(displaced),
            Unit(1.0, "tasks", is_whole=True),
        ),
        (
            "Cumulative downtime of all tasks",
            _sentence("In total", contrast(rows, METRIC["downtime_ms"])),
            downtime,
            duration_unit(longest),
        ),
    )
    charts = []
    for title, sentence, lines, unit in drawn:
        drawing = LineChart(
            title=f"{title} ({unit.name}) over time. {sentence}",
            lines=lines,
            x_unit=duration_unit(until_ms),
            y_unit=unit,
            x_name="time",
            until=float(until_ms),
            events=markers,
            is_stepped=lines is not downtime,
        )
        charts.append({"title": title, "sentence": sentence, "svg": _markup(line_chart(drawing))})
    return charts


def _sentence(when: str, text: str) -> str:
    return f"{when}: {text}." if text else ""


def _markers(tables: Tables, scenario: str) -> list[EventMarker]:
    """Return the events of the scenario without the details in parentheses."""
    texts: dict[int, list[str]] = {}
    for at_ms, label in scenario_events(tables, scenario):
        texts.setdefault(at_ms, []).append(label.partition(" (")[0] or label)
    return [EventMarker(at_ms, tuple(labels)) for at_ms, labels in sorted(texts.items())]


def _until_ms(lines: Sequence[TimeSeries], events: Sequence[EventMarker]) -> int:
    """Return the end of the time axis: shortly after the last rebalance or event, because nothing changes later."""
    end = max((line.until_ms for line in lines), default=0)
    last = max([0, *(line.at_ms[-1] for line in lines if line.at_ms), *(event.at_ms for event in events)])
    return min(end, round(last * _AFTER_LAST_CHANGE)) if last > _EARLY * end else end


def _chart_lines(lines: Sequence[TimeSeries]) -> list[ChartLine]:
    return [
        ChartLine(line.label, index, line.at_ms, line.values, line.minimums, line.maximums)
        for index, line in enumerate(lines)
    ]


def _scatter(trade_off: TradeOff) -> Markup:
    points = [
        ScatterPoint(point.assignor, point.index, point.cost, point.disruption, point.dominated_by is None)
        for point in trade_off.points
    ]
    x_unit = _unit(trade_off.cost, max(point.x for point in points))
    y_unit = _unit(trade_off.disruption, max(point.y for point in points))
    title = f"{trade_off.cost.title} and {trade_off.disruption.title} of each assignor. {trade_off.sentence}"
    return _markup(scatter_chart(title, points, trade_off.cost.title, trade_off.disruption.title, x_unit, y_unit))


def _unit(metric: Metric, maximum: float) -> Unit:
    """Return the unit of the axis of a metric."""
    if metric.name.endswith("_ms"):
        return duration_unit(maximum)
    if metric.name.endswith("_bytes_per_s"):
        return rate_unit(maximum)
    if metric.name.endswith("_bytes"):
        return bytes_unit(maximum)
    return plain(metric.write)(maximum)


def _markup(svg: str) -> Markup:
    """Return a drawing that the templates include as markup: its texts are escaped."""
    from markupsafe import Markup

    return Markup(svg)


_COMBINED_CELLS: dict[str, Callable[[ComparisonRow], Cell]] = {
    "cross_rack_source_partitions_above_bound": partitions_above_bound_cell,
    "cost_above_bound": cost_above_bound_cell,
    "mean_cost_above_bound": partial(above_bound_cell, name="mean_cost_above_bound"),
    "worst_cost_above_bound": partial(above_bound_cell, name="worst_cost_above_bound"),
    "tasks_without_rack_redundancy": rack_redundancy_cell,
}
"""Cells that show several metrics, by the metric of their row."""

_SHOWN_IN_COMBINED_CELLS = (
    "cross_rack_source_partitions_above_bound_percent",
    "cost_above_bound_percent",
    "mean_cost_above_bound_percent",
    "worst_cost_above_bound_percent",
    "tasks_without_rack_redundancy_percent",
    "stateful_tasks",
)
"""Metrics that have no row because another row shows them."""

_ONLY_IF_KNOWN = ("cross_rack_usd_per_day", "cross_rack_usd")


@dataclass(frozen=True, slots=True)
class MetricLine:
    """One metric of all assignors.

    Attributes:
        title: title of the metric.
        name: key of the metric in data; empty for the verdict.
        cells: for each assignor, the cell and whether it is best.
    """

    title: str
    name: str
    cells: tuple[tuple[Cell, bool], ...]

    @property
    def differs(self) -> bool:
        """Whether the assignors differ in the metric; always for a single assignor."""
        return len(self.cells) < 2 or len({(cell.text, cell.notes) for cell, _ in self.cells}) > 1


@dataclass(frozen=True, slots=True)
class MetricGroup:
    """A group of related metrics. `title`: title of the group; empty for the verdict."""

    title: str
    lines: tuple[MetricLine, ...]

    @property
    def differs(self) -> bool:
        """Whether the assignors differ in any metric of the group."""
        return any(line.differs for line in self.lines)


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """The comparison of one scenario.

    Attributes:
        scenario: name of the scenario.
        rows: one per assignor.
        notes: notes below the table.
    """

    scenario: str
    rows: Sequence[ComparisonRow]
    groups: tuple[MetricGroup, ...]
    notes: Sequence[Note]

    @property
    def total(self) -> int:
        """Number of metrics."""
        return sum(bool(line.name) for group in self.groups for line in group.lines)

    @property
    def differing(self) -> int:
        """Number of metrics in which the assignors differ."""
        return sum(bool(line.name) and line.differs for group in self.groups for line in group.lines)


def comparison_tables(rows: Sequence[ComparisonRow]) -> list[ComparisonTable]:
    """Return one table per scenario."""
    return [_comparison(scenario, scenario_rows) for scenario, scenario_rows in rows_by_scenario(rows).items()]


def _comparison(scenario: str, rows: Sequence[ComparisonRow]) -> ComparisonTable:
    columns: list[Column] = [
        metric_column(metric.name, metric.title, _COMBINED_CELLS.get(metric.name))
        for metric in METRICS
        if metric.name not in _SHOWN_IN_COMBINED_CELLS
        and (metric.name not in _ONLY_IF_KNOWN or any(row.spreads[metric.name] for row in rows))
    ]
    groups = [MetricGroup("", (_line(rows, verdict_column(), ""),))]
    for title, group_columns in groupby(columns, key=lambda column: column.metric.group):
        groups.append(MetricGroup(title, tuple(_line(rows, column, column.metric.name) for column in group_columns)))
    return ComparisonTable(scenario, rows, tuple(groups), notes(rows))


def _line(rows: Sequence[ComparisonRow], column: Column, name: str) -> MetricLine:
    winners = best_rows(rows, column.metric)
    return MetricLine(column.title, name, tuple((column.cell(row), row in winners) for row in rows))


MAX_ROUNDS = 100
"""Maximum number of rounds of a run in a table of a page."""

_REASON_CHARS = 240

RoundRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunRounds:
    """The rounds of one run.

    Attributes:
        scenario: name of the scenario.
        assignor: label of the assignor.
        seed: random seed.
        cells: one row per round.
    """

    scenario: str
    assignor: str
    seed: int
    cells: tuple[tuple[str, ...], ...]


def _number(name: str, write: NumberFormat = format_count, unknown: str = UNKNOWN) -> Callable[[RoundRow], str]:
    return lambda row: unknown if row[name] is None else write(row[name])


def _list_of(*names: str) -> Callable[[RoundRow], str]:
    return lambda row: ", ".join(_number(name)(row) for name in names)


def _cross_rack_partitions(row: RoundRow) -> str:
    return f"{_number('cross_rack_source_partitions')(row)} ({_number('cross_rack_source_partitions_bound')(row)})"


def _cost(row: RoundRow) -> str:
    proof = row["proof"]
    proven = (
        ""
        if proof is None
        else " proven"
        if proof.is_exact
        else f", optimum up to {format_count(proof.best_known_cost)}"
    )
    return f"{_number('total_cost')(row)} ({_number('total_cost_bound')(row)}{proven})"


_COLUMNS: dict[str, Callable[[RoundRow], str]] = {
    "Round": lambda row: str(row["round"]),
    "Time": _number("at_ms", format_clock),
    "Reason": lambda row: cause_text(row["reason"], row["scaled"], _REASON_CHARS),
    "Clients": _number("members"),
    "Leader compute time": _number("leader_compute_ms", format_duration),
    "Active task moves": _number("active_moves"),
    "Moves in follow-up rebalances": _number("withheld_tasks"),
    "Thread moves": _number("thread_moves"),
    "Standby moves": _number("standby_moves"),
    "Tasks not at final client": _number("displaced_tasks"),
    "Tasks not running": _number("restoring_tasks"),
    "Standbys and warm-ups behind": _number("warming_up"),
    "State restored": _number("restored_bytes", format_bytes),
    "Task downtime (total)": _number("downtime_ms", format_duration),
    "Cross-rack source partitions (bound)": _cross_rack_partitions,
    "Kafka's rack-aware cost: stateful, stateless, standbys": _list_of(
        "stateful_cost", "stateless_cost", "standby_cost"
    ),
    "KIP-925 cost (bound)": _cost,
    "Cross-rack bytes": _number("cross_rack_bytes", format_bytes),
    "Cross-rack traffic (steady state)": _number("cross_rack_bytes_per_s", format_rate),
    "Follow-up rebalance after": _number("followup_delay_ms", format_duration, "–"),
}

HEADERS = tuple(_COLUMNS)
"""Column headers; all columns but the reason are numeric."""


def first_runs(tables: Tables) -> list[RunRounds]:
    """Return the rounds of the first run of each assignor."""
    cells_by_run: dict[tuple[str, str, int], list[tuple[str, ...]]] = {}
    proofs, decisions = proofs_by_round(tables), decisions_by_round(tables)
    for row in table_rows(tables, "rounds"):
        key = (row["scenario"], row["assignor"], row["seed"])
        proof, scaled = proofs.get((*key, row["round"])), decisions.get((*key, row["round"]), ())
        cells_by_run.setdefault(key, []).append(
            tuple(cell({**row, "proof": proof, "scaled": scaled}) for cell in _COLUMNS.values())
        )
    runs: dict[tuple[str, str], RunRounds] = {}
    for run in table_rows(tables, "runs"):
        run_name = run["scenario"], run["assignor"]
        if run_name not in runs:
            runs[run_name] = RunRounds(*run_name, run["seed"], tuple(cells_by_run.get((*run_name, run["seed"]), ())))
    return list(runs.values())


def scaling_parts(histories: Sequence[ScalingHistory]) -> list[dict[str, Any]]:
    """Return heading, sentence, figure and tables of each autoscaler, as variables of the template."""
    several = len({history.workload for history in histories}) > 1
    return [
        {
            "id": f"scaling-{number}",
            "title": f"{history.label}: {history.workload}" if several else history.label,
            "sentence": history_sentence(history),
            "figure": inline_figure(_draw, history, f"scaling-{number}", _description(history)),
            "reasons": reasons_grid(history),
            "changes": changes_grid(history),
            "steps": steps_grid(history),
            "num_changes": len(history.changes),
            "num_steps": len(history.steps),
        }
        for number, history in enumerate(histories, 1)
    ]


def _draw(history: ScalingHistory, *, narrow: bool = False) -> Figure:
    from reports.render.figures.run_figures import figure_style

    with figure_style():
        return scaling_panels.draw("", [history], narrow=narrow)


def _description(history: ScalingHistory) -> str:
    """Return the figure in words, for screen readers."""
    most = max(step["recommended"] for step in history.steps)
    return (
        f"Pods of {printable(history.workload)} over time with {printable(history.label)}: set, ready, and asked for "
        f"by the lag (up to {format_count(most)}); the lag and its target; times in which pods are held; and "
        f"rebalances by cause. {history_sentence(history)} Tables hold the numbers"
    )


def load_chart(loads: Mapping[str, Sequence[ClientLoad]]) -> Markup | None:
    """Return a descending curve of tasks per thread for each assignor; None without an assignment."""
    from markupsafe import Markup

    longest = max(map(len, loads.values()), default=0)
    if not longest:
        return None
    lines = [
        ChartLine(label, index, range(1, len(run_loads) + 2), _stepped([load.per_thread for load in run_loads]))
        for index, (label, run_loads) in enumerate(loads.items())
    ]
    chart = LineChart(
        title="Active and standby tasks per thread of each client, most loaded first, for each assignor",
        lines=lines,
        x_unit=Unit(1.0, "", is_whole=True),
        y_unit=Unit(1.0, "tasks/thread"),
        x_name="clients, most loaded first",
        until=float(longest + 1),
        start=1.0,
        is_stepped=True,
    )
    return Markup(line_chart(chart))


def _stepped(values: Sequence[float]) -> list[float]:
    """Return the values with the last one repeated, so that the step of the last client has a width."""
    return [*values, *values[-1:]]


def run_sections(
    tables: Tables, rows: Sequence[ComparisonRow], manifests: Sequence[Mapping[str, Any]]
) -> Iterator[Section]:
    """Yield the sections of runs, the answer of each scenario first.

    `manifests`: manifests of the results, which hold the configs of the assignors.
    """
    seeds = max((len(row.seeds) for row in rows), default=0)
    by_scenario = rows_by_scenario(rows)
    concluded = conclude(tables, list(filter(_has_configs, manifests)))
    conclusions = {conclusion.scenario: conclusion for conclusion in concluded}
    for number, (scenario, scenario_rows) in enumerate(by_scenario.items(), 1):
        several = len(by_scenario) > 1
        id = f"answer-{number}" if several else "answer"
        title = f"Conclusion: {printable(scenario)}" if several else "Conclusion"
        context = {
            "id": id,
            "seeds": seeds,
            "colors": COLORS,
            "conclusion": conclusions[scenario],
            "expectations": _expectations(manifests, scenario),
            **answer(_of_scenario(tables, scenario), scenario_rows),
        }
        yield Section(id, title, "run/answer.html.j2", context, leads=True)
    shared = {"seeds": seeds, "figures": inline_figures(tables)}
    comparisons = comparison_tables(rows)
    player, moves, loads = player_data(tables), moves_by_reason(tables), client_loads(tables)

    def section(id: str, title: str, context: Mapping[str, Any], sentence: str, **data: Any) -> Section:
        embedded = {name.replace("_", "-"): value for name, value in data.items()}
        return Section(id, title, f"run/{id}.html.j2", {**context, **shared}, embedded, sentence)

    yield section("comparison", "All metrics", {"comparisons": comparisons}, _comparison_sentence(comparisons))
    left_out = {"left_out": player["left_out"], "is_alone": len(player["runs"]) == 1}
    yield section("player", "Round player", left_out, player_sentence(tables), player_data=player)
    yield section("downtime", "Downtime of each task", _downtime(tables), downtime_sentence(tables))
    yield section("timeline", "Timeline", _timeline(tables, rows), timeline_sentence(tables))
    histories = scaling_histories(tables)
    if histories:
        content = {"histories": scaling_parts(histories), "max_changes": MAX_CHANGES}
        yield section("scaling", "Autoscaler", content, section_sentence(tables, histories))
    yield section("moves", "Moves", {"moves": breakdown_grid(moves)}, moves_sentence(moves))
    load = {"load": load_grid(loads), "chart": load_chart(loads)}
    yield section("load", "Load per thread", load, load_sentence(loads))
    yield _traffic(tables, shared)


def _has_configs(manifest: Mapping[str, Any]) -> bool:
    """Return whether a manifest has the structure that `run` writes: pages accept any JSON."""
    scenario, assignors = manifest.get("scenario"), manifest.get("assignors")
    return (
        isinstance(scenario, Mapping)
        and isinstance(scenario.get("name"), str)
        and isinstance(assignors, Sequence)
        and all(
            isinstance(assignor, Mapping)
            and isinstance(assignor.get("label"), str)
            and isinstance(assignor.get("configs", {}), Mapping)
            for assignor in assignors
        )
    )


def _expectations(manifests: Sequence[Mapping[str, Any]], scenario: str) -> list[tuple[str, str]]:
    """Return whether each checked expectation of a scenario is met, and its text; manifests may hold any JSON."""
    words = {True: "met", False: "not met", None: "not checked"}
    return [
        (words[met], text)
        for manifest in manifests
        if _has_configs(manifest) and manifest["scenario"]["name"] == scenario
        for record in _records(manifest.get("expectations"))
        if isinstance(text := record.get("text"), str) and (met := record.get("met")) in (True, False, None)
    ]


def _records(value: object) -> list[Mapping[str, Any]]:
    return [record for record in value if isinstance(record, Mapping)] if isinstance(value, list) else []


def _of_scenario(tables: Tables, scenario: str) -> Tables:
    """Return the rows of one scenario."""
    import pyarrow.compute as pc

    return {
        name: table.filter(pc.equal(table["scenario"], scenario)) if "scenario" in table.column_names else table
        for name, table in tables.items()
    }


def _comparison_sentence(comparisons: Sequence[ComparisonTable]) -> str:
    if not comparisons:
        return "There are no runs."
    if len(comparisons) > 1:
        return f"{len(comparisons)} scenarios; assignors are compared within each."
    [comparison] = comparisons
    return comparison_sentence(comparison.rows, comparison.differing, comparison.total)


def _timeline(tables: Tables, rows: Sequence[ComparisonRow]) -> dict[str, Any]:
    return {
        "by_event": convergence_grid(tables),
        "events": [(format_clock(event.at_ms), text) for event in events(tables) for text in event.texts],
        "traffic_values": series_grid(series(tables, cross_rack_rate), format_rate),
        "displaced_values": series_grid(series(tables, displaced_tasks), format_count),
        "round_headers": HEADERS,
        "rounds": first_runs(tables),
        "max_rounds": MAX_ROUNDS,
        "max_times": MAX_TIMES,
        "scenarios": list(rows_by_scenario(rows)),
    }


def _downtime(tables: Tables) -> dict[str, Any]:
    return {
        "downtime": breakdown_grid(tasks_by_downtime(tables)),
        "worst": worst_tasks(tables),
        "by_task": task_grid(tables),
        "max_tasks": MAX_TASKS,
    }


def _traffic(tables: Tables, shared: Mapping[str, Any]) -> Section:
    matrices, kinds = rack_matrices(tables), cross_rack_by_kind(tables)
    context = {
        "kinds": breakdown_grid(kinds),
        "matrices": matrices,
        "shown_kinds": kinds_in(matrices),
        "has_price": any(value is not None for value in table(tables, "runs")["cross_rack_usd_per_day"].to_pylist()),
        **shared,
    }
    data = {"matrix-data": [matrix.as_data() for matrix in matrices]}
    sentence = traffic_sentence(kinds, matrices)
    return Section("traffic", "Cross-rack traffic", "run/traffic.html.j2", context, data, sentence)
