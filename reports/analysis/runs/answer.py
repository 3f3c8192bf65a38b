"""What the first section of a page of runs says: question, headline figures, cumulative downtime, and trade-off."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from reports.analysis.cells import Cell, convergence_cell, metric_cell
from reports.analysis.comparison import ComparisonRow, Tables, best_rows, rows_of_run, table_rows, verdict_text
from reports.analysis.formatting import format_clock, format_count
from reports.analysis.metrics import METRIC, Metric
from reports.analysis.pareto import NOT_DOMINATED, dominators
from reports.analysis.runs.breakdowns import Key, assignor_label, runs_by_assignor
from reports.analysis.statistics import Floats
from reports.analysis.text import printable, shortened
from simulator.plurals import counted, plural
from simulator.results.verdict import Verdict


@dataclass(frozen=True, slots=True)
class DowntimeCurve:
    """The downtime of all tasks since the first assignment, summed up to each time.

    Attributes:
        label: label of the assignor, with the scenario if there are several.
        at_ms: the times, ascending.
        values_ms: median over the seeds; empty if no run had a rebalance.
        minimums_ms: minimum over the seeds.
        maximums_ms: maximum over the seeds.
    """

    label: str
    at_ms: tuple[float, ...]
    values_ms: tuple[float, ...]
    minimums_ms: tuple[float, ...]
    maximums_ms: tuple[float, ...]


def cumulative_downtime(tables: Tables, at_ms: Sequence[float]) -> list[DowntimeCurve]:
    """Return the cumulative downtime of each assignor, in the order of the table `runs`.

    The sum is exact at the given times. At the end of a run, it equals `downtime_ms` of the table `runs`. `tables`:
    must hold `runs`, `rounds`, `tasks` and `task_states`; `at_ms`: times at which to compute the sum, ascending.
    """
    runs = runs_by_assignor(tables)
    curves = []
    for key, assignor_runs in runs.items():
        sums = [_sums_of_run(tables, key, run["seed"], at_ms) for run in assignor_runs]
        columns = list(zip(*(values.tolist() for values in sums if values is not None), strict=True))
        curves.append(
            DowntimeCurve(
                label=assignor_label(key, runs),
                at_ms=tuple(at_ms) if columns else (),
                values_ms=tuple(float(statistics.median(column)) for column in columns),
                minimums_ms=tuple(min(column) for column in columns),
                maximums_ms=tuple(max(column) for column in columns),
            )
        )
    return curves


def _sums_of_run(tables: Tables, key: Key, seed: int, at_ms: Sequence[float]) -> Floats | None:
    """Return the downtime of all tasks up to each time, shape (times,); None if the run has no task states."""
    rounds = rows_of_run(tables, "rounds", key, seed)
    states = rows_of_run(tables, "task_states", key, seed)
    if not len(rounds) or not len(states):
        return None
    start_ms, end_ms = pc.min(rounds["at_ms"]).as_py(), pc.max(rounds["until_ms"]).as_py()
    times, down = _tasks_down(states, len(rows_of_run(tables, "tasks", key, seed)), start_ms, end_ms)
    sums = np.concatenate(([0.0], np.cumsum(down[:-1] * np.diff(times))))
    return np.interp(np.asarray(at_ms, dtype=np.float64), times, sums)


def _tasks_down(states: Any, tasks: int, start_ms: int, end_ms: int) -> tuple[Floats, Floats]:
    """Return the times between start and end at which the number of tasks that are down changes, and that number."""
    task = np.unique(states["task"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)[1]
    order = np.argsort(task, kind="stable")
    at_ms = np.clip(states["at_ms"].to_numpy()[order], start_ms, end_ms)
    is_running = pc.equal(states["state"], "running").to_numpy(zero_copy_only=False)[order].astype(np.int64)
    change = is_running.copy()
    is_same_task = task[order][1:] == task[order][:-1]
    change[1:] -= np.where(is_same_task, is_running[:-1], 0)
    times, index = np.unique(np.concatenate((at_ms, [start_ms, end_ms])), return_inverse=True)
    running = np.cumsum(np.bincount(index[:-2], weights=change, minlength=len(times)))
    return times.astype(np.float64), (tasks - running).astype(np.float64)


def evenly_spaced(until_ms: int, count: int) -> tuple[float, ...]:
    """Return `count` times from 0 to `until_ms`, both included."""
    return tuple(until_ms * index / (count - 1) for index in range(count))


MAX_EVENTS = 3
"""Maximum number of events in a question."""

_EVENT_CHARS = 90


def question(tables: Tables, scenario: str) -> str:
    """Return the question in one sentence, followed by the events of the first run.

    `tables`: must hold `runs`, `tasks`, `clients`, `convergence` and `events`. Returns, for example `What happens to
    174 tasks (120 stateful) on 15 clients in 3 racks? Event: join of 3 clients (new-0, new-1, new-2) at 0:30:00.`.
    """
    keys = _runs(tables, scenario)
    if not keys:
        return ""
    key, seed = keys[0]
    stateful = rows_of_run(tables, "tasks", key, seed)["stateful"].to_pylist()
    clients = {row["client"]: row["rack"] for row in rows_of_run(tables, "clients", key, seed).to_pylist()}
    racks = {rack for rack in clients.values() if rack is not None}
    tasks = f"{counted(len(stateful), 'task')} ({format_count(sum(stateful))} stateful)"
    where = f" on {counted(len(clients), 'client')}" + (f" in {counted(len(racks), 'rack')}" if racks else "")
    return f"What happens to {tasks}{where}? {_events_text(scenario_events(tables, scenario))}"


def scenario_events(tables: Tables, scenario: str) -> list[tuple[int, str]]:
    """Return time and label of each event of a scenario, as in the runs of its first seed.

    Events are those that caused a rebalance with any assignor, as listed in the table `convergence`. If there are none,
    they are the changes of the first run.
    """
    keys = _runs(tables, scenario)
    if not keys:
        return []
    first_by_number: dict[int, tuple[int, str]] = {}
    seed = keys[0][1]
    for key, run_seed in keys:
        if run_seed == seed:
            for row in rows_of_run(tables, "convergence", key, seed).to_pylist():
                if row["number"]:
                    event = (row["at_ms"], row["event"])
                    first_by_number[row["number"]] = min(event, first_by_number.get(row["number"], event))
    if first_by_number:
        return sorted(first_by_number.values())
    return [(row["at_ms"], row["event"]) for row in rows_of_run(tables, "events", *keys[0]).to_pylist()]


def _runs(tables: Tables, scenario: str) -> list[tuple[Key, int]]:
    return [
        ((run["scenario"], run["assignor"]), run["seed"])
        for run in table_rows(tables, "runs")
        if run["scenario"] == scenario
    ]


def _events_text(events: Sequence[tuple[int, str]]) -> str:
    if not events:
        return "The scenario has no events after the start."
    texts = [
        f"{shortened(printable(event), _EVENT_CHARS)} at {format_clock(at_ms)}" for at_ms, event in events[:MAX_EVENTS]
    ]
    more = len(events) - len(texts)
    listed = ", ".join(texts) + (f" and {counted(more, 'more event')}" if more else "")
    return f"{plural(len(events), 'Event')}: {listed}."


_RATE, _PER_DAY = "cross_rack_bytes_per_s", "cross_rack_usd_per_day"
_OUTAGE = "longest_downtime_ms"
_OTHERS = (_OUTAGE, "time_to_converge_ms", "restored_bytes")


@dataclass(frozen=True, slots=True)
class HeadlineRow:
    """The headline figures of an assignor.

    Attributes:
        assignor: label of the assignor.
        verdict: how its runs ended, unless all are stable.
        cells: per title, the cell and whether it is best.
    """

    assignor: str
    verdict: str
    cells: tuple[tuple[Cell, bool], ...]


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline figures of one scenario.

    Attributes:
        titles: titles of the figures.
        rows: one per assignor.
        has_price: whether costs are known.
    """

    titles: tuple[str, ...]
    rows: tuple[HeadlineRow, ...]
    has_price: bool


