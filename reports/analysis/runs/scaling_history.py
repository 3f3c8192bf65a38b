"""What an autoscaler saw and decided over time, with the rebalances that it caused, and whether it thrashes.

An autoscaler thrashes if it changes its direction more than `MAX_REVERSALS` times within an hour; each such change
undoes a part of the one before, at the price of two rebalances.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from reports.analysis.cells import Cell, Grid
from reports.analysis.comparison import Tables, rows_of_run, table, table_rows
from reports.analysis.formatting import format_clock, format_count
from reports.analysis.runs.breakdowns import assignor_label, runs_by_assignor
from reports.analysis.scaled_rounds import decisions_by_round, reason_text
from reports.analysis.text import listed, printable
from simulator.plurals import counted

MAX_REVERSALS: Final = 3
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class ScalingFigures:
    """The changes of the number of pods of one workload, over all runs of an assignor.

    Attributes:
        workload: the name of the StatefulSet or Deployment.
        changes: the median number of changes in a run.
        reversals: the median number of changes of direction.
        most_reversals_per_h: the maximum number of changes of direction within an hour, over all runs.
        fewest: the smallest number of pods before and after the changes; 0 without any.
        most: the largest such number; 0 without any change.
    """

    workload: str
    changes: float
    reversals: float
    most_reversals_per_h: int
    fewest: int
    most: int

    @property
    def thrashes(self) -> bool:
        """Whether the autoscaler thrashes."""
        return self.most_reversals_per_h > MAX_REVERSALS

    def describe(self) -> str:
        """Return the figures in a sentence part, such as `12 changes of the pods of payments (2 to 12), …`."""
        if not self.most:
            return f"the number of pods of {self.workload} did not change"
        changes = f"{counted(self.changes, 'change')} of the number of pods of {self.workload}"
        text = f"{changes} ({self.fewest} to {self.most}), {format_count(self.reversals)} of direction"
        return f"{text}: the autoscaler thrashes" if self.thrashes else text


def scaling_figures(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[ScalingFigures, ...]]:
    """Return the figures of each workload by scenario and assignor.

    `rows`: the rows of the table `scaling`.
    """
    runs: dict[tuple[str, str], dict[str, dict[int, list[Mapping[str, Any]]]]] = {}
    for row in rows:
        by_workload = runs.setdefault((row["scenario"], row["assignor"]), {})
        by_workload.setdefault(row["workload"], {}).setdefault(row["seed"], []).append(row)
    return {
        key: tuple(_figures(workload, list(by_seed.values())) for workload, by_seed in by_workload.items())
        for key, by_workload in runs.items()
    }


def describe_scaling(figures: Sequence[ScalingFigures]) -> str:
    """Return the figures of all workloads of an assignor in a sentence part."""
    return listed([of_workload.describe() for of_workload in figures])


def _figures(workload: str, runs: Sequence[Sequence[Mapping[str, Any]]]) -> ScalingFigures:
    changes = [[row for row in rows if row["replicas"] != row["replicas_before"]] for rows in runs]
    reversals_ms = [_reversals_ms(rows) for rows in changes]
    pods = [row[key] for rows in changes for row in rows for key in ("replicas_before", "replicas")]
    return ScalingFigures(
        workload,
        statistics.median(len(rows) for rows in changes),
        statistics.median(len(times_ms) for times_ms in reversals_ms),
        max(_most_within_an_hour(times_ms) for times_ms in reversals_ms),
        min(pods, default=0),
        max(pods, default=0),
    )


def _reversals_ms(changes: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return when a change has another direction than the one before."""
    directions = [(row["at_ms"], row["replicas"] > row["replicas_before"]) for row in changes]
    return [at_ms for (_, before), (at_ms, after) in pairwise(directions) if before is not after]


def _most_within_an_hour(times_ms: Sequence[int]) -> int:
    return max((sum(start <= at_ms < start + _HOUR_MS for at_ms in times_ms) for start in times_ms), default=0)


