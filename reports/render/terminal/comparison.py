"""The comparison of runs as text: a table for terminals, JSON and CSV for scripts, Markdown for documents."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Sequence

from reports.analysis.cells import Column, convergence_cell, cost_above_bound_cell, metric_column, rack_redundancy_cell
from reports.analysis.comparison import ComparisonRow, Tables, best_rows, compare_runs, rows_by_scenario
from reports.analysis.comparison_records import record_keys, records
from reports.analysis.metrics import ALL_METRICS
from reports.analysis.notes import MIN_NOTED_COMPUTE_MS, notes
from reports.render.markdown import markdown_text
from simulator.results.csv_cells import csv_cell

FORMATS = ("table", "json", "csv", "markdown")
"""Formats of `render`."""

COLUMNS: tuple[Column, ...] = (
    metric_column("cross_rack_source_partitions", "cross-\nrack par-\ntitions"),
    metric_column("cost_above_bound", "cost\nabove\nbound", cost_above_bound_cell, title="Cost above lower bound"),
    metric_column("cross_rack_bytes_per_s", "cross-\nrack\ntraffic"),
    metric_column("cross_rack_usd_per_day", "cross-\nrack cost\nper day"),
    metric_column("active_moves", "active\nmoves"),
    metric_column("standby_moves", "standby\nmoves"),
    metric_column("restored_bytes", "state\nrestored"),
    metric_column("longest_downtime_ms", "longest\ntask\noutage"),
    metric_column("worst_downtime_ms", "worst\ndowntime\nin total"),
    metric_column("rebalances_to_converge", "rebal-\nances to\nconverge", title="Rebalances to converge"),
    metric_column("time_to_converge_ms", "time to\nconverge", convergence_cell, title="Time to converge"),
    metric_column("leader_compute_ms", "leader\ncompute"),
    metric_column("load_skew", "load\nskew"),
    metric_column("subtopology_skew", "subto-\npology\nskew"),
    metric_column("tasks_without_rack_redundancy", "no rack\nredun-\ndancy", rack_redundancy_cell),
)
"""Columns of the table and of Markdown; JSON and CSV have all metrics.

The legend below the table replaces the qualifiers of three titles.
"""

_HEADER_WIDTH = 10
_SHOWN_FROM = {"cross_rack_usd_per_day": 0, "leader_compute_ms": MIN_NOTED_COMPUTE_MS}
"""Metrics that are shown only if an assignor reaches this value."""


def columns_for(rows: Sequence[ComparisonRow], metrics: Sequence[str] = ()) -> list[Column]:
    """Return the columns of the given metrics, or by default the relevant columns for rows."""
    if metrics:
        known = {column.metric.name: column for column in COLUMNS}
        return [known.get(name) or metric_column(name, _header(ALL_METRICS[name].title)) for name in metrics]

    def maximum(name: str) -> float:
        return max((spread.maximum for row in rows if (spread := row.spreads[name])), default=-1)

    return [
        column
        for column in COLUMNS
        if column.metric.name not in _SHOWN_FROM or maximum(column.metric.name) >= _SHOWN_FROM[column.metric.name]
    ]


def _header(title: str) -> str:
    """Return a title in several short lines."""
    return "\n".join(textwrap.wrap(title.lower(), _HEADER_WIDTH, break_long_words=False))


def render(
    tables: Tables,
    format: str = "table",
    *,
    width: int | None = None,
    color: bool | None = None,
    wide: bool = False,
    metrics: Sequence[str] = (),
) -> str:
    """Render the comparison as text that ends with a newline.

    Args:
        tables: must contain `runs`.
        format: one of `FORMATS`. `json` is a list of records and `csv` has the same keys, both with every metric in
            full precision; `table` and `markdown` have the most important metrics, rounded, and notes below.
        width: columns of the terminal; detected by default. Used for `table` only.
        color: whether to color the best values; detected by default. They have a star in any case.
        wide: whether a `table` has one row per assignor, however wide it becomes.
        metrics: keys of the metrics to show; by default the most important ones, and in `json` and `csv` all.

    Returns:
        The text.

    Raises:
        ValueError: the format is unknown.
        TableError: a table is missing.
    """
    rows = compare_runs(tables)
    match format:
        case "table":
            from reports.render.terminal.comparison_table import draw

            return draw(rows, columns_for(rows, metrics), notes(rows), width, color=color, wide=wide)
        case "json":
            return json.dumps(records(rows, metrics), indent=2, ensure_ascii=False) + "\n"
        case "csv":
            return _csv(rows, metrics)
        case "markdown":
            return _markdown(rows, metrics)
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


_LISTS = ("seeds", "notes")


def _csv(rows: Sequence[ComparisonRow], metrics: Sequence[str]) -> str:
    """Return CSV; lists are separated by spaces, and unknown values are empty."""
    out = io.StringIO()
    flat = [{**record, **{key: " ".join(map(str, record[key])) for key in _LISTS}} for record in records(rows, metrics)]
    writer = csv.DictWriter(out, fieldnames=record_keys(metrics), extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: csv_cell(value) for key, value in row.items()} for row in flat)
    return out.getvalue()


def _markdown(rows: Sequence[ComparisonRow], metrics: Sequence[str]) -> str:
    groups, columns = rows_by_scenario(rows), columns_for(rows, metrics)
    parts = []
    for scenario, group in groups.items():
        title = f"**{markdown_text(scenario)}**\n\n" if len(groups) > 1 else ""
        note_lines = "".join(f"- {markdown_text(note.text)}\n" for note in notes(group))
        parts.append(title + _markdown_table(group, columns) + ("\n" + note_lines if note_lines else ""))
    return "\n".join(parts) or "No runs.\n"


def _markdown_table(rows: Sequence[ComparisonRow], columns: Sequence[Column]) -> str:
    winners = [best_rows(rows, column.metric) for column in columns]
    lines = [
        ["assignor", *(column.title for column in columns)],
        ["---", *("---:" for _ in columns)],
    ]
    for row in rows:
        cells = [str(column.cell(row)) for column in columns]
        marked = [f"**{cell}**" if row in winning else cell for cell, winning in zip(cells, winners, strict=True)]
        lines.append([markdown_text(row.assignor), *marked])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
