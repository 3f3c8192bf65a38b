"""The conclusion of a comparison in words: which assignor is best in what, what that costs, and what to try next.

Rules:
    Aspects are compared in the order of `MAIN_ASPECTS` and `MORE_ASPECTS`. A difference counts if it exceeds both the
    aspect's `share` of the lower value and its `floor`; with several seeds, the ranges over the seeds must not overlap
    either. An assignor is best in an aspect if no other one is better by such a difference. A run that does not
    converge is worse than any that does. Failed runs are not compared.

    Labels are free text, such as "Kafka's defaults", so that no verb depends on their number.

It also names the threads that cannot keep up with their input: which, since when, by how much, and what helps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reports.analysis.cells import COLUMNS, above_bound_cell, metric_cell
from reports.analysis.comparison import (
    ComparisonRow,
    Tables,
    best_rows,
    compare_runs,
    rows_by_scenario,
    table_rows,
    verdict_text,
)
from reports.analysis.formatting import format_clock, format_count, format_duration, format_number, format_range
from reports.analysis.metrics import METRIC, is_relevant, least_relevant
from reports.analysis.next_steps import RunEvidence, next_steps
from reports.analysis.notes import MIN_NOTED_COMPUTE_MS
from reports.analysis.restart_steps import NextStep
from reports.analysis.runs.scaling_history import ScalingFigures, describe_scaling, scaling_figures
from reports.analysis.text import listed
from simulator.plurals import counted

Row = Mapping[str, Any]
"""A row of the table `thread_loads` or `overloads`."""

_MIN_NOTED_DELAY_MS: Final = 60_000
"""Delays by overload that are mentioned once the tasks have caught up.