def headline(rows: Sequence[ComparisonRow]) -> Headline:
    """Return the headline figures of the assignors of one scenario.

    The first figure is the cost per day with the traffic as a note; without a price, it is the traffic.
    """
    has_price = any(row.spreads[_PER_DAY] for row in rows)
    names = (_PER_DAY if has_price else _RATE, *_OTHERS)
    best = {name: best_rows(rows, METRIC[name]) for name in names}
    return Headline(
        tuple(METRIC[name].title for name in names),
        tuple(
            HeadlineRow(
                row.assignor,
                "" if [verdict for verdict, _ in row.verdicts] == [Verdict.STABLE] else verdict_text(row),
                tuple((_cell(row, name), row in best[name]) for name in names),
            )
            for row in rows
        ),
        has_price,
    )


def _cell(row: ComparisonRow, name: str) -> Cell:
    if name == "time_to_converge_ms":
        return convergence_cell(row)
    cell = metric_cell(row, METRIC[name])
    if name == _PER_DAY:
        return replace(cell, notes=(*cell.notes, metric_cell(row, METRIC[_RATE]).text))
    if name == _OUTAGE:
        return replace(cell, notes=(*cell.notes, f"worst total {metric_cell(row, METRIC['worst_downtime_ms']).text}"))
    return cell


