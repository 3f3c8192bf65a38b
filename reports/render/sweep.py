"""The report of a sweep: Pareto front, best setting per objective, influential factors, and its conclusion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from reports.analysis.cells import Cell
from reports.analysis.formatting import format_percent, format_range
from reports.analysis.metrics import METRIC
from reports.analysis.sweeps.conclusion import conclude_sweeps
from reports.document import (
    Block,
    Paragraph,
    Points,
    Report,
    ReportColumn,
    ReportFormat,
    ReportRow,
    ReportSection,
    ReportTable,
    records_table,
)

MAX_SHOWN: Final = 20
"""Maximum number of rows of a front."""

Json = Mapping[str, Any]

_HEADERS: Final = {
    "cross_rack_usd_per_day": "cross-rack\ncost per day",
    "cross_rack_bytes_per_s": "cross-rack\ntraffic",
    "active_moves": "active\nmoves",
    "downtime_ms": "total\ndowntime",
    "time_to_converge_ms": "time to\nconverge",
}
"""Short forms of the metric titles for narrow columns."""

_MIN_SHARE: Final = 0.01
"""Minimum share of a factor that is listed."""

_WIDE: Final = 100
"""Minimum width of a terminal for intervals."""

_TERMINAL: Final[tuple[ReportFormat, ...]] = ("terminal",)


def sweep_report(summary: Json, expectations: Sequence[str] = (), *, out: str = "", width: int = _WIDE) -> Report:
    """Return the report of the `summary.json` of an aggregate; CSV has the front.

    `expectations`: a line per expectation of the scenario. `out`: the folder of the tables. `width`: columns of the
    terminal.
    """
    scenarios, several = summary["scenarios"], len(summary["sweeps"]) > 1
    of_front = "mean, 95 % CI below" if width >= _WIDE else "mean"
    titles = [
        f"{one['scenario']}: {one['cells_on_front']} of {one['cells_considered']} combinations are Pareto-optimal "
        f"({of_front})"
        for one in scenarios
    ]
    conclusions = conclude_sweeps(summary)
    sections = [
        *(
            ReportSection(
                f"scenario-{number}",
                title,
                list(_scenario(scenario, several, has_intervals=width >= _WIDE)),
                leads=len(scenarios) == 1,
            )
            for number, (title, scenario) in enumerate(zip(titles, scenarios, strict=True))
        ),
        ReportSection("front", "Pareto-optimal combinations", [_front_records(scenarios)]),
        ReportSection(
            "factors",
            "Most influential factors (share of the variance explained by the factor alone)",
            [Points(list(_influential_factors(summary)), only=_TERMINAL), _factor_records(summary)],
        ),
        ReportSection(
            "differences",
            "Significant differences from the baseline (paired by seed, 95 % CI)",
            [Points(list(_significant_differences(summary)), only=_TERMINAL), _difference_records(summary)],
        ),
        ReportSection("left_out", "Left out", [Points(list(_left_out(summary)))]),
        ReportSection("expectations", "Expectations", [Points(expectations)]),
        *(
            ReportSection(
                f"conclusion-{number}",
                "Conclusion" if len(conclusions) == 1 else f"Conclusion ({conclusion.scenario})",
                [Points(conclusion.findings)],
            )
            for number, conclusion in enumerate(conclusions)
        ),
        ReportSection("out", "", [Paragraph(f"Tables: {out}" if out else "", only=_TERMINAL)]),
    ]
    return Report(titles[0] if len(titles) == 1 else "Sweeps of several scenarios", sections)


def _front_records(scenarios: Sequence[Json]) -> ReportTable:
    found = {name for scenario in scenarios for name in scenario["objectives"]}
    keys = [key for name in sorted(found, key=list(METRIC).index) for key in (name, f"{name}_low", f"{name}_high")]
    rows = [
        {"scenario": scenario["scenario"], **cell, **_flat(cell)}
        for scenario in scenarios
        for cell in scenario["front"]
    ]
    return _records("front", ("scenario", "sweep", "assignor", "label", "runs", *keys, "best_of"), rows, "csv")


def _records(key: str, keys: Sequence[str], rows: Sequence[Json], *formats: ReportFormat) -> ReportTable:
    return records_table(key, {name: name for name in keys}, rows, ("markdown", *formats))


def _flat(cell: Json) -> dict[str, float | None]:
    """Return means and ends of intervals by key."""
    flat = dict(cell["means"])
    for name, interval in cell["intervals"].items():
        flat[f"{name}_low"], flat[f"{name}_high"] = (None, None) if interval is None else interval
    return flat


def _factor_records(summary: Json) -> ReportTable:
    rows = [{**row, **factor} for row in _of_objectives(summary, summary["sensitivity"]) for factor in row["factors"]]
    return _records("sensitivity", ("sweep", "metric", "factor", "share"), rows)


def _difference_records(summary: Json) -> ReportTable:
    keys = ("sweep", "assignor", "baseline", "metric", "settings", "less", "more")
    return _records("against_baseline", keys, list(_of_objectives(summary, summary["against_baseline"])))


def _scenario(scenario: Json, several: bool, *, has_intervals: bool) -> Iterator[Block]:
    if not scenario["cells_considered"]:
        yield Paragraph("No setting where all runs produced an assignment.")
        return
    table, num_shown = _front(scenario, several, has_intervals=has_intervals)
    yield table
    hidden = scenario["cells_on_front"] - num_shown
    yield Paragraph(
        (f"… and {hidden} more in the table front. " if hidden > 0 else "")
        + "*: lowest. Pareto-optimal: no other combination is at least as good everywhere and better somewhere.",
        "note",
        only=_TERMINAL,
    )
    yield Paragraph("Best combination per objective", "heading")
    yield _best(scenario, several)


def _front(scenario: Json, several: bool, *, has_intervals: bool) -> tuple[ReportTable, int]:
    """Return the table and the number of cells in it; cells with equal means share a row."""
    objectives = scenario["objectives"]
    columns = [
        *(ReportColumn(title, title) for title in ("assignor", "setting")),
        *(ReportColumn(name, _title(name), is_number=True, header=_HEADERS[name]) for name in objectives),
    ]
    cells_by_means: dict[tuple[float | None, ...], list[Json]] = {}
    for cell in scenario["front"]:
        cells_by_means.setdefault(tuple(cell["means"][name] for name in objectives), []).append(cell)
    shown = list(cells_by_means.values())[:MAX_SHOWN]
    rows: list[ReportRow] = []
    for cell, *others in shown:
        location = _setting(cell, several) + (f" (and {len(others)} more with equal means)" if others else "")
        rows.append([cell["assignor"], location, *(_figure(cell, name) for name in objectives)])
    table = ReportTable("front", columns, rows, has_notes=has_intervals, only=_TERMINAL)
    return table, sum(len(cells) for cells in shown)


def _figure(cell: Json, name: str) -> Cell:
    """Return a mean with a star if it is the lowest, and its interval."""
    mean, interval = cell["means"][name], cell["intervals"][name]
    if mean is None:
        return Cell(f"{_share(cell['stable'])} stable" if name == "time_to_converge_ms" else "n/a")
    is_best = name in cell["best_of"]
    spans = () if interval is None or interval[0] == interval[1] else (_span(interval, name),)
    return Cell(f"{METRIC[name].write(mean)}{'*' if is_best else ''}", spans, emphasis="good" if is_best else "")


def _best(scenario: Json, several: bool) -> ReportTable:
    columns = [
        *(ReportColumn(title, title) for title in ("objective", "assignor", "setting")),
        ReportColumn("mean", "mean", is_number=True),
        ReportColumn("interval", "95 % CI"),
    ]
    rows: list[ReportRow] = []
    for best in scenario["best"]:
        name, interval, equal_cells = best["objective"], best["interval"], best["others_equal"]
        location = _setting(best, several) + (f" (and {equal_cells} more with equal mean)" if equal_cells else "")
        span = "" if interval is None else _span(interval, name)
        rows.append([_title(name), best["assignor"], location, METRIC[name].write(best["mean"]), span])
    return ReportTable("best", columns, rows, only=("terminal", "markdown"))


def _setting(cell: Json, several: bool) -> str:
    return f"{cell['sweep']}: {cell['label']}" if several else str(cell["label"])


def _influential_factors(summary: Json) -> Iterator[str]:
    several = len(summary["sweeps"]) > 1
    for row in _of_objectives(summary, summary["sensitivity"]):
        factors = [
            f"{factor['factor']} {_share(factor['share'])}"
            for factor in row["factors"]
            if factor["share"] >= _MIN_SHARE
        ]
        sweep = f"{row['sweep']}: " if several else ""
        if factors:
            yield f"{sweep}{_title(row['metric'])}: {', '.join(factors)}"


def _significant_differences(summary: Json) -> Iterator[str]:
    several = len(summary["sweeps"]) > 1
    findings: dict[tuple[str, str, str], list[str]] = {}
    for row in _of_objectives(summary, summary["against_baseline"]):
        counts = [
            f"{word} in {row[key]} of {row['settings']} settings"
            for key, word in (("less", "lower"), ("more", "higher"))
            if row[key]
        ]
        assignor_findings = findings.setdefault((row["sweep"], row["assignor"], row["baseline"]), [])
        if counts:
            assignor_findings.append(f"{_title(row['metric'])} {', '.join(counts)}")
    for (sweep, assignor, baseline), assignor_findings in findings.items():
        prefix = f"{sweep}: " if several else ""
        text = "; ".join(assignor_findings) or "no significant difference"
        yield f"{prefix}{assignor} vs. {baseline}: {text}"


def _of_objectives(summary: Json, rows: Sequence[Json]) -> Iterator[Json]:
    """Yield the rows about the objectives of each sweep, by sweep and objective."""
    objectives = {scenario["scenario"]: scenario["objectives"] for scenario in summary["scenarios"]}
    for sweep in summary["sweeps"]:
        for name in objectives[sweep["scenario"]]:
            yield from (row for row in rows if (row["sweep"], row["metric"]) == (sweep["sweep"], name))


def _left_out(summary: Json) -> Iterator[str]:
    for row in summary["left_out"]:
        where = row.get("sweep") or row["scenario"]
        what = row["what"].removesuffix("s") if row["number"] == 1 else row["what"]
        yield f"{where}: {row['number']:,} {what}: {row['why']}"


def _span(interval: Sequence[float], name: str) -> str:
    low, high = interval
    return format_range(low, high, METRIC[name].write)


def _title(metric: str) -> str:
    return METRIC[metric].title


def _share(share: float) -> str:
    return format_percent(round(100 * share))