Usual input delays a task by at most as long as its thread is overloaded, so that no shorter restart counts.
"""


def overload_sentences(tables: Tables) -> dict[tuple[str, str], list[str]]:
    """Return sentences on the threads that could not keep up, by scenario and assignor with such threads.

    `tables`: the tables `thread_loads` and `overloads`. Over several seeds, the run with the longest delay counts.
    """
    runs: dict[tuple[str, str], dict[int, _RunLoads]] = {}
    for name in ("thread_loads", "overloads"):
        for row in table_rows(tables, name):
            of_run = runs.setdefault((row["scenario"], row["assignor"]), {}).setdefault(row["seed"], _RunLoads())
            (of_run.threads if name == "thread_loads" else of_run.overloads).append(row)
    sentences = {key: list(_sentences(key[1], list(by_seed.values()))) for key, by_seed in runs.items()}
    return {key: found for key, found in sentences.items() if found}


@dataclass(frozen=True, slots=True)
class _RunLoads:
    """The loads of a run. `threads`: the rows of `thread_loads`."""

    threads: list[Row] = field(default_factory=list)
    overloads: list[Row] = field(default_factory=list)

    @property
    def behind(self) -> list[Row]:
        """Return the threads that cannot keep up at the end."""
        return [row for row in self.threads if _is_behind(row)]

    @property
    def delay_ms(self) -> int:
        """Return the maximum delay of the threads that cannot keep up at the end."""
        return max(map(_delay_ms, self.threads), default=-1)

    @property
    def past(self) -> list[Row]:
        """Return the periods of overload whose delay was longer than that at the end."""
        least = least_relevant("max_processing_delay_ms")
        return [
            row
            for row in self.overloads
            if row["processing_delay_ms"] >= _MIN_NOTED_DELAY_MS
            and row["processing_delay_ms"] > self.delay_ms
            and is_relevant(row["processing_delay_ms"] - self.delay_ms, self.delay_ms, least)
        ]


def _sentences(assignor: str, runs: Sequence[_RunLoads]) -> Iterator[str]:
    overloaded = [run for run in runs if run.behind]
    if overloaded:
        worst = max(overloaded, key=lambda run: run.delay_ms)
        yield f"{_quoted(assignor)}: {_at_the_end(worst, _share(overloaded, runs))}"
    past = [run for run in runs if run.past]
    if past:
        worst = max(past, key=lambda run: max(row["processing_delay_ms"] for row in run.past))
        yield f"{_quoted(assignor)}: {_in_the_past(worst, _share(past, runs))}"


def _share(some: Sequence[_RunLoads], runs: Sequence[_RunLoads]) -> str:
    return f" in {len(some)} of {len(runs)} runs" if len(runs) > 1 else ""


def _at_the_end(run: _RunLoads, share: str) -> str:
    """Return how many threads cannot keep up at the end of a run, how far they are behind, and what helps."""
    behind = run.behind
    worst = max(behind, key=_delay_ms)
    arrives, processes = (_rate(worst[name]) for name in _RATES)
    arriving, limit = (sum(row[name] or 0 for row in run.threads) for name in _RATES)
    return (
        f"{format_count(len(behind))} of {format_count(len(run.threads))} threads cannot keep up{share}. At the end, "
        f"{arrives} arrive for thread {worst['thread']} of {worst['client']}, which processes {processes}: "
        f"{_usual(_delay_ms(worst))} behind, since {format_clock(worst['behind_since_ms'])}. "
        f"{_remedy(arriving, limit, has_single_task=any(row['active_tasks'] == 1 for row in behind))}"
    )


def _in_the_past(run: _RunLoads, share: str) -> str:
    """Return how far threads fell behind in the worst period of a run, when they caught up, and what helps."""
    worst = max(run.past, key=lambda row: int(row["processing_delay_ms"]))
    threads = counted(worst["threads"], "thread")
    times = f" (the worst of {len(run.past)} times)" if len(run.past) > 1 else ""
    arrived, processes = (_rate(worst[name]) for name in _RATES)
    end = "Tasks are still behind at the end."
    if worst["until_ms"] is not None:
        end = f"All tasks had caught up at {format_clock(worst['until_ms'])}."
    arriving, limits = worst["all_input_records_per_s"], worst["all_max_records_per_s"]
    return (
        f"{threads} fell behind from {format_clock(worst['from_ms'])} on{times}{share}, by up to "
        f"{_usual(worst['processing_delay_ms'])} at {format_clock(worst['delay_at_ms'])}. Until then, {arrived} "
        f"arrived for thread {worst['thread']} of {worst['client']}, which processes {processes}. {end} "
        f"{_remedy(arriving, math.inf if limits is None else limits, has_single_task=worst['active_tasks'] == 1)}"
    )


_RATES: Final = ("input_records_per_s", "max_records_per_s")


def _remedy(arriving: float, limit: float, *, has_single_task: bool) -> str:
    """Return what helps threads that cannot keep up.

    `arriving`: records per second that arrive for all threads; `limit`: records per second that all threads process;
    `has_single_task` says whether an overloaded thread has a single task.
    """
    if has_single_task:
        return (
            "More threads do not help a thread with one task: its subtopology needs more partitions, fewer source "
            "topics or faster processing."
        )
    if arriving > limit:
        return f"All threads process {_rate(limit)} of {_rate(arriving)}: more threads or instances help."
    return "All threads together process enough: more threads help, or a more even assignment."


def _is_behind(row: Row) -> bool:
    return row["behind_since_ms"] is not None


def _delay_ms(row: Row) -> int:
    return int(row["processing_delay_ms"]) if _is_behind(row) else -1


def _usual(delay_ms: float) -> str:
    """Return a delay; more than the usual input may arrive at a time, so that it can be longer than the run."""
    return f"{format_duration(delay_ms)} of usual input"


def _rate(records_per_s: float) -> str:
    return f"{format_number(records_per_s)} records/s"


_NEVER: Final = math.inf
"""Time to converge of runs that do not converge."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """What assignors are compared by.

    Attributes:
        metric: key of the metric; lower is better.
        best: the best value in words, such as "the least cross-rack traffic".
        worse: any other value in words; `{}` is the value.
        singular: the same for the value 1, if it differs.
        floor: differences up to this one do not count.
        share: differences up to this share of the lower value do not count.
        noun: the aspect in a list of aspects without a clear difference; empty to leave it out there.
    """

    metric: str
    best: str
    worse: str
    floor: float
    share: float = 0.1
    singular: str = ""
    noun: str = ""

    def phrase(self, value: float) -> str:
        """Return a value in words."""
        if value == _NEVER:
            return "no convergence"
        words = self.singular if value == 1 and self.singular else self.worse
        return words.format(METRIC[self.metric].write(value))

    def write(self, low: float, high: float) -> str:
        """Return a value, or a range of values."""
        write = METRIC[self.metric].write
        if low == _NEVER:
            return "never"
        if high == _NEVER:
            return f"{write(low)} to never"
        return write(low) if write(low) == write(high) else format_range(low, high, write)


_USD = Aspect(
    "cross_rack_usd_per_day",
    "the lowest cross-rack cost per day",
    "{} per day across racks",
    floor=0.01,
    noun="cross-rack cost per day",
)
_TRAFFIC = Aspect(
    "cross_rack_bytes_per_s",
    "the least cross-rack traffic",
    "{} across racks",
    floor=1_000,
    noun="steady-state cross-rack traffic",
)
_CONVERGENCE = Aspect(
    "time_to_converge_ms", "the shortest time to converge", "{} to converge", 10_000, noun="time to converge"
)
_OUTAGE = Aspect(
    "longest_downtime_ms",
    "the shortest task outage",
    "a task outage of up to {}",
    floor=2_000,
    noun="the longest task outage",
)
_DOWNTIME = Aspect(
    "worst_downtime_ms",
    "the shortest task downtime in total",
    "up to {} of task downtime in total",
    floor=2_000,
    noun="total task downtime",
)

MAIN_ASPECTS: Final = (
    _OUTAGE,
    _DOWNTIME,
    _USD,
    _TRAFFIC,
    _CONVERGENCE,
    Aspect("restored_bytes", "the least restored state", "{} of restored state", 100e6, noun="restored state"),
    Aspect(
        "tasks_without_rack_redundancy",
        "the fewest tasks without rack redundancy",
        "{} tasks without rack redundancy",
        floor=1,
        share=0.25,
        singular="{} task without rack redundancy",
        noun="rack redundancy",
    ),
)
"""The aspects that are always compared, most important first.