DISRUPTIONS: Final = (
    "longest_downtime_ms",
    "worst_downtime_ms",
    "downtime_ms",
    "time_to_converge_ms",
    "restored_bytes",
)
"""Keys of the metrics that measure disruption, the first by default."""

_MAX_DOMINATED = 2


@dataclass(frozen=True, slots=True)
class DisruptionPoint:
    """An assignor in a trade-off.

    Attributes:
        assignor: label of the assignor.
        index: its number in the comparison, which determines its color.
        cost: median of the cost metric.
        disruption: median of the disruption metric.
        dominated_by: label of an assignor that is at least as good in both and better in one; None if Pareto-optimal.
    """

    assignor: str
    index: int
    cost: float
    disruption: float
    dominated_by: str | None


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Cost against disruption of the assignors of a scenario.

    Attributes:
        points: the assignors for which both are known, in the order of the comparison.
        left_out: labels of the others.
    """

    cost: Metric
    disruption: Metric
    points: tuple[DisruptionPoint, ...]
    left_out: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What to see: the cheapest and the least disruptive assignor, and those that are worse in both."""
        if len(self.points) < 2:
            return ""
        cheapest = _lowest([(point.cost, point) for point in self.points], self.cost)
        calmest = _lowest([(point.disruption, point) for point in self.points], self.disruption)
        both = [point for point in cheapest if point in calmest]
        if both:
            first = f"No trade-off: both are lowest with {_names(both)}"
        else:
            disruption = f"{_lower(self.disruption.title)} with {_names(calmest)}"
            first = f"{self.cost.title} is lowest with {_names(cheapest)}, {disruption}"
        worse = [
            f"{printable(point.assignor)} is dominated by {printable(point.dominated_by)}"
            for point in self.points
            if point.dominated_by is not None
        ]
        rest = len(worse) - _MAX_DOMINATED
        more = [f"{rest} more {'is' if rest == 1 else 'are'} dominated"] if rest > 0 else []
        return f"{'; '.join((first, *worse[:_MAX_DOMINATED], *more))}."


def trade_offs(rows: Sequence[ComparisonRow]) -> list[TradeOff]:
    """Return the trade-offs of the assignors of one scenario, one per disruption metric with two known assignors.

    The cost is in dollars per day if it is known for every assignor with known traffic, otherwise it is the traffic.
    """
    rate, per_day = METRIC["cross_rack_bytes_per_s"], METRIC["cross_rack_usd_per_day"]
    has_price = all(row.spreads[per_day.name] for row in rows if row.spreads[rate.name])
    cost = per_day if has_price else rate
    found = [_trade_off(rows, cost, METRIC[name]) for name in DISRUPTIONS]
    return [trade_off for trade_off in found if len(trade_off.points) > 1]


def _trade_off(rows: Sequence[ComparisonRow], cost: Metric, disruption: Metric) -> TradeOff:
    known = [
        (index, row, costs.median, disruptions.median)
        for index, row in enumerate(rows)
        if row.is_comparable
        and row.has_all(cost.name)
        and row.has_all(disruption.name)
        and (costs := row.spreads[cost.name])
        and (disruptions := row.spreads[disruption.name])
    ]
    values = np.array([[first, second] for _, _, first, second in known], dtype=np.float64).reshape(len(known), 2)
    # Values that look equal are equal, so that rounding does not make an assignor dominate another.
    for column, metric in enumerate((cost, disruption)):
        values[:, column] = _merge_equal(values[:, column].tolist(), metric)
    points = tuple(
        DisruptionPoint(row.assignor, index, first, second, None if by == NOT_DOMINATED else known[by][1].assignor)
        for (index, row, first, second), by in zip(known, dominators(values).tolist(), strict=True)
    )
    present = {point.assignor for point in points}
    return TradeOff(cost, disruption, points, tuple(row.assignor for row in rows if row.assignor not in present))


def _merge_equal(values: Sequence[float], metric: Metric) -> list[float]:
    """Return the values with those that are formatted alike replaced by the lowest of them."""
    merged = {value: value for value in values}
    for low, high in pairwise(sorted(merged)):
        if metric.write(low) == metric.write(high):
            merged[high] = merged[low]
    return [merged[value] for value in values]


def _lowest(points: Sequence[tuple[float, DisruptionPoint]], metric: Metric) -> list[DisruptionPoint]:
    lowest = metric.write(min(value for value, _ in points))
    return [point for value, point in points if metric.write(value) == lowest]


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


def _names(points: Sequence[DisruptionPoint]) -> str:
    names = [printable(point.assignor) for point in points]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
