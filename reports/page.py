"""A run as one HTML file: no network, no script, good for a mail attachment and for paper.

Whatever comes from a scenario, a label or a manifest is text: the templates escape everything, what turns the direction
of writing is made visible, and a Content-Security-Policy forbids whatever might still slip through.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from reports.cells import UNKNOWN, Cell, Column, column, gap_cell, one_rack_cell, verdict_column
from reports.comparison import Row, Tables, best, by_scenario, compare, table_rows
from reports.metrics import METRICS
from reports.series import events
from reports.text import name_parts, printable, shortened
from reports.units import Writer, write_clock, write_count, write_duration, write_rate

_COMPOSED = {"gap_partitions": gap_cell, "tasks_in_one_rack": one_rack_cell}
_IN_COMPOSED = ("gap_percent", "tasks_in_one_rack_percent", "stateful_tasks")
_REASON_CHARS = 240


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


@dataclass(frozen=True, slots=True)
class _Figure:
    title: str
    wide: str
    narrow: str


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The rounds of one run, as the cells of a table."""

    scenario: str
    assignor: str
    seed: int
    cells: tuple[tuple[str, ...], ...]


ROUND_HEADERS = (
    "Round",
    "Time",
    "Reason",
    "Clients",
    "Tasks moved",
    "Standby moves",
    "Not yet in place",
    "Restoring",
    "Cross-rack partitions (bound)",
    "Kafka's cost: stateful, stateless, standby",
    "Cross-rack traffic",
    "Follow-up after",
)
"""The columns of the tables of rounds; all but the reason are numbers."""


def page(tables: Tables, manifest: Mapping[str, Any]) -> str:
    """Make the page of a run.

    The same tables and manifest give the same text.

    Args:
        tables: must hold `runs`, `rounds` and `events`.
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
        figures=list(_figures(tables)),
        round_headers=ROUND_HEADERS,
        rounds=_rounds(tables),
        events=_events(tables),
        metrics=[(group, list(of_group)) for group, of_group in groupby(METRICS, key=lambda metric: metric.group)],
        facts=list(_facts(manifest)),
        settings=list(_settings(manifest)),
        scenario_text=_scenario_text(manifest),
    )


def _comparison(scenario: str, rows: Sequence[Row]) -> _Comparison:
    columns: list[Column] = [
        column(metric.name, metric.title, _COMPOSED.get(metric.name))
        for metric in METRICS
        if metric.name not in _IN_COMPOSED
    ]
    groups = [_Group("", (_line(rows, verdict_column()),))]
    for title, of_group in groupby(columns, key=lambda each: each.metric.group):
        groups.append(_Group(title, tuple(_line(rows, each) for each in of_group)))
    return _Comparison(scenario, rows, tuple(groups))


def _line(rows: Sequence[Row], shown: Column) -> _Line:
    winners = best(rows, shown.metric)
    return _Line(shown.title, tuple((shown.cell(row), row in winners) for row in rows))


def _figures(tables: Tables) -> Iterator[_Figure]:
    from markupsafe import Markup

    from reports.figures import convergence, cross_rack_traffic, rendered
    from reports.svg import inline

    for draw, title in ((cross_rack_traffic, "Traffic between racks"), (convergence, "Convergence")):
        name = draw.__name__
        described = f"{title} over time, one line an assignor; the tables of rounds below hold the numbers"
        # Made here, with names in it escaped: the one thing that goes to the template as markup.
        wide, narrow = (
            Markup(inline(rendered(draw(tables, narrow=narrow), "svg", text_as_text=True), prefix, described))
            for narrow, prefix in ((False, f"{name}-wide-"), (True, f"{name}-narrow-"))
        )
        yield _Figure(title, wide, narrow)


def _rounds(tables: Tables) -> list[_Rounds]:
    """The rounds of each assignor's first run: those of many seeds nobody would read."""
    runs: dict[tuple[str, str], _Rounds] = {}
    found: dict[tuple[str, str, int], list[tuple[str, ...]]] = {}
    for row in table_rows(tables, "rounds"):
        found.setdefault((row["scenario"], row["assignor"], row["seed"]), []).append(_round_cells(row))
    for run in table_rows(tables, "runs"):
        key = run["scenario"], run["assignor"]
        if key not in runs:
            runs[key] = _Rounds(*key, run["seed"], tuple(found.get((*key, run["seed"]), ())))
    return list(runs.values())


def _round_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    costs = [row["active_cost"], row["stateless_cost"], row["standby_cost"]]
    remote = _or_unknown(row["remote_source_partitions"], write_count)
    return (
        str(row["round"]),
        write_clock(row["at_ms"]),
        shortened(row["reason"], _REASON_CHARS),
        write_count(row["members"]),
        write_count(row["active_moves"]),
        write_count(row["standby_moves"]),
        write_count(row["displaced_tasks"]),
        write_count(row["restoring_tasks"]),
        f"{remote} ({_or_unknown(row['least_remote_source_partitions'], write_count)})",
        ", ".join(_or_unknown(cost, write_count) for cost in costs),
        _or_unknown(row["cross_rack_bytes_per_s"], write_rate),
        _or_unknown(row["followup_delay_ms"], write_duration, "–"),
    )


def _breakable(text: str) -> str:
    """A label as markup that may go on in the next line behind what separates words in names."""
    from markupsafe import Markup, escape

    return Markup("<wbr />").join(escape(part) for part in name_parts(text))


def _or_unknown(value: float | None, write: Writer, unknown: str = UNKNOWN) -> str:
    return unknown if value is None else write(value)


def _events(tables: Tables) -> list[tuple[str, str]]:
    return [(write_clock(event.at_ms), text) for event in events(tables) for text in event.texts]


def _facts(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a manifest says in a line each; what has a place of its own on the page is left out."""
    for name, value in manifest.items():
        if name == "assignors":
            continue
        if isinstance(value, Mapping):
            parts = [f"{key} {_said(part)}" for key, part in value.items() if (name, key) != ("scenario", "text")]
            yield name, ", ".join(parts)
        else:
            yield name, _said(value)


def _settings(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a manifest says about each assignor."""
    assignors = manifest.get("assignors", ())
    for number, each in enumerate(assignors if isinstance(assignors, Sequence) else (), 1):
        if isinstance(each, Mapping):
            yield str(each.get("label", number)), ", ".join(_said_of(each))
        else:
            yield str(number), _said(each)


def _said_of(assignor: Mapping[str, Any]) -> Iterator[str]:
    for name, value in assignor.items():
        if isinstance(value, Mapping):
            yield from (f"{key} {_said(part)}" for key, part in value.items())
        elif name != "label":
            yield f"{name} {_said(value)}"


def _said(value: object) -> str:
    """A value in a line; strings as they are, everything else as JSON has it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(each, str | int | float) for each in value):
        return ", ".join(map(str, value)) or "none"
    return json.dumps(value, ensure_ascii=False, default=str)


def _scenario_text(manifest: Mapping[str, Any]) -> str:
    scenario = manifest.get("scenario")
    text = scenario.get("text", "") if isinstance(scenario, Mapping) else ""
    return "\n".join(printable(line) for line in str(text).split("\n"))