The total downtime is left out if no task has more than one outage that counts, and if the same assignors are best in
the longest outage. The cost replaces the traffic if a price is known.
"""

MORE_ASPECTS: Final = (
    Aspect(
        "worst_pair_loss",
        "the fewest tasks on two clients only",
        "{} tasks on two clients only",
        floor=2,
        share=1,
        singular="{} task on two clients only",
    ),
    Aspect("stateful_skew", "the most even distribution of state", "a stateful skew of {}", 1, 1),
    Aspect("subtopology_skew", "the most even subtopologies", "a subtopology skew of {}", 2, 1),
)
"""Aspects that are compared if at most `_FEW_ASPECTS` of the main ones differ."""

_TABLE_METRICS: Final = tuple(column.metric.name for column in COLUMNS)
_OCCURRENCES: Final = (
    ("rebalance", Aspect("rebalances", "the fewest rebalances", "{} rebalances", 0, singular="{} rebalance")),
    ("downtime", _OUTAGE),
    ("cross-rack traffic", Aspect("cross_rack_bytes", "the fewest bytes", "{} across racks in the whole run", 0)),
)
"""What runs may have although their main figures are 0: its absence, and its presence."""

_FEW_ASPECTS = 3
_MAX_PRICES = 3


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a comparison shows.

    Attributes:
        scenario: name of the scenario.
        findings: sentences on the assignors, most important first; self-contained.
        next_steps: changes that the figures suggest to try.
    """

    scenario: str
    findings: tuple[str, ...]
    next_steps: tuple[NextStep, ...] = ()

    @property
    def headline(self) -> str:
        """The conclusion in at most two sentences, without next steps."""
        return " ".join(self.findings[:2])


def conclude(tables: Tables, manifests: Sequence[Mapping[str, Any]] = ()) -> list[Conclusion]:
    """Return the conclusion of each scenario.

    `manifests`: manifests of the results, which hold the configs of the assignors; without them, fewer next steps can
    be found.
    """
    evidence = RunEvidence.of(tables, manifests)
    scaling = scaling_figures(table_rows(tables, "scaling"))
    overloads = overload_sentences(tables)
    return [
        _conclude(scenario, rows, evidence, scaling, overloads)
        for scenario, rows in rows_by_scenario(compare_runs(tables)).items()
    ]