MAX_CHANGES = 400
"""Maximum number of changes in a table of a page."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Hold:
    """A time in which an autoscaler does not set the pods that the lag asks for.

    `reason`: why, as in the table `scaling`.
    """

    start_ms: int
    end_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class ScalingHistory:
    """The decisions of one autoscaler in the first run of an assignor.

    Attributes:
        label: label of the assignor, with its scenario if there are several.
        index: number of the assignor, from 0.
        workload: name of the StatefulSet or Deployment.
        steps: rows of the table `scaling`, by time; each holds until the next.
        initial: number of the first rebalance, which assigns all tasks.
        caused: rebalances that the autoscaler caused, perhaps with the first one: time, number and changes of pods.
        others: times of the other rebalances after the first one.
        until_ms: end of the run.
    """

    label: str
    index: int
    workload: str
    steps: tuple[Row, ...]
    initial: int
    caused: tuple[tuple[int, int, tuple[Row, ...]], ...]
    others: tuple[int, ...]
    until_ms: int

    @property
    def changes(self) -> tuple[Row, ...]:
        """The steps that changed the number of pods."""
        return tuple(step for step in self.steps if step["replicas"] != step["replicas_before"])

    @property
    def rebalances(self) -> int:
        """The number of rebalances after the first one."""
        return self.caused_later + len(self.others)

    @property
    def caused_later(self) -> int:
        """The number of rebalances after the first one that the autoscaler caused."""
        return sum(number != self.initial for _, number, _ in self.caused)

    def holds(self) -> Iterator[Hold]:
        """Yield the times in which the pods are not those that the lag asks for, and why."""
        ends = [*(step["at_ms"] for step in self.steps[1:]), self.until_ms]
        last: Hold | None = None
        for step, end_ms in zip(self.steps, ends, strict=True):
            if step["recommended"] == step["replicas"]:
                continue
            hold = Hold(step["at_ms"], end_ms, step["reason"])
            if last is not None and (last.end_ms, last.reason) == (hold.start_ms, hold.reason):
                last = replace(last, end_ms=end_ms)
                continue
            if last is not None:
                yield last
            last = hold
        if last is not None:
            yield last

    def rounds_of(self, change: Row) -> list[int]:
        """Return the numbers of the rebalances that a change of the number of pods caused."""
        return [
            number
            for _, number, decisions in self.caused
            if any((row["decided_at_ms"], row["scaler"]) == (change["at_ms"], change["scaler"]) for row in decisions)
        ]


def scaling_histories(tables: Tables) -> list[ScalingHistory]:
    """Return the history of each autoscaler in the first run of each assignor; empty without autoscalers.

    `tables`: must hold `runs`, `rounds`, `scaling` and `scaled_rounds`.
    """
    if not table(tables, "scaling").num_rows:
        return []
    decisions = decisions_by_round(tables)
    runs = runs_by_assignor(tables)
    histories = []
    for index, (key, of_assignor) in enumerate(runs.items()):
        seed = of_assignor[0]["seed"]
        steps: dict[str, list[Row]] = {}
        for step in rows_of_run(tables, "scaling", key, seed).to_pylist():
            steps.setdefault(step["workload"], []).append(step)
        rounds = rows_of_run(tables, "rounds", key, seed).to_pylist()
        until_ms = max((row["until_ms"] for row in rounds), default=0)
        initial = rounds[0]["round"] if rounds else 0
        for workload, own in steps.items():
            caused = {
                row["round"]: tuple(
                    decision
                    for decision in decisions.get((*key, seed, row["round"]), ())
                    if decision["workload"] == workload
                )
                for row in rounds
            }
            histories.append(
                ScalingHistory(
                    assignor_label(key, runs),
                    index,
                    workload,
                    tuple(own),
                    initial,
                    tuple((row["at_ms"], row["round"], caused[row["round"]]) for row in rounds if caused[row["round"]]),
                    tuple(row["at_ms"] for row in rounds[1:] if not caused[row["round"]]),
                    max(until_ms, own[-1]["at_ms"]),
                )
            )
    return histories


def history_sentence(history: ScalingHistory) -> str:
    """Return what an autoscaler did, and how many rebalances it caused."""
    ups = sum(change["replicas"] > change["replicas_before"] for change in history.changes)
    downs = len(history.changes) - ups
    if not history.changes:
        return f"It never changed the number of pods of {printable(history.workload)}."
    parts = [
        f"{_times(ups)} up and {_times(downs)} down, {_range(history)}",
        f"it caused {format_count(history.caused_later)} of {format_count(history.rebalances)} rebalances after the "
        "first",
    ]
    most = max(step["lag"] for step in history.steps)
    return f"Scales {'; '.join(parts)}. Largest lag that it saw: {format_count(most)} records."


def section_sentence(tables: Tables, histories: Sequence[ScalingHistory]) -> str:
    """Return which assignors thrash, over all runs; empty without autoscalers."""
    if not histories:
        return ""
    figures = scaling_figures(table_rows(tables, "scaling"))
    thrashing = [key for key, of_workloads in figures.items() if any(each.thrashes for each in of_workloads)]
    rule = f"more than {MAX_REVERSALS} changes of direction within an hour"
    if not thrashing:
        return f"No autoscaler thrashes ({rule})."
    if len(thrashing) == len(figures):
        return f"The autoscaler thrashes with {'every assignor' if len(figures) > 1 else thrashing[0][1]} ({rule})."
    return f"The autoscaler thrashes with {', '.join(printable(assignor) for _, assignor in thrashing)} ({rule})."


def reasons_grid(history: ScalingHistory) -> Grid:
    """Return how often an autoscaler scaled up and down, for each reason."""
    ups: Counter[str] = Counter()
    downs: Counter[str] = Counter()
    for change in history.changes:
        (ups if change["replicas"] > change["replicas_before"] else downs)[change["reason"]] += 1
    lines = [(_reason(reason), (_count(ups[reason]), _count(downs[reason]))) for reason in sorted({*ups, *downs})]
    return Grid(("Scale-ups", "Scale-downs"), tuple(lines))


def changes_grid(history: ScalingHistory) -> Grid:
    """Return the first `MAX_CHANGES` changes of the number of pods, with what the autoscaler saw."""
    columns = ("Pods", "Lag", "Target lag", "Pods that the lag asks for", "Ready pods", "Reason", "Rebalances")
    return Grid(columns, tuple(_line(history, change) for change in history.changes[:MAX_CHANGES]))


def steps_grid(history: ScalingHistory) -> Grid:
    """Return the first `MAX_CHANGES` decisions, with those that changed nothing."""
    columns = ("Pods", "Lag", "Target lag", "Pods that the lag asks for", "Ready pods", "Reason")
    return Grid(
        columns,
        tuple((title, cells[:-1]) for title, cells in (_line(history, step) for step in history.steps[:MAX_CHANGES])),
    )


def _line(history: ScalingHistory, step: Row) -> tuple[str, tuple[Cell, ...]]:
    is_change = step["replicas"] != step["replicas_before"]
    before, after = (format_count(step[name]) for name in ("replicas_before", "replicas"))
    rounds = history.rounds_of(step) if is_change else []
    cells = (
        Cell(f"{before} → {after}" if is_change else after, (), step["replicas"]),
        *(_count(step[name]) for name in ("lag", "target_lag", "recommended", "ready")),
        Cell(_reason(step["reason"])),
        Cell(", ".join(map(str, rounds)) or "–"),
    )
    return format_clock(step["at_ms"]), cells


def _reason(reason: str) -> str:
    return reason_text(reason) or reason


def _count(value: int) -> Cell:
    return Cell(format_count(value), (), value)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{format_count(number)} times"


def _range(history: ScalingHistory) -> str:
    pods = [pods for change in history.changes for pods in (change["replicas_before"], change["replicas"])]
    return f"between {min(pods)} and {max(pods)} pods"