def _conclude(
    scenario: str,
    rows: Sequence[ComparisonRow],
    evidence: RunEvidence,
    scaling: Mapping[tuple[str, str], Sequence[ScalingFigures]],
    overloads: Mapping[tuple[str, str], Sequence[str]],
) -> Conclusion:
    compared = [row for row in rows if row.is_comparable]
    excluded = [
        f"Not compared: {_quoted(row.assignor)} ({verdict_text(row)})." for row in rows if not row.is_comparable
    ]
    if not compared:
        return Conclusion(scenario, tuple(excluded))
    values = _values(compared)
    if len(compared) == 1:
        findings, target = [_alone(compared[0], values)], compared[0]
    else:
        winners = _differing(values)
        findings = list(_compared(compared, values, winners))
        target = max(compared, key=lambda row: sum(row.assignor in names for names in winners.values()))
    scaled = [(row.assignor, scaling[scenario, row.assignor]) for row in rows if (scenario, row.assignor) in scaling]
    findings += [f"{_quoted(assignor)}: {describe_scaling(figures)}." for assignor, figures in scaled]
    findings += [text for row in rows for text in overloads.get((scenario, row.assignor), ())]
    return Conclusion(scenario, (*findings, *excluded), tuple(next_steps(rows, target, evidence)))


_Values = Mapping[str, "_Value"]
"""Values of an aspect by label of the assignor."""


@dataclass(frozen=True, slots=True)
class _Value:
    """Median and range of a metric over seeds."""

    median: float
    minimum: float
    maximum: float

    def is_better(self, other: _Value, aspect: Aspect) -> bool:
        """Return whether this value is lower by a difference that counts."""
        if self.median == other.median:
            return False
        if other.median == _NEVER:
            return True
        difference = other.median - self.median
        return self.maximum < other.minimum and difference > max(aspect.floor, aspect.share * self.median)


def _values(rows: Sequence[ComparisonRow]) -> dict[Aspect, _Values]:
    """Return the known aspects with the values of all rows."""
    has_price = any(row.spreads[_USD.metric] for row in rows)
    values: dict[Aspect, _Values] = {}
    for aspect in (*MAIN_ASPECTS, *MORE_ASPECTS):
        if aspect is (_TRAFFIC if has_price else _USD):
            continue
        known = {row.assignor: value for row in rows if (value := _value(row, aspect)) is not None}
        if len(known) == len(rows) and min(value.median for value in known.values()) < _NEVER:
            values[aspect] = known
    if _OUTAGE in values and not any(_is_interrupted_again(values, name) for name in values[_OUTAGE]):
        del values[_DOWNTIME]
    return values


def _is_interrupted_again(values: Mapping[Aspect, _Values], name: str) -> bool:
    """Return whether the task with the longest downtime had a clearly shorter longest outage."""
    outage, downtime = (values[aspect][name].median for aspect in (_OUTAGE, _DOWNTIME))
    return downtime - outage > max(_DOWNTIME.floor, _DOWNTIME.share * outage)


def _value(row: ComparisonRow, aspect: Aspect) -> _Value | None:
    spread = row.spreads[aspect.metric]
    if aspect.metric == "time_to_converge_ms" and not row.has_all(aspect.metric):
        return _Value(_NEVER, _NEVER, _NEVER)
    return None if spread is None else _Value(spread.median, spread.minimum, spread.maximum)


def _winners(values: _Values, aspect: Aspect) -> frozenset[str]:
    """Return the assignors that no other one is better than."""
    return frozenset(
        name for name, value in values.items() if not any(other.is_better(value, aspect) for other in values.values())
    )


def _differing(values: Mapping[Aspect, _Values]) -> dict[Aspect, frozenset[str]]:
    """Return the best assignors of each aspect in which assignors differ."""
    winners = {aspect: _winners(by_name, aspect) for aspect, by_name in values.items()}
    differing = {aspect: best for aspect, best in winners.items() if len(best) < len(values[aspect])}
    if differing.get(_DOWNTIME, ()) == differing.get(_OUTAGE):
        del differing[_DOWNTIME]
    if sum(aspect in MAIN_ASPECTS for aspect in differing) > _FEW_ASPECTS:
        return {aspect: best for aspect, best in differing.items() if aspect in MAIN_ASPECTS}
    return differing


def _alone(row: ComparisonRow, values: Mapping[Aspect, _Values]) -> str:
    """Return a sentence on the only assignor."""
    figures = [
        aspect.phrase(value.median)
        for aspect, by_name in values.items()
        if aspect in MAIN_ASPECTS and (value := by_name[row.assignor]).median
    ]
    if _CONVERGENCE not in values:
        figures.insert(0, f"no convergence ({verdict_text(row)})")
    return f"{_quoted(row.assignor)}: {listed(figures) or _undisturbed(row)}."


def _undisturbed(row: ComparisonRow) -> str:
    """Return what runs whose main figures are 0 never had, and what they had all the same, as during an event."""
    absent, present = [], []
    for noun, aspect in _OCCURRENCES:
        if spread := row.spreads[aspect.metric]:
            is_range = spread.minimum < spread.maximum and aspect is not _OUTAGE
            phrase = f"{'up to ' if is_range else ''}{aspect.phrase(spread.maximum)}"
            present.extend([phrase] if spread.maximum else [])
            absent.extend([] if spread.maximum else [noun])
    nothing = f"no {listed(absent)}".replace(" and ", " or ") if absent else ""
    return "; ".join(filter(None, (nothing, listed(present))))


def _compared(
    rows: Sequence[ComparisonRow], values: Mapping[Aspect, _Values], winners: Mapping[Aspect, frozenset[str]]
) -> Iterator[str]:
    """Yield sentences on who is best in what, what that costs, and who is never better than another."""
    names = [row.assignor for row in rows]
    if not winners:
        compared = [aspect.noun for aspect in values if aspect.noun]
        yield f"{listed(map(_quoted, names))}: no clear difference in {listed(compared) or 'any figure'}."
    if _CONVERGENCE not in values:
        yield f"{'Neither' if len(names) == 2 else 'No'} assignor converges within the run."
    champions = [name for name in names if all(name in best for best in winners.values())]
    if winners and champions:
        wins = [
            f"{'' if _is_lowest(champions, aspect, values[aspect]) else 'nearly '}{_win(aspect, values[aspect], best)}"
            for aspect, best in winners.items()
        ]
        lower = list(_lower_elsewhere([row for row in rows if row.assignor in champions], rows))
        claim = "" if lower else "best in everything that differs, with "
        yield f"{listed(map(_quoted, champions))}: {claim}{listed(wins)}."
        yield from lower
    else:
        yield from _trade_offs(rows, values, winners)


def _is_lowest(names: Sequence[str], aspect: Aspect, values: _Values) -> bool:
    """Return whether no other assignor has a lower value than the given ones, as it is written."""
    lowest = min(value.median for value in values.values())
    return aspect.write(lowest, lowest) in {aspect.write(*[values[name].median] * 2) for name in names}


def _lower_elsewhere(losers: Sequence[ComparisonRow], rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """Yield sentences on the figures of the table in which other assignors are better than all of `losers`."""
    by_winners: dict[tuple[str, ...], list[str]] = {}
    for name in _TABLE_METRICS:
        metric, best = METRIC[name], best_rows(rows, METRIC[name]) or _at_bound(rows, name)
        if name == "leader_compute_ms" and max(_maxima(rows, name), default=0) < MIN_NOTED_COMPUTE_MS:
            continue
        if not best or any(row in best for row in losers):
            continue
        ours, theirs = (_shown_value(group[0], name) for group in (losers, best))
        title = metric.title.partition(" (")[0]
        title = title[0].lower() + title[1:]
        by_winners.setdefault(tuple(row.assignor for row in best), []).append(f"{title} ({theirs} instead of {ours})")
    for winners, figures in by_winners.items():
        rest = f" and {len(figures) - _MAX_PRICES} more figures" if len(figures) > _MAX_PRICES + 1 else ""
        shown = figures[:_MAX_PRICES] if rest else figures
        differing = ", ".join(shown) + rest if rest else listed(shown)
        yield f"Lower with {listed(map(_quoted, winners))}: {differing}."


def _at_bound(rows: Sequence[ComparisonRow], name: str) -> tuple[ComparisonRow, ...]:
    """Return the rows at their lower bounds, which the table shows as lower than those above theirs."""
    return tuple(row for row in rows if name == "cost_above_bound" and (cost := row.spreads[name]) and not cost.median)


def _maxima(rows: Sequence[ComparisonRow], name: str) -> list[float]:
    return [spread.maximum for row in rows if (spread := row.spreads[name])]


def _shown_value(row: ComparisonRow, name: str) -> str:
    """Return a figure as the table shows it."""
    if name == "cost_above_bound":
        return above_bound_cell(row, name).text
    return metric_cell(row, METRIC[name]).text if row.spreads[name] else verdict_text(row)


def _trade_offs(
    rows: Sequence[ComparisonRow], values: Mapping[Aspect, _Values], winners: Mapping[Aspect, frozenset[str]]
) -> Iterator[str]:
    names = [row.assignor for row in rows]
    by_name = {row.assignor: row for row in rows}
    by_winners: dict[frozenset[str], list[str]] = {}
    for aspect, best in winners.items():
        by_winners.setdefault(best, []).append(_win(aspect, values[aspect], best))
    for best, wins in by_winners.items():
        group = [name for name in names if name in best]
        yield f"{_subject(group, names)}: {listed(wins)}."
    prices: dict[str, list[str]] = {}
    for name in names:
        lost = [aspect for aspect, best in winners.items() if name not in best]
        if len(lost) < len(winners):
            prices.setdefault(_price(name, lost, values), []).append(_quoted(name))
        elif better := next((other for other in names if _dominates(other, name, values)), None):
            pair = (by_name[better], by_name[name])
            if any(_is_lower(pair[1], pair[0], metric) for metric in _TABLE_METRICS):
                yield f"{_quoted(name)}: nowhere clearly better than {_quoted(better)}."
            else:
                yield f"{_quoted(name)}: nowhere better than {_quoted(better)}."
    for price, group in prices.items():
        yield f"{listed(group)} in exchange: {price}."


def _is_lower(row: ComparisonRow, other: ComparisonRow, name: str) -> bool:
    """Return whether the table shows a lower value of a metric for an assignor than for another."""
    return best_rows((row, other), METRIC[name]) == (row,)


def _win(aspect: Aspect, values: _Values, best: frozenset[str]) -> str:
    ours = [value.median for name, value in values.items() if name in best]
    theirs = [value.median for name, value in values.items() if name not in best]
    text = f"{aspect.write(min(ours), max(ours))}; {'other' if len(theirs) == 1 else 'others'} "
    return f"{aspect.best} ({text}{aspect.write(min(theirs), max(theirs))})"


def _price(name: str, lost: Sequence[Aspect], values: Mapping[Aspect, _Values]) -> str:
    """Return the aspects in which an assignor is worse than the best, most important first."""
    return listed([aspect.phrase(values[aspect][name].median) for aspect in lost[:_MAX_PRICES]])


def _dominates(name: str, other: str, values: Mapping[Aspect, _Values]) -> bool:
    return any(by_name[name].is_better(by_name[other], aspect) for aspect, by_name in values.items()) and not any(
        by_name[other].is_better(by_name[name], aspect) for aspect, by_name in values.items()
    )


def _subject(group: Sequence[str], names: Sequence[str]) -> str:
    rest = [name for name in names if name not in group]
    return f"All but {_quoted(rest[0])}" if len(rest) == 1 and len(names) > 3 else listed(map(_quoted, group))


def _quoted(name: str) -> str:
    """Return a label, in quotes if it has separators of lists."""
    return f"'{name}'" if " and " in name or "," in name or ";" in name else name
